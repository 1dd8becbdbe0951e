//! Loops: nesting as in the source, and what is refused.

use crate::compiled::{errors, function, graph, list, TARGETS};
use wcet_flow::{dominates, Problem};

#[test]
fn nested_loops() {
    for target in TARGETS {
        let (program, graph) = graph(
            target,
            "
            volatile int a[100];
            __attribute__((noinline)) void nest(int n) {
                for (int i = 0; i < n; i++) {
                    for (int j = 0; j < n; j++)
                        for (int k = 0; k < 10; k++) a[k] = i ^ j;
                    for (int j = 0; j < 7; j++) a[j]++;
                }
            }
            void start(void) { nest(a[0]); for (;;); }",
        );
        let nest = function(&program, &graph, "nest");
        let mut depths: Vec<usize> = nest.loops.iter().map(|found| found.depth).collect();
        depths.sort();
        assert_eq!(depths, [1, 2, 2, 3], "{target:?}");
        for found in &nest.loops {
            assert!(found.blocks.iter().all(|block| dominates(&nest.dominators, found.header, *block)));
            if let Some(parent) = found.parent {
                assert!(found.blocks.is_subset(&nest.loops[parent].blocks));
            }
        }
        assert_eq!(function(&program, &graph, "start").loops.len(), 1);
    }
}

#[test]
fn a_jump_into_a_loop_is_refused() {
    for target in TARGETS {
        let (_, errors) = errors(
            target,
            "
            volatile int a, b, c;
            __attribute__((noinline)) void tangle(void) {
                if (a) goto inside;
                while (b) { a = 1; a = 2; a = 3; a = 4; a = 5;
            inside: b = 1; b = 2; b = 3; b = 4; b = 5; if (c) return; }
            }
            void start(void) { tangle(); for (;;); }",
        );
        // The compiler may have copied a part of the loop, and made it reducible; it does not here.
        assert!(
            matches!(errors[..], [wcet_flow::Error { problem: Problem::Irreducible { .. }, .. }]),
            "{}",
            list(&errors)
        );
        assert!(errors[0].place.starts_with("tangle"));
    }
}

#[test]
fn conditional_returns_and_calls() {
    for target in TARGETS {
        let (program, graph) = graph(
            target,
            "
            volatile int a;
            __attribute__((noinline)) int leaf(int x) { if (x > 3) return a; a = x; return 5; }
            __attribute__((noinline)) int caller(int x) { if (x) leaf(x); a = 2; return leaf(x) + a; }
            void start(void) { caller(a); for (;;); }",
        );
        assert_eq!(crate::compiled::callees(&program, &graph, "caller"), ["leaf"]);
        assert!(function(&program, &graph, "caller").returns);
        assert!(!function(&program, &graph, "start").returns);
    }
}

#[test]
fn string_instructions_repeat() {
    let target = TARGETS[0];
    let (program, graph) = graph(
        target,
        "
        char a[100], b[100];
        void start(void) { char *d = a, *s = b; unsigned long n = 100;
            __asm__ volatile(\"rep movsb\" : \"+D\"(d), \"+S\"(s), \"+c\"(n) :: \"memory\"); for (;;); }",
    );
    let start = function(&program, &graph, "start");
    assert_eq!(start.loops.len(), 2);
    assert_eq!(start.loops[0].blocks.len(), 1);
}

/// The same with room for copies: there are two loops with headers, and some blocks twice.
#[test]
fn a_loop_with_several_entries_is_split() {
    for target in TARGETS {
        let source = "
            volatile int a, b, c;
            __attribute__((noinline)) void tangle(int n) {
                switch (n) { case 0: goto one; case 1: goto two; case 2: goto three; }
                do { a = 1; one: a = 2; if (c) for (int i = 0; i < 9; i++) a = 7; two: a = 3; three: a = 4; } while (b);
            }
            void start(void) { tangle(a); for (;;); }";
        let (program, found) = errors(target, source);
        assert!(list(&found).contains("--copies"), "{}", list(&found));
        let options = wcet_flow::Options { copies: 60, ..Default::default() };
        let graph =
            crate::compiled::flow(&program, &options).unwrap_or_else(|errors| panic!("{target:?} {}", list(&errors)));
        let tangle = function(&program, &graph, "tangle");
        let headers: std::collections::BTreeSet<u64> =
            tangle.loops.iter().map(|found| tangle.blocks[found.header].start()).collect();
        assert_eq!(headers.len(), 2, "{target:?} {:?}", tangle.loops);
        for found in &tangle.loops {
            assert!(found.blocks.iter().all(|block| dominates(&tangle.dominators, found.header, *block)));
        }
        let copies = tangle.blocks.len();
        let distinct: std::collections::BTreeSet<u64> = tangle.blocks.iter().map(|block| block.start()).collect();
        assert!(copies > distinct.len() && copies <= distinct.len() + 60, "{target:?}");
        let too_few = wcet_flow::Options { copies: 1, ..Default::default() };
        assert!(crate::compiled::flow(&program, &too_few).is_err(), "{target:?}");
    }
}
