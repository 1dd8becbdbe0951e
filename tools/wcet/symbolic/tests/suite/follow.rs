//! Loop bounds by following the whole region: held against executions on all inputs, and equal to the most that happens.

use crate::compiled::{inputs, most, run::run, with_setting};
use wcet_symbolic::{follow, Checked, Following, Setting, Sharing};

fn bounds(setting: &Setting<'_, '_>) -> Vec<Result<Checked, String>> {
    // Enough for these programs; where there is no bound it is not worth while to search on.
    let effort = Following { iterations: 250, ..Following::default() };
    follow(setting, &|_| None, &effort).unwrap()
}

/// The bounds of all loops are what some input reaches, and no input more.
fn exact(source: &str, inputs: &[Vec<u64>]) {
    exact_by(&bounds, source, inputs);
}

/// The same of bounds that are found in some way.
fn exact_by(bounds: &dyn Fn(&Setting<'_, '_>) -> Vec<Result<Checked, String>>, source: &str, inputs: &[Vec<u64>]) {
    with_setting(source, Sharing::Exclusive, &|target, setting| {
        let mut real = vec![0; setting.graph.loops.len()];
        for input in inputs {
            let run = run(setting.program, setting.graph, input, &[]);
            for (real, most) in real.iter_mut().zip(most(setting.graph, &run)) {
                *real = most.max(*real);
            }
        }
        let found = bounds(setting);
        let numbers: Vec<Option<u64>> =
            found.iter().map(|found| found.as_ref().ok().map(|found| found.bound)).collect();
        let real: Vec<Option<u64>> = real.into_iter().map(Some).collect();
        assert_eq!(numbers, real, "{target:?}: {found:?}");
        assert!(!real.is_empty(), "{target:?}");
    });
}

/// The bounds of the loops, those that have one, in ascending order.
fn found(source: &str, sharing: Sharing) -> Vec<Vec<Option<u64>>> {
    let all = std::cell::RefCell::new(Vec::new());
    with_setting(source, sharing, &|_, setting| {
        let mut found: Vec<Option<u64>> =
            bounds(setting).into_iter().map(|found| found.ok().map(|found| found.bound)).collect();
        found.sort_unstable();
        all.borrow_mut().push(found);
    });
    all.into_inner()
}

/// A sorted list in arrays, made from keys and then walked: that it ends is known only from how it was made.
const LIST: &str = "
    unsigned char keys[4], next[4]; volatile unsigned sink;
    void start(unsigned a, unsigned b) {
        keys[0] = a; keys[1] = a >> 8; keys[2] = b; keys[3] = b >> 8;
        unsigned char head = 255;
        for (unsigned char node = 0; node < 4; node++) {
            unsigned char before = 255, at = head;
            while (at != 255 && keys[at] < keys[node]) { before = at; at = next[at]; }
            next[node] = at;
            if (before == 255) head = node; else next[before] = node;
        }
        for (unsigned char at = head; at != 255; at = next[at]) sink = at;
    }";

#[test]
fn a_list_that_the_region_made() {
    let orders = inputs(&[0x0102, 0x0201, 0x0304, 0x0403, 0x0104, 0x0401, 0x0303], 2);
    exact(LIST, &orders);
}

#[test]
fn a_list_that_was_there_may_go_round() {
    let source = "
        unsigned char next[4]; volatile unsigned sink;
        void start(unsigned a) { for (unsigned char at = a & 3; at != 255; at = next[at & 3]) sink = at; }";
    for bounds in found(source, Sharing::Exclusive) {
        assert_eq!(bounds, [None]);
    }
}

#[test]
fn ranges_on_a_stack_in_memory() {
    let source = "
        volatile unsigned sink;
        void start(unsigned a) {
            unsigned char low[4], high[4]; unsigned count = 1;
            low[0] = 0; high[0] = 3 + (a & 1);
            while (count > 0) {
                count--;
                unsigned l = low[count], h = high[count], m = l + ((a >> l) & 3);
                sink = m;
                if (m > h) m = h;
                for (unsigned i = l; i < h; i++) sink = i;
                if (m > l + 1) { low[count] = l; high[count] = m - 1; count++; }
                if (m + 1 < h) { low[count] = m + 1; high[count] = h; count++; }
            }
        }";
    exact(source, &inputs(&(0..128).collect::<Vec<u64>>(), 1));
}

