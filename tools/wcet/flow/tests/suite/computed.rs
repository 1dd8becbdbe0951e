//! Jumps whose targets are computed, as the routines of compilers have them.

use crate::compiled::{flow, function, list, tables, TARGETS};
use wcet_flow::Options;

/// A function in ARM assembly.
fn assembled(text: &str) -> wcet_binary::load::Program {
    let source = format!("__asm__(\".globl start\\n.type start, %function\\n{}\");", text.replace('\n', "\\n"));
    let target = TARGETS.into_iter().find(|target| target.options.contains(&"-march=armv6")).unwrap();
    crate::compiled::compile(target, &source)
}

fn arm(text: &str) -> (wcet_binary::load::Program, wcet_flow::Graph) {
    let program = assembled(text);
    let graph = flow(&program, &Options::default()).unwrap_or_else(|errors| panic!("{}", list(&errors)));
    (program, graph)
}

/// A division that jumps past as many steps as the divisor's highest bit is away from the dividend's. `check` keeps
/// divisors of 0 out; `steps` are as many as there are distances of 0 or more.
fn division(check: &str, steps: usize) -> String {
    let step = |shift: usize| format!("cmp r0, r1, lsl #{shift}\nadc r2, r2, r2\nsubcs r0, r0, r1, lsl #{shift}\n");
    let steps: String = (0..steps).rev().map(step).collect();
    format!(
        "start:\n{check}cmp r0, r1\nbxls lr\nclz r3, r0\nclz r2, r1\nsub r3, r2, r3\nrsbs r3, r3, #31\n\
         addne r3, r3, r3, lsl #1\nmov r2, #0\naddne pc, pc, r3, lsl #2\nnop\n{steps}mov r0, r2\nbx lr\n"
    )
}

#[test]
fn a_division_that_jumps_by_leading_zeros() {
    // The compare with 1, or a bit in common with the number before.
    for check in ["subs r2, r1, #1\nbxcc lr\n", "sub r2, r1, #1\ntst r1, r2\nbxeq lr\n"] {
        let (program, graph) = arm(&division(check, 32));
        let start = function(&program, &graph, "start");
        let jumps = tables(start);
        assert_eq!(jumps.len(), 1);
        // A distance of 31 does not jump.
        assert_eq!(jumps[0].edges.iter().filter(|edge| edge.kind == wcet_flow::EdgeKind::Case).count(), 31);
        assert!(start.loops.is_empty());
    }
}

/// A divisor of 0 may be 32 away, which leads before the steps, back to the jump, for ever: with the same index, as nothing
/// changes it on the way.
#[test]
fn without_the_check_it_goes_back_to_itself() {
    let (program, graph) = arm(&division("", 32));
    let start = function(&program, &graph, "start");
    let [jump] = tables(start)[..] else { panic!("one jump") };
    let cases: Vec<usize> =
        jump.edges.iter().filter(|edge| edge.kind == wcet_flow::EdgeKind::Case).map(|edge| edge.to).collect();
    assert_eq!(cases.len(), 32);
    assert!(cases.iter().any(|to| start.blocks[*to].start() == jump.last().address - 4));
    assert_eq!(start.loops.len(), 1);
}

/// It comes back with another index, which is bounded by nothing.
#[test]
fn without_the_check_another_index_is_refused() {
    let changing = division("", 32).replace("mov r2, #0\n", "add r3, r3, r3\n");
    let program = assembled(&changing);
    let errors = flow(&program, &Options::default()).map(|_| ()).expect_err("errors");
    assert!(list(&errors).contains("this jump may go anywhere"), "{}", list(&errors));
}

/// The first round's index is -1, which the check keeps from the table: what stands before it is code.
#[test]
fn an_index_that_is_no_case_at_first() {
    let (program, graph) = arm("start:\nmov r0, #0\nmov r2, #9\n1: sub r0, r0, #1\ncmp r0, #2\n\
         ldrls pc, [pc, r0, lsl #2]\nb 3f\n.word 2f\n.word 3f\n.word 4f\n2: mov r0, #3\nb 1b\n\
         3: mov r0, #1\nsubs r2, r2, #1\nbne 1b\n4: bx lr\n");
    let start = function(&program, &graph, "start");
    let jumps = tables(start);
    assert_eq!(jumps.len(), 1);
    assert_eq!(jumps[0].edges.iter().filter(|edge| edge.kind == wcet_flow::EdgeKind::Case).count(), 3);
}

