//! Code that returns for its caller: what a function calls takes the function's own return address from the stack, as the
//! routines of ARM's library for floating-point numbers do. Returns to elsewhere are refused.

use crate::compiled::{compile, errors, flow, function, graph, list, Target, TARGETS};
use wcet_flow::{EdgeKind, Options, Problem};

fn target(option: &str) -> Target {
    TARGETS.into_iter().find(|target| target.options.contains(&option)).unwrap()
}

/// Assembly for ARM, with a function `start`.
fn arm(text: &str) -> String {
    let text = text.replace('\n', "\\n");
    format!("__asm__(\".syntax unified\\n.globl start\\n.type start, %function\\n{text}\");")
}

/// A program for ARM in which something returns elsewhere than to its caller.
fn refused(text: &str) {
    let (_, errors) = errors(target("-march=armv6"), &arm(text));
    // A single `pop {pc}` is a load like any other, and not said to be a return.
    let strange =
        |problem: &Problem| matches!(problem, Problem::StrangeReturn { .. } | Problem::Unresolved { what: "jump", .. });
    assert!(errors.iter().any(|error| strange(&error.problem)), "{}", list(&errors));
}

/// `f` calls `1`, which goes back to it, or returns for it.
const SPECIAL: &str = ".type f, %function\nf: push {r4, r5, r6, lr}\nmovs r4, r0\nbleq 1f\nadd r0, r0, #1\n\
     pop {r4, r5, r6, pc}\n1: cmp r1, #0\nmovne r0, #7\nbxne lr\npop {r4, r5, r6, pc}\n";

#[test]
fn a_routine_that_returns_for_its_caller() {
    let calls = "start: push {r4, lr}\nbl f\nbl f\npop {r4, pc}\n";
    let (program, graph) = graph(target("-march=armv6"), &arm(&[calls, SPECIAL].concat()));
    assert_eq!(graph.functions.len(), 2, "the routine is a part of f");
    let f = function(&program, &graph, "f");
    assert!(f.returns && f.loops.is_empty());
    // Where a number is 0 it goes to the routine; that goes on behind the call, or returns.
    let address = f.blocks.iter().find(|block| block.last().mnemonic.to_lowercase().starts_with("bl")).expect("a call");
    assert!(address.calls.is_empty(), "{:?}", address.calls);
    let kinds: Vec<EdgeKind> = address.edges.iter().map(|edge| edge.kind).collect();
    assert_eq!(kinds, [EdgeKind::Next, EdgeKind::Taken]);
    assert_eq!(f.blocks.iter().filter(|block| block.returns).count(), 2);
    let behind = address.edges[0].to;
    let comes_back = |edge: &wcet_flow::Edge| edge.to == behind && edge.kind == EdgeKind::Case;
    assert!(f.blocks.iter().any(|block| block.edges.iter().any(comes_back)));
    let start = function(&program, &graph, "start");
    assert_eq!(start.blocks.iter().filter(|block| !block.calls.is_empty()).count(), 2);
}

/// Two functions share it, and each goes on behind its own call.
#[test]
fn a_routine_of_two_functions() {
    let calls = "start: push {r4, lr}\nbl f\nbl g\nbl f\npop {r4, pc}\n";
    let other = ".type g, %function\ng: push {r4, r5, r6, lr}\nmovs r4, r1\nbleq 1b\nsub r0, r0, #1\n\
         pop {r4, r5, r6, pc}\n";
    let (program, graph) = graph(target("-march=armv6"), &arm(&[calls, SPECIAL, other].concat()));
    assert_eq!(graph.functions.len(), 3);
    for (name, ends) in [("f", 2), ("g", 2)] {
        let one = function(&program, &graph, name);
        assert!(one.returns && one.loops.is_empty(), "{name}");
        assert_eq!(one.blocks.iter().filter(|block| block.returns).count(), ends, "{name}");
        let targets = one.blocks.iter().flat_map(|block| &block.edges).filter(|edge| edge.kind == EdgeKind::Case);
        assert_eq!(targets.count(), 1, "{name}: back behind its own call only");
    }
}

