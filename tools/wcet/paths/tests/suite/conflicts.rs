//! Conditions that exclude each other, two, three and four at a time, in programs for both instruction sets.

use crate::refined::{inputs, refined, with_cases, Case};
use wcet_paths::infeasible::{forms, Conflict, End};
use wcet_paths::ipet::{Constraints, Options};
use wcet_symbolic::Sharing;

/// What the compiler must not see through, and work that takes time.
const PRELUDE: &str = "
    volatile unsigned sink;
    #define HIDE(x) __asm__ volatile(\"\" : \"+r\"(x))
    #define WORK() do { sink = 1; sink = 2; sink = 3; sink = 4; sink = 5; sink = 6; sink = 7; sink = 8; } while (0)
";

fn bound(case: &Case<'_, '_>, conflicts: &[Conflict]) -> u64 {
    let mut constraints = Constraints::default();
    for form in forms(case.setting.graph, conflicts, case.bounds) {
        form.add_to(&mut constraints);
    }
    case.prepared.bound(&constraints, &Options::default()).unwrap().wcet_cycles
}

/// One conflict of so many edges is found, and without it the bound is larger.
fn one_conflict(body: &str, arguments: usize, numbers: &[u64], ways: usize) {
    let source = format!("{PRELUDE} void start(unsigned a, unsigned b, unsigned c, unsigned d) {{ {body} }}");
    with_cases(&source, 1, Sharing::StackIsPrivate, &|case| {
        let found = refined(case, &inputs(numbers, arguments));
        assert_eq!(found.end, End::Possible, "{:?}", case.target);
        let widest = found.conflicts.iter().map(|conflict| conflict.edges.len()).max();
        assert_eq!(widest, Some(ways), "{:?}: {:?}", case.target, found.conflicts);
        let with = bound(case, &found.conflicts);
        assert_eq!(with, found.bound.wcet_cycles);
        for left_out in 0..found.conflicts.len() {
            let mut others = found.conflicts.clone();
            let one = others.remove(left_out);
            if one.edges.len() == ways {
                assert!(bound(case, &others) > with, "{:?}: without {one:?}", case.target);
            }
        }
    });
}

#[test]
fn two_conditions() {
    one_conflict("if (a < 5) WORK(); HIDE(a); if (a > 10) WORK();", 1, &[0, 4, 5, 10, 11, 1 << 31], 2);
}

#[test]
fn three_conditions() {
    one_conflict(
        "if (a == b) WORK(); HIDE(a); HIDE(b); if (b == c) WORK(); HIDE(c); HIDE(a); if (a != c) WORK();",
        3,
        &[0, 1, 2],
        3,
    );
}

#[test]
fn four_conditions() {
    one_conflict(
        "if (a == b) WORK(); HIDE(a); HIDE(b); if (b == c) WORK(); HIDE(c); HIDE(b); if (c == d) WORK(); HIDE(a); HIDE(d);
         if (a != d) WORK();",
        4,
        &[0, 1, 2],
        4,
    );
}

#[test]
fn what_is_assigned_on_the_way_belongs_to_the_conflict() {
    // Only on one of two ways is c what a was: the edge by which that way arrives is part of the conflict.
    let source = format!(
        "{PRELUDE} void start(unsigned a, unsigned b, unsigned x) {{
            unsigned c;
            if (a == x) WORK();
            HIDE(a);
            if (a < b) {{ c = a; WORK(); WORK(); }} else {{ c = b; sink = 7; }}
            HIDE(c);
            if (c != x) WORK();
        }}"
    );
    with_cases(&source, 1, Sharing::StackIsPrivate, &|case| {
        let found = refined(case, &inputs(&[0, 1, 2, 3], 3));
        assert_eq!(found.end, End::Possible, "{:?}", case.target);
        assert!(found.history[0] > found.bound.wcet_cycles, "{:?}: {:?}", case.target, found.history);
        assert!(!found.conflicts.is_empty());
    });
}

