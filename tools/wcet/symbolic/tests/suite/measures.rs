//! Bounds by measures, on compiled programs: each beside one that looks alike and has no such bound.

use crate::compiled::run::begin;
use crate::compiled::{inputs, loops_of, most, with_setting, Target, TARGETS};
use testing::Random;
use wcet_symbolic::{bound_by_measure, least_bound, Effort, Setting, Sharing};

/// Of each loop of `work`, inner ones first: its bound by a measure. Inner loops have those that unrolling finds.
fn found(setting: &Setting<'_, '_>) -> Vec<Option<u64>> {
    let mut bounds = std::collections::BTreeMap::new();
    let mut measured = Vec::new();
    for one in loops_of(setting, "work").into_iter().rev() {
        let known = |other: usize| bounds.get(&other).copied();
        let found = bound_by_measure(setting, one, &known, &Effort::little()).unwrap();
        let bound = found.as_ref().map(|found| found.bound);
        let inner = least_bound(setting, one, &known, &Effort::little()).unwrap().ok().map(|found| found.bound);
        if let Some(bound) = inner.or(bound) {
            bounds.insert(one, bound);
        }
        measured.push(bound);
    }
    measured
}

fn each(body: &str, check: &dyn Fn(Target, Vec<Option<u64>>)) {
    let source = format!(
        "volatile unsigned a; __attribute__((noinline)) unsigned work(unsigned x, unsigned y) {{ {body} }}
        void start(void) {{ work(a, a); }}"
    );
    with_setting(&source, Sharing::StackIsPrivate, &|target, setting| check(target, found(setting)));
}

fn none(body: &str) {
    each(body, &|target, found| assert_eq!(found.last(), Some(&None), "{target:?}: {found:?}"));
}

fn about(body: &str, least: u64, most: u64) {
    each(body, &|target, found| {
        let bound =
            found.last().copied().flatten().unwrap_or_else(|| panic!("{target:?}: no bound of {body}: {found:?}"));
        assert!((least..=most).contains(&bound), "{target:?}: {bound} of {body}");
    });
}

#[test]
fn bits_that_are_cleared_one_by_one() {
    // The lowest bit, by its place; the one above it is set where it was not.
    let lowest = |shifted: &str| {
        format!(
            "unsigned s = 0; while (x) {{ unsigned low = x & -x, bit = 0; while (low >>= 1) bit++;
            s ^= a + bit; x ^= {shifted} << bit; }} return s;"
        )
    };
    each(&lowest("1u"), &|target, found| {
        // There gcc makes one loop of both, with two ways back.
        let bound = found.last().copied().flatten().filter(|bound| (32..=65).contains(bound));
        assert!(bound.is_some() || target == TARGETS[0], "{target:?}: {found:?}");
    });
    none(&lowest("2u"));
    // Some bit, whichever others say; but one that is not set may be set by that.
    about("unsigned s = 0; while (x) { unsigned bit = x & a; if (!bit) break; x ^= bit; s++; } return s;", 32, 34);
    none("unsigned s = 0; while (x) { unsigned bit = a; if (!bit) break; x ^= bit; s++; } return s;");
}

#[test]
fn numbers_that_fall_irregularly() {
    about("unsigned s = 0; x &= 63; y = x; while (y) { unsigned less = a & 63; if (less >= y) break; y = less; s++; } return s;", 63, 65);
    // It may stay as it is.
    none("unsigned s = 0; x &= 63; y = x; while (y) { unsigned less = a & 63; if (less > y) break; y = less; s++; } return s;");
}

#[test]
fn numbers_that_rise_irregularly() {
    about(
        "unsigned s = 0; y = 0; while (y < 40) { unsigned more = a; if (more <= y) break; y = more; s++; } return s;",
        40,
        42,
    );
    // It may be the same again, or there is no limit.
    none("unsigned s = 0; y = 0; while (y < 40) { unsigned more = a; if (more < y) break; y = more; s++; } return s;");
    none("unsigned s = 0; y = 0; for (;;) { unsigned more = a; if (more <= y) break; y = more; s++; } return s;");
}

/// A loop whose variables change in ways some of which have a measure.
fn program(seed: u64) -> String {
    const CHANGES: [&str; 14] = [
        "x &= x - 1;",
        "x ^= x & -x;",
        "x >>= 1;",
        "x -= y & 3;",
        "x &= y;",
        "x ^= 1u << (y & 31);",
        "x |= y & 4;",
        "y += 1;",
        "y += x & 1;",
        "y ^= x;",
        "y = y * 5 + 1;",
        "if (x > y) x = y & 63; else break;",
        "if (y < 50) y += (x & 3) + 1; else break;",
        "x = (unsigned char)x - 1;",
    ];
    let mut random = Random(seed);
    let when = random.pick(&["x", "x != y", "x > 3", "(x & y) != 0", "y < 90", "(int)x > 0"]);
    let body: String = (0..1 + random.below_u64(3)).map(|_| random.pick(&CHANGES)).collect();
    format!(
        "volatile unsigned sink; __attribute__((noinline)) unsigned work(unsigned x, unsigned y) {{
            while ({when}) {{ sink = x; {body} }} return x; }}
        void start(unsigned x, unsigned y) {{ work(x, y); }}"
    )
}

/// Most of these loops have no end for some argument.
#[test]
fn no_run_goes_beyond_a_measure() {
    let all = inputs(&[0, 1, 2, 3, 40, 255, 0x8000_0000, 0x7fff_fffe, 0xffff_ffff, 0x5555_5555], 2);
    let counted = std::cell::Cell::new((0, 0));
    for seed in 1..=40 {
        let source = program(seed);
        with_setting(&source, Sharing::StackIsPrivate, &|target, setting| {
            let bounds: Vec<Option<u64>> = (0..setting.graph.loops.len())
                .map(|one| {
                    bound_by_measure(setting, one, &|_| None, &Effort::little()).unwrap().map(|found| found.bound)
                })
                .collect();
            let (loops, bounded) = counted.get();
            counted.set((loops + bounds.len(), bounded + bounds.iter().flatten().count()));
            if bounds.iter().all(Option::is_none) {
                return;
            }
            for input in &all {
                let real = most(setting.graph, &begin(setting.program, setting.graph, input, &[], 20_000));
                for (bound, real) in bounds.iter().zip(real) {
                    assert!(
                        bound.is_none_or(|bound| bound >= real),
                        "{target:?}, {input:?}: {real}, {bound:?}\n{source}"
                    );
                }
            }
        });
    }
    let (loops, bounded) = counted.get();
    println!("{loops} loops, {bounded} bounded");
    assert!(10 * bounded > loops && 10 * bounded < 9 * loops, "{loops} loops, {bounded} bounded");
}
