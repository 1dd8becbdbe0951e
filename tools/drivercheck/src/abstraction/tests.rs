//! The abstraction against the program itself, for all values of small variables: no concrete step is lost.

use super::block::Block;
use super::explore::{Found, Space};
use super::parts::Parts;
use super::predicates::{Abstraction, Known};
use super::valuation::{Scope, Valuation};
use crate::expr::{self, constant, equal, not, truth, var, Expr};
use crate::program::Op;
use crate::solver::Solver;
use crate::testing::{after, is, less, minus, plus, program, valuations};
use std::collections::BTreeSet;

const WIDTHS: [u32; 3] = [2, 2, 1];

fn predicates() -> Vec<Expr> {
    let (x, y, flag) = (var(0, 2), var(1, 2), var(2, 1));
    vec![is(x, 0), less(x, y), equal(x, y), flag, expr::or(flag, is(y, 3))]
}

/// Every operation of a program, several of them impossible for some values.
fn operations() -> Vec<Op> {
    let (x, y, flag) = (var(0, 2), var(1, 2), var(2, 1));
    vec![
        Op::Havoc(0),
        Op::Havoc(2),
        Op::Assign(0, y),
        Op::Assign(0, plus(x, 1)),
        Op::Assign(1, expr::choose(flag, x, constant(3, 2))),
        Op::Assign(2, less(x, y)),
        Op::Assume(less(x, constant(2, 2))),
        Op::Assume(expr::and(flag, not(equal(x, y)))),
        Op::Assume(is(minus(y, 1), 0)),
        Op::Assume(truth(false)),
        Op::Return,
    ]
}

/// Whether a valuation of predicates admits these values.
fn admits(predicates: &[Expr], valuation: &[u8], values: &[u64]) -> bool {
    std::iter::zip(predicates, valuation).all(|(predicate, known)| {
        let value = predicate.evaluate(&|var| values[var as usize]) as u8;
        *known == 0 || *known == 1 + value
    })
}

fn all_valuations(count: usize) -> Vec<Valuation> {
    let digit = |number: usize, place: usize| (number / 3usize.pow(place as u32) % 3) as u8;
    (0..3usize.pow(count as u32)).map(|number| (0..count).map(|place| digit(number, place)).collect()).collect()
}

/// The same for a whole edge at once: each pair of operations, and some valuations before it.
#[test]
fn an_edge_loses_no_values() {
    let predicates = predicates();
    let mut solver = Solver::new().expect("z3 is installed");
    let all = operations();
    for (first, second) in all.iter().flat_map(|first| all.iter().map(move |second| (first, second))) {
        let program = program(&WIDTHS, &[(0, 1, &[first.clone(), second.clone()])]);
        let block = Block::new(&program.vars, &program.edges[0].steps, &mut solver).expect("z3 answers");
        for before in all_valuations(5).into_iter().step_by(11) {
            let known: Vec<(Expr, u8)> = std::iter::zip(predicates.iter().copied(), before.iter().copied()).collect();
            let passed = block.post(&mut solver, &known, &predicates).expect("z3 answers");
            for values in valuations(&WIDTHS).iter().filter(|values| admits(&predicates, &before, values)) {
                let between = after(&WIDTHS, values, first);
                for next in between.iter().flat_map(|one| after(&WIDTHS, one, second)) {
                    let is_kept = passed.after.iter().any(|result| admits(&predicates, result, &next));
                    assert!(is_kept, "{first:?}, {second:?} in {before:?}: {values:?} -> {next:?} is lost");
                    assert_eq!(passed.reached, 2, "{first:?}, {second:?} in {before:?}");
                }
                assert!(between.is_empty() || passed.reached >= 1, "{first:?} in {before:?}");
            }
        }
    }
}

