//! Loops that end, and loops that do not: only the former may be claimed to end.

use super::ranking::{analyse, ending, Known, Loop};
use crate::expr::{self, constant, not, truth, var, Expr};
use crate::program::{Op, Program};
use crate::solver::Solver;
use crate::testing::{after, is, less, minus, plus, program, valuations};
use std::collections::BTreeSet;

fn loops(program: &Program) -> Vec<Loop> {
    let mut solver = Solver::new().expect("z3 is installed");
    analyse(program, &mut solver, &mut Known::default()).expect("z3 answers")
}

/// Whether the loop `while (condition) body` is claimed to end.
fn ends(widths: &[u32], condition: Expr, body: &[Op]) -> bool {
    let inside = [&[Op::Assume(condition)], body].concat();
    let program = program(widths, &[(0, 1, &[]), (1, 1, &inside), (1, 2, &[Op::Assume(not(condition))])]);
    let all = loops(&program);
    assert_eq!(all.iter().map(|one| one.head).collect::<Vec<_>>(), [1]);
    all[0].ends
}

#[test]
fn loops_that_count_end() {
    let (x, y) = (var(0, 8), var(1, 8));
    let down = Op::Assign(0, minus(x, 1));
    let up = Op::Assign(0, plus(x, 1));
    assert!(ends(&[8], not(is(x, 0)), &[down]));
    assert!(ends(&[8, 8], less(x, y), std::slice::from_ref(&up)));
    // Whatever the register says, the polls are counted.
    assert!(ends(&[8, 8], expr::and(less(x, constant(100, 8)), is(y, 1)), &[up, Op::Havoc(1)]));
    // Halving.
    assert!(ends(&[8], less(constant(0, 8), x), &[Op::Assign(0, expr::binary(expr::Op::LShr, x, constant(1, 8)))]));
}

#[test]
fn loops_that_may_go_on_are_not_claimed_to_end() {
    let (x, y) = (var(0, 8), var(1, 8));
    let up = Op::Assign(0, plus(x, 1));
    assert!(!ends(&[8], truth(true), &[]));
    assert!(!ends(&[8], not(is(x, 0)), &[Op::Havoc(0)]));
    // The bound moves along.
    assert!(!ends(&[8, 8], less(x, y), &[up.clone(), Op::Assign(1, plus(y, 1))]));
    // By steps of two past the end of an odd number; the counter of 8 bits never comes to 256.
    assert!(!ends(&[8], not(is(x, 0)), &[Op::Assign(0, minus(x, 2))]));
    assert!(!ends(&[8], less(expr::zero_extend(x, 16), constant(256, 16)), &[up]));
}

/// Two counters: the outer goes down where the inner starts again.
#[test]
fn branches_may_rank_lexicographically() {
    let (x, y) = (var(0, 4), var(1, 4));
    let both = |again: &[Op]| {
        let carry = [&[Op::Assume(expr::and(is(y, 0), not(is(x, 0))))], again].concat();
        program(
            &[4, 4],
            &[
                (0, 1, &[]),
                (1, 2, &[]),
                (2, 1, &[Op::Assume(not(is(y, 0))), Op::Assign(1, minus(y, 1))]),
                (2, 1, &carry),
                (2, 3, &[Op::Assume(expr::and(is(x, 0), is(y, 0)))]),
            ],
        )
    };
    let falls = [Op::Assign(0, minus(x, 1)), Op::Assign(1, constant(15, 4))];
    assert!(loops(&both(&falls))[0].ends);
    assert!(!loops(&both(&falls[1..]))[0].ends);
}

/// An inner loop that may run for ever keeps its own answer, and its variables are arbitrary behind it.
#[test]
fn nested_loops_have_answers_of_their_own() {
    let (x, y) = (var(0, 4), var(1, 4));
    let nested = |inner: &[Op]| {
        program(
            &[4, 4],
            &[
                (0, 1, &[]),
                (1, 2, &[Op::Assume(not(is(x, 0))), Op::Assign(0, minus(x, 1))]),
                (2, 2, inner),
                (2, 1, &[]),
                (1, 3, &[Op::Assume(is(x, 0))]),
            ],
        )
    };
    let answers = |program: &Program| {
        let all = loops(program);
        let heads: BTreeSet<usize> = ending(&all).iter().map(|one| one.head).collect();
        assert_eq!((all.len(), all[0].head, all[0].inner[0].head), (1, 1, 2));
        heads
    };
    let counts = [Op::Assume(not(is(y, 0))), Op::Assign(1, minus(y, 1))];
    assert_eq!(answers(&nested(&counts)), BTreeSet::from([1, 2]));
    assert_eq!(answers(&nested(&[Op::Havoc(1)])), BTreeSet::from([1]));
    // The inner loop undoes what the outer one counts.
    assert_eq!(answers(&nested(&[counts[0].clone(), counts[1].clone(), Op::Havoc(0)])), BTreeSet::from([2]));
}