/// The routine's routine returns for the function.
#[test]
fn a_routine_of_a_routine() {
    let text = "start: push {r4, lr}\nbl f\nbl f\npop {r4, pc}\n.type f, %function\nf: push {r4, lr}\nmovs r4, r0\n\
         bleq 1f\npop {r4, pc}\n1: mov r5, lr\ncmp r1, #0\nbleq 2f\nbx r5\n2: cmp r2, #0\nbxeq lr\npop {r4, pc}\n";
    let (program, graph) = graph(target("-march=armv6"), &arm(text));
    assert_eq!(graph.functions.len(), 2);
    assert!(function(&program, &graph, "f").returns);
}

/// What it finds on the stack is an address that its caller has left there.
#[test]
fn a_callee_that_goes_where_its_caller_says() {
    let source = "__asm__(\".globl start\\n.type start, @function\\nstart: push $1f\\ncall f\\nud2\\n1: ret\\n\
        .type f, @function\\nf: add $8, %rsp\\nret\\n\");";
    let (program, graph) = graph(target("-no-pie"), source);
    let start = function(&program, &graph, "start");
    assert!(start.returns);
    assert!(!start.blocks.iter().any(|block| block.last().mnemonic.to_lowercase().starts_with("ud2")));
    assert!(start.blocks.iter().any(|block| block.edges.iter().any(|edge| edge.kind == EdgeKind::Case)));
}

#[test]
fn a_return_to_what_a_caller_left_is_refused() {
    refused("start: push {r4, lr}\nldr r0, [r1]\npush {r0}\nbl f\npop {r4, pc}\n.type f, %function\nf: pop {pc}\n");
}

#[test]
fn a_return_beyond_the_first_function_is_refused() {
    refused("start: bl f\n1: b 1b\n.type f, %function\nf: pop {pc}\n");
    refused("start: push {r4, lr}\nbl f\npop {r4, pc}\n.type f, %function\nf: add sp, sp, #8\npop {pc}\n");
}

#[test]
fn a_return_to_the_wrong_slot_is_refused() {
    refused(
        "start: push {r4, lr}\nldr r4, [r1]\nbl f\npop {r4, pc}\n.type f, %function\nf: push {r4, lr}\ncmp r0, #0\n\
         bleq 1f\npop {r4, pc}\n1: pop {pc}\n",
    );
}

#[test]
fn a_return_to_what_was_written_over_the_address_is_refused() {
    let overwritten = SPECIAL.replace("bxne lr\n", "bxne lr\nldr r0, [r1]\nstr r0, [sp, #12]\n");
    assert_ne!(overwritten, SPECIAL);
    refused(&["start: push {r4, lr}\nbl f\nbl f\npop {r4, pc}\n", &overwritten].concat());
}

/// One of its callers has the address elsewhere.
#[test]
fn a_routine_that_returns_for_one_of_its_callers_only_is_refused() {
    let other = ".type g, %function\ng: push {r4, r5, lr}\nldr r4, [r0]\npush {r4}\nmovs r4, r1\nbleq 1b\npop {r4}\n\
         pop {r4, r5, pc}\n";
    let other = other.replace("push {r4}\n", "str r4, [sp, #-4]!\nstr r4, [sp, #12]\n");
    refused(&["start: push {r4, lr}\nbl f\nbl g\npop {r4, pc}\n", SPECIAL, &other].concat());
}

/// A function that calls itself by such a routine, with its frame on top of the last one's.
#[test]
fn a_routine_that_calls_its_function_is_refused() {
    let again = SPECIAL.replace("bxne lr\n", "bxne lr\nbl f\n");
    let source = arm(&["start: push {r4, lr}\nbl f\npop {r4, pc}\n", &again].concat());
    let program = compile(target("-march=armv6"), &source);
    assert!(flow(&program, &Options::default()).is_err(), "no depth is stated");
}

/// A function that is passed on the stack is called by who it is passed to, and is no part of that one's callers.
#[test]
fn an_argument_on_the_stack_is_called() {
    let text = "start: push {r4, lr}\nldr r4, =g\nstr r4, [sp, #-8]!\nbl f\nstr r4, [sp]\nbl f\nadd sp, sp, #8\npop {r4, pc}\n\
         .type f, %function\nf: ldr r3, [sp]\nbx r3\n.type g, %function\ng: add r0, r0, #1\nbx lr\n";
    let (program, graph) = graph(target("-march=armv6"), &arm(text));
    assert_eq!(graph.functions.len(), 3);
    assert_eq!(crate::compiled::callees(&program, &graph, "f"), ["g"]);
}