/// What is computed part by part is what one operation after the other makes of the whole, whichever predicates there are.
#[test]
fn parts_make_of_a_valuation_what_the_edge_makes_of_it() {
    let x = var(0, 2);
    let more = [vec![is(x, 1), less(x, plus(x, 1)), var(2, 1), is(var(1, 2), 2)], predicates()].concat();
    let mut solver = Solver::new().expect("z3 is installed");
    let all = operations();
    let mut several = 0;
    for (number, first) in all.iter().enumerate() {
        for (second, third) in all.iter().flat_map(|second| all.iter().map(move |third| (second, third))) {
            let steps =
                program(&WIDTHS, &[(0, 1, &[first.clone(), second.clone(), third.clone()])]).edges.remove(0).steps;
            // Four of nine, other ones each time, the last of which is added late.
            let chosen: Vec<Expr> = (0..4).map(|index| more[(number + 2 * index) % more.len()]).collect();
            let mut parts = Parts::new(&steps);
            chosen.iter().enumerate().take(3).for_each(|(index, predicate)| parts.add(index, &predicate.vars()));
            let mut both = |parts: &mut Parts, count: usize, before: Valuation| {
                let predicates = &chosen[..count];
                let (mut now, mut reached) = (vec![before.clone()], 0);
                for step in &steps {
                    reached += usize::from(!now.is_empty());
                    let step = |one| Scope { predicates }.step(&mut solver, one, &step.op).expect("z3 answers");
                    now = now.into_iter().flat_map(step).collect::<BTreeSet<_>>().into_iter().collect();
                }
                let image =
                    parts.post(&mut solver, &steps, &|index| predicates[index], before.clone()).expect("z3 answers");
                let ops = (first, second, third);
                assert_eq!((image.reached, &image.after), (reached, &now), "{ops:?}, {predicates:?} in {before:?}");
                several += usize::from(now.len() > 1);
            };
            for before in all_valuations(3).into_iter().step_by(5) {
                both(&mut parts, 3, before);
            }
            parts.add(3, &chosen[3].vars());
            for before in all_valuations(4).into_iter().step_by(13) {
                both(&mut parts, 4, before);
            }
        }
    }
    assert!(several > 1000, "{several}");
}

#[test]
fn an_operation_loses_no_values() {
    let predicates = predicates();
    let scope = Scope { predicates: &predicates };
    let mut solver = Solver::new().expect("z3 is installed");
    for (op, before) in operations().iter().flat_map(|op| all_valuations(5).into_iter().map(move |one| (op, one))) {
        let results = scope.step(&mut solver, before.clone(), op).expect("z3 answers");
        for values in valuations(&WIDTHS).iter().filter(|values| admits(&predicates, &before, values)) {
            for next in after(&WIDTHS, values, op) {
                let is_kept = results.iter().any(|result| admits(&predicates, result, &next));
                assert!(is_kept, "{op:?} in {before:?}: {values:?} -> {next:?} is in none of {results:?}");
            }
        }
    }
}

/// What is known stays known where an operation does not touch it, and what an operation decides is known afterwards.
#[test]
fn an_operation_keeps_and_gains_knowledge() {
    let predicates = predicates();
    let scope = Scope { predicates: &predicates };
    let mut solver = Solver::new().expect("z3 is installed");
    let mut step = |before: [u8; 5], op: Op| scope.step(&mut solver, before.to_vec(), &op).expect("z3 answers");
    let (x, y) = (var(0, 2), var(1, 2));
    // x becomes y: equal, not less; of the flag as before.
    let assigned = step([0, 0, 0, 2, 0], Op::Assign(0, y));
    assert!(assigned.iter().all(|one| one[1..4] == [1, 2, 2]), "{assigned:?}");
    // x < y is false, x == y is false: y is not 3, so the last predicate says what the flag does not.
    assert_eq!(step([0, 1, 1, 1, 0], Op::Assume(is(x, 1))), [[1, 1, 1, 1, 1]]);
    // x == 0 and x < y: y is not 0.
    assert!(step([2, 2, 0, 0, 0], Op::Assume(is(y, 0))).is_empty());
    // A havocked variable takes its predicates along, no others.
    assert_eq!(step([2, 1, 2, 1, 2], Op::Havoc(0)), [[0, 0, 0, 1, 2]]);
    // What an assignment leaves open is split, with what follows for the rest: x + 1 == 0 only if x was 3, never below y.
    let split = step([0, 2, 1, 0, 0], Op::Assign(0, plus(x, 1)));
    assert!(!split.is_empty() && split.iter().all(|one| one[0] == 1 && one[1] != 0 && one[2] != 0), "{split:?}");
}

