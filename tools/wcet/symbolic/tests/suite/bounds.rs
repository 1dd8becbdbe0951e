//! Loop bounds by unrolling, on compiled programs: the exact numbers.

use crate::compiled::{loops_of, with_setting};
use wcet_symbolic::{least_bound, Effort, Sharing};

/// The bounds of the loops of `work`, in the order of their headers; panics with the reason where there is none.
fn bounds(source: &str, sharing: Sharing, expected: &[u64]) {
    with_setting(source, sharing, &|target, setting| {
        let mut found = Vec::new();
        for one in loops_of(setting, "work") {
            let known =
                |other: usize| setting.graph.inside(setting.graph.loops[other].header, one).then_some(0).and(None);
            let checked = least_bound(setting, one, &known, &Effort::default()).unwrap();
            found.push(checked.unwrap_or_else(|why| panic!("{target:?}: {why}")).bound);
        }
        assert_eq!(found, expected, "{target:?}");
    });
}

#[test]
fn a_counter_in_a_register() {
    bounds(
        "volatile unsigned a; __attribute__((noinline)) unsigned work(unsigned x) {
            unsigned s = 0; for (unsigned i = 3; i * i < 1000; i += 2) s += a ^ x; return s; }
        void start(void) { work(a); }",
        Sharing::Exclusive,
        &[15],
    );
}

#[test]
fn bits_of_an_argument() {
    // A loop that shifts an unknown number until it is 0: 32 times, or one header execution more if it tests first.
    with_setting(
        "volatile unsigned a; __attribute__((noinline)) unsigned work(unsigned x) {
            unsigned s = 0; while (x != 0) { s += a & x; x >>= 1; } return s; }
        void start(void) { work(a); }",
        Sharing::StackIsPrivate,
        &|target, setting| {
            let found = least_bound(setting, loops_of(setting, "work")[0], &|_| None, &Effort::default());
            let found = found.unwrap().unwrap_or_else(|why| panic!("{target:?}: {why}"));
            assert!((32..=33).contains(&found.bound), "{target:?}: {found:?}");
            assert!(found.reached, "{target:?}: {found:?}");
        },
    );
}

#[test]
fn a_bound_checked_before_the_loop() {
    bounds(
        "volatile unsigned a; __attribute__((noinline)) unsigned work(unsigned n) {
            unsigned s = 0; if (n > 17 || n == 0) return 0;
            unsigned i = 0; do { s += a; i++; } while (i != n); return s; }
        void start(void) { work(a); }",
        Sharing::Exclusive,
        &[17],
    );
}

#[test]
fn a_bound_that_only_the_caller_knows() {
    bounds(
        "volatile unsigned a; __attribute__((noinline, noclone)) unsigned work(unsigned n) {
            unsigned s = 0; unsigned i = 0; do { s += a; i++; } while (i < n); return s; }
        void start(void) { work(a & 7 | 1); }",
        Sharing::Exclusive,
        &[7],
    );
}

#[test]
fn a_counter_on_the_stack() {
    bounds(
        "volatile unsigned a; __attribute__((noinline)) void work(void) {
            volatile unsigned i = 0; do { a = 1; i++; } while (i < 12); }
        void start(void) { work(); }",
        Sharing::StackIsPrivate,
        &[12],
    );
}

#[test]
fn what_others_may_change_gives_no_bound() {
    with_setting(
        "unsigned n; __attribute__((noinline)) void work(void) { while (*(volatile unsigned *)&n < 5) n++; }
        void start(void) { work(); }",
        Sharing::StackIsPrivate,
        &|target, setting| {
            let effort = Effort { iterations: 40, ..Effort::default() };
            let found = least_bound(setting, loops_of(setting, "work")[0], &|_| None, &effort).unwrap();
            assert!(found.is_err(), "{target:?}: {found:?}");
        },
    );
    // Alone, it counts to five.
    with_setting(
        "unsigned n; __attribute__((noinline)) void work(void) { while (*(volatile unsigned *)&n < 5) n++; }
        void start(void) { work(); }",
        Sharing::Exclusive,
        &|target, setting| {
            let found = least_bound(setting, loops_of(setting, "work")[0], &|_| None, &Effort::default()).unwrap();
            assert!(matches!(found.as_ref().map(|found| found.bound), Ok(5 | 6)), "{target:?}: {found:?}");
        },
    );
}

#[test]
fn what_an_inner_loop_stores_last() {
    // Behind the inner loop its counter is 0, not what it was before the last iteration.
    with_setting(
        "unsigned n; volatile unsigned a; __attribute__((noinline)) void work(void) {
            volatile unsigned *p = &n; unsigned i = 0;
            do { a = i; do { *p = *p - 1; } while (*p != 0); i++; } while (*p == 0 && i < 9); }
        void start(void) { work(); }",
        Sharing::Exclusive,
        &|target, setting| {
            let found = least_bound(setting, loops_of(setting, "work")[0], &|_| None, &Effort::default()).unwrap();
            assert_eq!(found.map(|found| found.bound), Ok(9), "{target:?}");
        },
    );
}

#[test]
fn a_search_ends_when_its_questions_have_cost_enough() {
    // Whether squares come to a number is too hard a question; each costs what it may.
    let source = "volatile unsigned a; __attribute__((noinline)) unsigned work(unsigned y) {
            unsigned n = 0; do { y = y * y + 3; n++; } while (y != 12348); return n; }
        void start(void) { work(a); }";
    with_setting(source, Sharing::Exclusive, &|target, setting| {
        let effort = Effort { steps: 50_000, all_steps: 200_000, ..Effort::default() };
        for one in loops_of(setting, "work") {
            let found = least_bound(setting, one, &|_| None, &effort).unwrap();
            let why = found.expect_err("its end is not known");
            assert!(why.contains("no effort is left"), "{target:?}: {why}");
        }
    });
}

#[test]
fn a_bound_found_with_little_effort_is_no_lower() {
    let source = "volatile unsigned a; __attribute__((noinline)) unsigned work(unsigned x) {
            unsigned s = 0; x = x & 0xff; while (x > 100) { s += a; x -= 3; } return s; }
        void start(void) { work(a); }";
    with_setting(source, Sharing::Exclusive, &|target, setting| {
        let one = loops_of(setting, "work")[0];
        let all = least_bound(setting, one, &|_| None, &Effort::default()).unwrap().expect("a bound").bound;
        for all_steps in [0, 1_000, 20_000, 100_000, 1_000_000] {
            let effort = Effort { all_steps, ..Effort::default() };
            if let Ok(found) = least_bound(setting, one, &|_| None, &effort).unwrap() {
                assert!(found.bound >= all, "{target:?} with {all_steps} steps: {found:?}, least {all}");
            }
        }
    });
}