#[test]
fn probes_of_a_table() {
    let source = "
        unsigned places[4]; volatile unsigned sink;
        void start(unsigned a, unsigned b) {
            unsigned keys[3]; keys[0] = 1 + (a & 7); keys[1] = 1 + (a >> 3 & 7); keys[2] = 1 + (b & 7);
            for (unsigned i = 0; i < 4; i++) *(volatile unsigned *)&places[i] = 0;
            for (unsigned i = 0; i < 3; i++) {
                unsigned at = keys[i] & 3;
                while (places[at] != 0 && places[at] != keys[i]) { at = (at + 1) & 3; sink = at; }
                places[at] = keys[i];
            }
        }";
    let all = (0..64).flat_map(|a| (0..8).map(move |b| vec![a, b])).collect::<Vec<_>>();
    exact(source, &all);
    // Without room for all keys it goes round and round.
    let full = source.replace("[4]", "[2]").replace("& 3", "& 1").replace("i < 4", "i < 2");
    for bounds in found(&full, Sharing::Exclusive) {
        assert!(bounds.contains(&None), "{bounds:?}");
    }
}

#[test]
fn arguments_of_few_bits_take_no_solver() {
    // Remainders by steps, as the routine of a processor that cannot divide takes them.
    let source = "
        volatile unsigned sink;
        void start(unsigned a, unsigned b) {
            a &= 31; b &= 31;
            while (b > 0) {
                unsigned rest = a;
                for (int bit = 4; bit >= 0; bit--) if (rest >= b << bit) rest -= b << bit;
                a = b; b = rest; sink = a;
            }
        }";
    // Every question to the solver is left undecided.
    let effort = Following { steps: 1, all_steps: 0, ..Following::default() };
    let tried = |setting: &Setting<'_, '_>| {
        let without = follow(setting, &|_| None, &Following { trials: 0, ..effort.clone() }).unwrap();
        assert!(without[0].is_err(), "{without:?}");
        follow(setting, &|_| None, &effort).unwrap()
    };
    exact_by(&tried, source, &few_bits());
}

/// All pairs of numbers of five bits.
fn few_bits() -> Vec<Vec<u64>> {
    (0..32).flat_map(|a| (0..32).map(move |b| vec![a, b])).collect()
}

#[test]
fn divisions_of_small_numbers() {
    let source = "
        volatile unsigned sink;
        void start(unsigned a, unsigned b) {
            a &= 31; b &= 31;
            while (b > 0) { unsigned rest = a % b; a = b; b = rest; sink = a; }
        }";
    let all = few_bits();
    // The other instruction set divides by a routine that is not here.
    let only_x86 = |source: &str| {
        let target = crate::compiled::TARGETS[0];
        let program = crate::compiled::compile(target, source);
        let graph = crate::compiled::flow(&program);
        let graph = crate::compiled::expanded(&program, &graph);
        let switches = Default::default();
        let frames = wcet_symbolic::Frames::of(&program, &graph, &switches);
        let setting = Setting {
            program: &program,
            graph: &graph,
            frames: &frames,
            values: None,
            sharing: Sharing::Exclusive,
            switches: &switches,
        };
        let runs = all.iter().map(|input| most(&graph, &run(&program, &graph, input, &[]))[0]);
        (bounds(&setting)[0].clone().map(|found| (found.bound, found.reached)), runs.max().unwrap())
    };
    let (found, real) = only_x86(source);
    assert_eq!(found, Ok((real, true)));
    assert!(real > 5);
}

#[test]
fn what_others_write_is_not_followed() {
    let source = "
        volatile unsigned char left; volatile unsigned sink;
        void start(unsigned a) { left = a & 7; while (left != 0) { left--; sink = a; } }";
    for bounds in found(source, Sharing::StackIsPrivate) {
        assert_eq!(bounds, [None]);
    }
    // Alone, it counts down.
    for bounds in found(source, Sharing::Exclusive) {
        assert!(matches!(bounds[..], [Some(7 | 8)]), "{bounds:?}");
    }
}

#[test]
fn a_loop_that_is_given_up_bounds_nothing_inside_it() {
    // Each entry of the inner loop runs longer than the one before, and the outer one has no end.
    let source = "
        volatile unsigned stop, sink;
        void start(void) {
            for (unsigned i = 0; !stop; i++) for (unsigned j = 0; j < i; j++) sink = j;
        }";
    for bounds in found(source, Sharing::StackIsPrivate) {
        assert!(bounds.iter().all(Option::is_none), "{bounds:?}");
    }
}

#[test]
fn a_bound_that_is_given_is_made_smaller_where_it_is_too_large() {
    let source = "
        volatile unsigned sink;
        void start(unsigned a) { unsigned n = a & 12; for (unsigned i = 0; i < n; i++) sink = i; }";
    with_setting(source, Sharing::Exclusive, &|target, setting| {
        let found = follow(setting, &|_| Some(15), &Following::default()).unwrap();
        let found = found[0].clone().unwrap();
        assert!((12..=13).contains(&found.bound) && found.reached, "{target:?}: {found:?}");
    });
}