/// The reachable abstract states admit all reachable concrete ones: node by node, over a program with loop and branches.
#[test]
fn exploration_reaches_whatever_the_program_reaches() {
    let (x, y, flag) = (var(0, 2), var(1, 2), var(2, 1));
    let program = program(
        &WIDTHS,
        &[
            (0, 1, &[Op::Assign(0, constant(0, 2)), Op::Havoc(1), Op::Assume(not(is(y, 0)))]),
            (1, 1, &[Op::Assume(less(x, y)), Op::Assign(2, is(x, 0)), Op::Assign(0, plus(x, 1))]),
            (1, 2, &[Op::Assume(not(less(x, y))), Op::Assume(flag)]),
            (1, 3, &[Op::Assume(not(less(x, y))), Op::Assume(not(flag))]),
            // Impossible: the loop ends with x == y.
            (2, 4, &[Op::Assume(not(equal(x, y))), Op::Return]),
            (3, 5, &[Op::Assume(is(y, 3)), Op::Return]),
        ],
    );
    let mut concrete: BTreeSet<(usize, Vec<u64>)> = valuations(&WIDTHS).into_iter().map(|values| (0, values)).collect();
    let mut work: Vec<_> = concrete.iter().cloned().collect();
    while let Some((node, values)) = work.pop() {
        for edge in program.edges.iter().filter(|edge| edge.from == node) {
            let all = edge.steps.iter().fold(vec![values.clone()], |all, step| {
                all.iter().flat_map(|values| after(&WIDTHS, values, &step.op)).collect()
            });
            work.extend(all.into_iter().map(|values| (edge.to, values)).filter(|one| concrete.insert(one.clone())));
        }
    }
    let reached: BTreeSet<usize> = concrete.iter().map(|(node, _)| *node).collect();
    // With no predicate at all, every node is reached; with enough of them, only those that the program reaches.
    assert_eq!(explored(&program, &[]), BTreeSet::from([0, 1, 2, 3, 4, 5]));
    let all = predicates();
    for count in 0..=all.len() {
        let explored = explored(&program, &all[..count]);
        assert!(explored.is_superset(&reached), "{count} predicates: {explored:?} lacks some of {reached:?}");
    }
    assert_eq!(explored(&program, &[is(x, 0), less(x, y), less(y, x)]), reached);
    assert_eq!(reached, BTreeSet::from([0, 1, 2, 3, 5]));
}

/// Nodes of the program that the abstraction with some predicates reaches.
fn explored(program: &crate::program::Program, predicates: &[Expr]) -> BTreeSet<usize> {
    let mut space = Space::new(program, Vec::new(), true);
    predicates.iter().for_each(|predicate| assert!(space.abstraction.add(*predicate)));
    let mut solver = Solver::new().expect("z3 is installed");
    let found = space.explore(program, &mut solver, 1000, false, &|_, _, _| false).expect("z3 answers");
    let Found::Nothing(graph) = found else { panic!("no more than 1000 states, and nothing is an error") };
    (0..graph.states.len()).map(|state| graph.node(state)).collect()
}

/// Predicates on dead variables are dropped, new ones are taken up, and equal or negated ones are not added twice.
#[test]
fn an_edge_is_computed_again_for_a_new_predicate() {
    let (x, y) = (var(0, 2), var(1, 2));
    let program = program(
        &WIDTHS,
        &[(0, 1, &[Op::Assume(is(x, 1)), Op::Assign(1, plus(x, 1))]), (1, 2, &[Op::Assume(is(y, 0))])],
    );
    let mut solver = Solver::new().expect("z3 is installed");
    let mut abstraction = Abstraction::new(&program);
    let mut follow = |abstraction: &mut Abstraction| -> usize {
        let first: Known = abstraction.nothing(0);
        let after = abstraction.post(&mut solver, &program, 0, first).expect("z3 answers");
        let known = after.after[0];
        abstraction.post(&mut solver, &program, 1, known).expect("z3 answers").after.len()
    };
    assert_eq!(follow(&mut abstraction), 1);
    assert!(abstraction.add(is(x, 1)) && abstraction.add(is(y, 0)));
    assert_eq!(follow(&mut abstraction), 0);
    assert!(!abstraction.add(is(x, 1)) && !abstraction.add(not(is(y, 0))) && !abstraction.add(truth(true)));
}
