//! Jump tables: every case of a switch is found, whatever its form.

use crate::compiled::{callees, compile, flow, function, graph, list, tables, TARGETS};
use wcet_flow::Options;

/// A switch over `cases`, each calling a function of its own.
fn source(expression: &str, cases: &[u32]) -> String {
    let mut text = String::from("volatile int sink, input; unsigned char bytes[64]; volatile unsigned offset;\n");
    for case in cases {
        text += &format!("__attribute__((noinline)) void case_{case}(void) {{ sink = {case} * 7 + 3; sink++; }}\n");
    }
    text += "__attribute__((noinline)) void other(void) { sink = 1; sink++; }\n";
    text += &format!("__attribute__((noinline)) void choose(unsigned x) {{ switch ({expression}) {{\n");
    for case in cases {
        text += &format!("case {case}: case_{case}(); sink += {case}; break;\n");
    }
    text + "default: other(); sink--; } sink = 0; }\nvoid start(void) { choose(input); for (;;); }\n"
}

fn check(expression: &str, cases: &[u32]) -> usize {
    let mut found = 0;
    for target in TARGETS {
        let program = compile(target, &source(expression, cases));
        let graph = flow(&program, &Options::default());
        let graph = graph.unwrap_or_else(|errors| panic!("{target:?} {expression} {cases:?}: {}", list(&errors)));
        let called = callees(&program, &graph, "choose");
        for case in cases {
            assert!(called.contains(&format!("case_{case}")), "{target:?} {expression} {cases:?}: case {case}");
        }
        found += tables(function(&program, &graph, "choose")).len();
    }
    found
}

#[test]
fn dense_cases() {
    assert!(check("x", &(0..12).collect::<Vec<_>>()) >= 5);
}

#[test]
fn cases_that_do_not_start_at_zero() {
    assert!(check("x", &(100..115).collect::<Vec<_>>()) >= 5);
}

#[test]
fn narrow_index() {
    assert!(check("(unsigned char)x", &(3..20).collect::<Vec<_>>()) >= 5);
}

#[test]
fn index_bounded_by_a_mask() {
    check("x & 7", &(0..8).collect::<Vec<_>>());
}

#[test]
fn index_in_memory() {
    check("bytes[offset]", &(0..9).collect::<Vec<_>>());
}

#[test]
fn index_that_lives_through_a_call() {
    check("(other(), x)", &(0..9).collect::<Vec<_>>());
}

#[test]
fn signed_index() {
    check("(int)x - 5", &(1..14).collect::<Vec<_>>());
}

#[test]
fn random_cases() {
    let mut seed = 12345_u32;
    let mut random = |limit: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % limit
    };
    for _ in 0..6 {
        let first = random(300);
        let cases: Vec<u32> = (first..first + 6 + random(40)).filter(|_| random(4) != 0).collect();
        check("x", &cases);
    }
}

#[test]
fn a_switch_in_a_loop() {
    for target in TARGETS {
        let text = source("x", &(0..10).collect::<Vec<_>>())
            .replace("{ switch", "{ for (unsigned i = 0; i < 20; i++, x = input) switch");
        let (program, graph) = graph(target, &text);
        let choose = function(&program, &graph, "choose");
        assert_eq!(choose.loops.len(), 1, "{target:?}");
        assert!(choose.loops[0].blocks.len() > 10, "{target:?}");
    }
}