#[test]
fn a_mode_that_is_fixed_outside_a_loop() {
    // The dear branch of the loop's body needs another mode than the dear work before the loop.
    let source = format!(
        "{PRELUDE} void start(unsigned mode, unsigned n) {{
            if (mode == 1) {{ WORK(); WORK(); WORK(); WORK(); }}
            HIDE(mode);
            for (unsigned i = 0; i < (n & 3); i++) {{
                if (mode == 2) WORK();
                sink = i;
                HIDE(mode);
            }}
        }}"
    );
    // HIDE says that the mode may change in the loop, so the compiler keeps the loop; no instruction changes it.
    with_cases(&source, 4, Sharing::StackIsPrivate, &|case| {
        let found = refined(case, &inputs(&[0, 1, 2, 3], 2));
        assert!(found.history[0] > found.bound.wcet_cycles, "{:?}: {:?}", case.target, found.history);
    });
}

#[test]
fn a_variable_that_changes_in_the_loop_is_no_conflict() {
    let source = format!(
        "{PRELUDE} void start(unsigned mode, unsigned n) {{
            if (mode == 1) {{ WORK(); WORK(); WORK(); WORK(); }}
            HIDE(mode);
            for (unsigned i = 0; i < (n & 3); i++) {{
                if (mode == 2) WORK();
                mode++;
                HIDE(mode);
            }}
        }}"
    );
    with_cases(&source, 4, Sharing::StackIsPrivate, &|case| {
        let found = refined(case, &inputs(&[0, 1, 2, 3], 2));
        assert_eq!(found.history.len(), 1, "{:?}: {:?}", case.target, found.conflicts);
    });
}

#[test]
fn conflicts_within_each_iteration() {
    let source = format!(
        "{PRELUDE} void start(unsigned a, unsigned n) {{
            for (unsigned i = 0; i < (n & 3); i++) {{
                unsigned x = a ^ i; HIDE(x);
                if (x < 2) WORK();
                HIDE(x);
                if (x > 2) {{ WORK(); WORK(); }}
            }}
        }}"
    );
    with_cases(&source, 4, Sharing::StackIsPrivate, &|case| {
        let found = refined(case, &inputs(&[0, 1, 2, 3], 2));
        assert!(found.history[0] > found.bound.wcet_cycles, "{:?}: {:?}", case.target, found.history);
        assert!(found.conflicts.iter().any(|conflict| conflict.scope.is_some()));
    });
}

#[test]
fn shared_memory_may_change_between_two_reads() {
    let source = format!(
        "{PRELUDE} unsigned mode; void start(void) {{
            if (*(volatile unsigned *)&mode == 1) WORK();
            if (*(volatile unsigned *)&mode == 2) WORK();
        }}"
    );
    with_cases(&source, 1, Sharing::StackIsPrivate, &|case| {
        assert_eq!(refined(case, &[]).history.len(), 1, "{:?}", case.target);
    });
    with_cases(&source, 1, Sharing::Exclusive, &|case| {
        let found = refined(case, &[]);
        assert!(found.history[0] > found.bound.wcet_cycles, "{:?}: {:?}", case.target, found.history);
    });
}

#[test]
fn values_saved_across_calls() {
    let source = format!(
        "{PRELUDE} __attribute__((noinline)) unsigned leaf(unsigned x) {{ if (x & 1) WORK(); return sink; }}
        __attribute__((noinline)) unsigned twice(unsigned x) {{ return leaf(x) + leaf(x + 1); }}
        void start(unsigned a, unsigned b) {{
            if (a < 5) WORK();
            sink = twice(b); sink = twice(b + a);
            HIDE(a);
            if (a > 10) {{ WORK(); WORK(); }}
        }}"
    );
    with_cases(&source, 1, Sharing::StackIsPrivate, &|case| {
        let found = refined(case, &inputs(&[0, 1, 4, 5, 10, 11], 2));
        // Of x and x + 1 only one is odd, twice; and a is not both small and large.
        assert!(found.conflicts.len() >= 3, "{:?}: {:?}", case.target, found.conflicts);
        assert!(found.history[0] > found.bound.wcet_cycles, "{:?}: {:?}", case.target, found.history);
    });
}