/// The same with a table of bytes: what stands before it leads to code as well, at 480 bytes behind it.
#[test]
fn an_index_that_is_no_case_at_first_of_a_table_of_bytes() {
    let text = "start:\nmovs r0, #0\nmovs r2, #9\n1: subs r0, r0, #1\ncmp r0, #2\nbhi 3f\ntbb [pc, r0]\n\
         9: .byte (2f - 9b) / 2, (3f - 9b) / 2, (4f - 9b) / 2\n.balign 2\n2: movs r0, #3\nb 1b\n\
         3: movs r0, #1\nsubs r2, r2, #1\nbne 1b\n4: bx lr\n.rept 300\nnop\n.endr\nbx lr\n";
    let source = format!("__asm__(\".globl start\\n.type start, %function\\n{}\");", text.replace('\n', "\\n"));
    let target = TARGETS.into_iter().find(|target| target.options.contains(&"-mthumb")).unwrap();
    let source = source.replace(".globl start", ".syntax unified\\n.thumb\\n.globl start");
    let program = crate::compiled::compile(target, &source);
    let graph = flow(&program, &Options::default()).unwrap_or_else(|errors| panic!("{}", list(&errors)));
    let start = function(&program, &graph, "start");
    let jumps = tables(start);
    assert_eq!(jumps.len(), 1);
    assert_eq!(jumps[0].edges.iter().filter(|edge| edge.kind == wcet_flow::EdgeKind::Case).count(), 3);
}

/// The same where a branch of its own makes the check, and what stands before the table is no address of code.
#[test]
fn an_index_that_is_no_case_at_first_and_a_word_that_is_no_code() {
    let text =
        "start:\nli a0, 0\nli a2, 9\nli a7, 2\nlla a6, 9f\n1: addi a0, a0, -1\nbltu a7, a0, 3f\nslli a1, a0, 3\n\
         add a1, a1, a6\nld a1, 0(a1)\njr a1\n2: li a0, 3\nj 1b\n3: li a0, 1\naddi a2, a2, -1\nbnez a2, 1b\n4: ret\n\
         .balign 8\n.dword 0x8082014180820141\n9: .dword 2b, 3b, 4b\n";
    let source = format!("__asm__(\".globl start\\n.type start, @function\\n{}\");", text.replace('\n', "\\n"));
    let target = TARGETS.into_iter().find(|target| target.options.contains(&"-mabi=lp64")).unwrap();
    let program = crate::compiled::compile(target, &source);
    let graph = flow(&program, &Options::default()).unwrap_or_else(|errors| panic!("{}", list(&errors)));
    let start = function(&program, &graph, "start");
    let jumps = tables(start);
    assert_eq!(jumps.len(), 1);
    assert_eq!(jumps[0].edges.iter().filter(|edge| edge.kind == wcet_flow::EdgeKind::Case).count(), 3);
}

/// A jump in a loop whose index is compared there, and scaled before it. `before` comes at first, `first` and `second` at the
/// beginning and the end of an iteration.
fn scaled_before_the_loop(before: &str, first: &str, second: &str) -> String {
    format!(
        "start:\npush {{r4, r5, r6, r7, r8, lr}}\nmov r5, #0\nldr r6, =9f\n{before}1: add r4, r6, r5, lsl #2\nldr r7, [r0]\n\
         2: {first}cmp r5, #2\nldrls pc, [r4]\n3: add r8, r8, #1\nb 5f\n4: add r8, r8, #2\n5: {second}subs r7, r7, #1\nbne 2b\n\
         add r5, r5, #1\ncmp r5, #4\nbne 1b\npop {{r4, r5, r6, r7, r8, pc}}\n9: .word 3b, 4b, 5b\n.word start\n\
         .type f, %function\nf: mov r4, r0\nbx lr\n.type g, %function\ng: add r0, r0, #1\nbx lr\n"
    )
}

#[test]
fn an_index_that_is_scaled_before_the_loop() {
    let inner = "mov r2, #3\n7: subs r2, r2, #1\nbne 7b\n";
    for (first, second) in [("", ""), ("bl g\n", ""), ("", "push {r4}\nbl g\npop {r2}\n"), (inner, inner)] {
        let (program, graph) = arm(&scaled_before_the_loop("", first, second));
        let start = function(&program, &graph, "start");
        let jumps = tables(start);
        assert_eq!(jumps.len(), 1, "{first}; {second}");
        let cases = jumps[0].edges.iter().filter(|edge| edge.kind == wcet_flow::EdgeKind::Case);
        assert_eq!(cases.count(), 3, "{first}; {second}");
    }
}

/// Where the loop changes one of them, or is entered with others, the comparison says nothing about the index.
#[test]
fn an_index_that_the_loop_changes_is_refused() {
    for (before, first, second) in [
        ("", "", "add r4, r4, #4\n"),
        ("", "", "sub r5, r5, #1\n"),
        ("", "add r4, r4, #4\n", ""),
        ("", "", "cmp r7, #3\naddeq r4, r4, #4\n"),
        ("", "", "bl f\n"),
        ("", "bl f\n", ""),
        ("cmp r1, #0\nmovne r4, r2\nldrne r7, [r0]\nbne 2f\n", "", ""),
        ("cmp r1, #0\nmovne r4, r2\nldrne r7, [r0]\nbne 5f\n", "", ""),
    ] {
        let program = assembled(&scaled_before_the_loop(before, first, second));
        let errors = flow(&program, &Options::default()).map(|_| ()).expect_err("errors");
        let said = list(&errors);
        assert!(said.contains("this jump may go anywhere"), "{before}; {first}; {second}: {said}");
    }
}