/// Loops over two small counters, with every mixture of conditions and updates: what is claimed to end ends for all values.
#[test]
fn whatever_is_claimed_to_end_ends() {
    const WIDTHS: [u32; 2] = [2, 2];
    let (x, y) = (var(0, 2), var(1, 2));
    let conditions = [truth(true), not(is(x, 0)), less(x, y), not(is(x, 3)), expr::or(less(x, y), is(y, 2))];
    let updates = |var: u32, own: Expr, other: Expr| {
        let values = [own, plus(own, 1), minus(own, 1), other, expr::binary(expr::Op::Add, own, other), constant(0, 2)];
        values.map(|value| Op::Assign(var, value)).into_iter().chain([Op::Havoc(var)]).collect::<Vec<_>>()
    };
    let (mut claimed, mut missed) = (0, 0);
    for condition in conditions {
        for (first, second) in
            updates(0, x, y).iter().flat_map(|one| updates(1, y, x).into_iter().map(move |two| (one.clone(), two)))
        {
            let body = [first, second];
            let really = terminates(&WIDTHS, condition, &body);
            let is_claimed = ends(&WIDTHS, condition, &body);
            assert!(really || !is_claimed, "{condition:?} {body:?} goes on for ever");
            claimed += usize::from(is_claimed);
            missed += usize::from(really && !is_claimed);
        }
    }
    assert!(claimed > 2 * missed, "{claimed} loops are claimed to end, {missed} others end as well");
}

/// Whether no run of the loop goes on for ever: the values from which it must end, as long as there are more.
fn terminates(widths: &[u32], condition: Expr, body: &[Op]) -> bool {
    let all = valuations(widths);
    let mut ended: BTreeSet<Vec<u64>> = BTreeSet::new();
    loop {
        let before = ended.len();
        for values in &all {
            let begin = after(widths, values, &Op::Assume(condition));
            let step = |all: Vec<Vec<u64>>, op: &Op| all.iter().flat_map(|one| after(widths, one, op)).collect();
            if body.iter().fold(begin, step).iter().all(|next| ended.contains(next)) {
                ended.insert(values.clone());
            }
        }
        if ended.len() == before {
            return ended.len() == all.len();
        }
    }
}

/// `while (x != 0)` around ten choices, each of which does `either` or nothing in its first and only the counter's step at the end:
/// more paths than are looked at one by one.
fn ends_with_many_paths(condition: Expr, either: &[Op], last: &[Op]) -> bool {
    const CHOICES: usize = 10;
    let y = var(1, 8);
    let mut edges: Vec<(usize, usize, Vec<Op>)> =
        vec![(0, 1, vec![]), (1, 2, vec![Op::Assume(condition), Op::Havoc(1)])];
    for choice in 0..CHOICES {
        let more: &[Op] = if choice == 0 { either } else { &[] };
        let bit = is(y, choice as u64);
        edges.push((choice + 2, choice + 3, [&[Op::Assume(bit), Op::Havoc(1)], more].concat()));
        edges.push((choice + 2, choice + 3, vec![Op::Assume(not(bit))]));
    }
    edges.push((CHOICES + 2, 1, last.to_vec()));
    edges.push((1, CHOICES + 3, vec![Op::Assume(not(condition))]));
    let borrowed: Vec<(usize, usize, &[Op])> =
        edges.iter().map(|(from, to, ops)| (*from, *to, ops.as_slice())).collect();
    let all = loops(&program(&[8, 8], &borrowed));
    assert_eq!(all.len(), 1);
    all[0].ends
}

#[test]
fn loops_with_many_paths_end_by_their_counter() {
    let x = var(0, 8);
    let (up, down) = (Op::Assign(0, plus(x, 1)), Op::Assign(0, minus(x, 1)));
    assert!(ends_with_many_paths(not(is(x, 0)), &[], std::slice::from_ref(&down)));
    assert!(ends_with_many_paths(less(x, constant(9, 8)), &[], std::slice::from_ref(&up)));
    // One of the choices takes the step back, sets the counter anew, or is all that steps it.
    assert!(!ends_with_many_paths(not(is(x, 0)), std::slice::from_ref(&up), std::slice::from_ref(&down)));
    assert!(!ends_with_many_paths(not(is(x, 0)), &[Op::Havoc(0)], std::slice::from_ref(&down)));
    assert!(!ends_with_many_paths(not(is(x, 0)), std::slice::from_ref(&down), &[]));
}

#[test]
fn bounds_may_be_counted_too() {
    let x = var(0, 8);
    let up = Op::Assign(0, plus(x, 1));
    let at_most = |most: u64| not(less(constant(most, 8), x));
    assert!(ends(&[8], at_most(9), std::slice::from_ref(&up)));
    // Each number of 8 bits is at most 255.
    assert!(!ends(&[8], at_most(255), &[up]));
}
