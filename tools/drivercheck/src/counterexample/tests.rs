//! From abstract paths to runs: a path that can happen gets values that replay, one that cannot is refused.

use super::feasibility::{self, Feasible, Values};
use super::search::{find, Search};
use crate::expr::{self, constant, equal, not, var, Var};
use crate::hash::{HashMap, HashSet};
use crate::loops::ranking::{analyse, Known};
use crate::loops::summary::{summarise, Summarised};
use crate::program::{Op, Program, Step};
use crate::rules::component::Protocols;
use crate::rules::safety::Context;
use crate::solver::Solver;
use crate::testing::{is, less, minus, plus, program};
use std::collections::BTreeSet;

fn solver() -> Solver {
    Solver::new().expect("z3 is installed")
}

/// Runs the steps with the values that assumptions read; a variable that none has read yet is taken from the next one.
fn replays(steps: &[&Step], values: &Values) -> bool {
    let mut now: HashMap<Var, u64> = HashMap::default();
    for (index, step) in steps.iter().enumerate() {
        match &step.op {
            Op::Assign(var, value) => {
                let is_known = value.vars().iter().all(|var| now.contains_key(var));
                match is_known.then(|| value.evaluate(&|var| now[&var])) {
                    Some(value) => now.insert(*var, value),
                    None => now.remove(var),
                };
            }
            Op::Havoc(var) => drop(now.remove(var)),
            Op::Assume(condition) => {
                let read: HashMap<Var, u64> = values.read[&index].iter().copied().collect();
                let agrees = |(var, value): (&Var, &u64)| *now.entry(*var).or_insert(*value) == *value;
                if !read.iter().all(agrees) || condition.evaluate(&|var| read[&var]) == 0 {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

fn steps(ops: &[Op]) -> Vec<Step> {
    ops.iter().map(|op| Step { op: op.clone(), place: Default::default() }).collect()
}

/// Whether operations are feasible over three variables of 8 bits; the values of a model are replayed.
fn check(ops: &[Op], repeats: Option<(usize, &HashSet<Var>)>) -> Feasible {
    let program = program(&[8, 8, 8], &[]);
    let steps = steps(ops);
    let steps: Vec<&Step> = steps.iter().collect();
    let answer = feasibility::check(&program, &mut solver(), &steps, repeats).expect("z3 answers");
    if let Feasible::Yes(values) = &answer {
        assert!(replays(&steps, values), "{ops:?} with {values:?}");
    }
    answer
}

#[test]
fn a_feasible_path_has_values_that_replay() {
    let (x, y, z) = (var(0, 8), var(1, 8), var(2, 8));
    let product = expr::binary(expr::Op::Mul, x, y);
    let ops = [
        Op::Assume(is(product, 77)),
        Op::Assume(less(constant(1, 8), x)),
        Op::Assign(2, plus(x, 3)),
        Op::Havoc(0),
        Op::Assume(equal(x, plus(z, 250))),
        Op::Havoc(1),
        // Alone with its variable: decided apart from the others.
        Op::Assume(less(constant(200, 8), y)),
    ];
    assert!(matches!(check(&ops, None), Feasible::Yes(_)));
}

#[test]
fn an_infeasible_path_is_refused_with_its_contradiction() {
    let (x, y) = (var(0, 8), var(1, 8));
    let core = |ops: &[Op]| match check(ops, None) {
        Feasible::No(cores) => cores.concat().into_iter().collect::<BTreeSet<_>>(),
        _ => panic!("{ops:?} cannot happen"),
    };
    let ops = [Op::Assume(is(y, 1)), Op::Assume(less(x, y)), Op::Assign(0, plus(x, 1)), Op::Assume(is(x, 2))];
    assert_eq!(core(&ops), BTreeSet::from([0, 1, 3]));
    // Of conditions that hold, none is named.
    let ops = [Op::Assume(is(y, 1)), Op::Assign(0, constant(4, 8)), Op::Assume(is(x, 5))];
    assert_eq!(core(&ops), BTreeSet::from([2]));
    let ops = [Op::Assume(is(y, 1)), Op::Assume(less(expr::binary(expr::Op::Or, x, constant(8, 8)), constant(8, 8)))];
    assert_eq!(core(&ops), BTreeSet::from([1]));
    // The same after the variable was read anew is possible.
    let ops = [Op::Assume(is(x, 1)), Op::Havoc(0), Op::Assume(is(x, 2))];
    assert!(matches!(check(&ops, None), Feasible::Yes(_)));
}

/// A solver that gives no answer shows neither that a path can happen nor that it cannot.
#[test]
fn no_answer_is_no_contradiction() {
    let program = program(&[8], &[]);
    let steps = steps(&[Op::Assume(less(constant(3, 8), var(0, 8)))]);
    let mut solver = solver();
    solver.check(&[constant(1, 1)], false, false).expect("z3 answers");
    let number = solver.process().to_string();
    assert!(std::process::Command::new("kill").args(["-KILL", &number]).status().expect("kill").success());
    let steps: Vec<&Step> = steps.iter().collect();
    let answer = feasibility::check(&program, &mut solver, &steps, None).expect("a killed solver is no error");
    assert!(matches!(answer, Feasible::Unknown));
}

/// A run repeats for ever only if every value that it reads is the same again.
#[test]
fn a_cycle_repeats_only_with_the_same_values() {
    let (x, y, z) = (var(0, 8), var(1, 8), var(2, 8));
    let repeats = |ops: &[Op]| {
        let all = steps(ops);
        let vars = feasibility::relevant(&all.iter().collect::<Vec<_>>());
        (matches!(check(ops, Some((0, &vars))), Feasible::Yes(_)), vars)
    };
    // A counter that nothing looks at does not matter; one that is looked at does.
    assert_eq!(repeats(&[Op::Assign(0, plus(x, 1)), Op::Assume(is(y, 0))]), (true, HashSet::from_iter([1])));
    assert!(!repeats(&[Op::Assume(less(x, y)), Op::Assign(0, plus(x, 1))]).0);
    // What is read anew does not carry over.
    assert_eq!(repeats(&[Op::Havoc(0), Op::Assume(is(x, 0)), Op::Assign(0, plus(x, 1))]), (true, HashSet::default()));
    // A value that comes into the condition after two more rounds.
    let ops = [Op::Assume(is(y, 0)), Op::Assign(1, x), Op::Assign(0, z), Op::Assign(2, constant(5, 8))];
    assert!(!repeats(&ops).0);
    let ops = [Op::Assume(is(y, 0)), Op::Assign(1, x), Op::Assign(0, z), Op::Assign(2, constant(0, 8))];
    assert!(repeats(&ops).0);
}

/// Predicates of a contradiction: the conditions, as they were before each step.
#[test]
fn a_contradiction_gives_predicates() {
    let (x, y) = (var(0, 8), var(1, 8));
    let steps = steps(&[Op::Assign(0, plus(y, 1)), Op::Assume(is(y, 1)), Op::Assume(is(x, 5))]);
    let mut found = Vec::new();
    let steps: Vec<&Step> = steps.iter().collect();
    let is_new = feasibility::predicates(&steps, &[vec![1, 2]], &|_| 0, &mut |one, _| {
        found.push(one);
        true
    });
    assert!(is_new);
    assert!([is(y, 1), is(x, 5), is(y, 4)].iter().all(|one| found.contains(one)), "{found:?}");
}

/// A set of one bit is empty when one is taken out, whichever that is: it says so before the choice, where the bit is unknown.
#[test]
fn a_bit_that_is_taken_out_may_be_the_lowest() {
    let (set, bit) = (var(0, 8), var(1, 8));
    let chosen = expr::binary(expr::Op::Shl, constant(1, 8), bit);
    let taken = |mask| expr::binary(expr::Op::And, set, mask);
    let steps = steps(&[
        Op::Assume(is(minus(set, 4), 0)),
        Op::Havoc(1),
        Op::Assume(not(is(taken(chosen), 0))),
        Op::Assign(0, taken(not(chosen))),
        Op::Assume(not(is(set, 0))),
    ]);
    let steps: Vec<&Step> = steps.iter().collect();
    let mut found: Vec<expr::Expr> = Vec::new();
    // What other efforts find is known already.
    while feasibility::predicates(&steps, &[vec![2, 4]], &|_| 0, &mut |one, _| {
        let is_new = !found.contains(&one);
        found.extend(is_new.then_some(one));
        is_new
    }) {}
    assert!(found.contains(&is(taken(minus(set, 1)), 0)), "{found:?}");
}

/// A loop that counts to a bound, and what follows: node 1 is its head, node 2 comes behind it.
fn counting(bound: u64, last: Op) -> Program {
    let x = var(0, 8);
    let more = less(x, constant(bound, 8));
    program(
        &[8, 8],
        &[
            (0, 1, &[Op::Assign(0, constant(0, 8))]),
            (1, 1, &[Op::Assume(more), Op::Assign(0, plus(x, 1)), Op::Havoc(1)]),
            (1, 2, &[Op::Assume(not(more)), last]),
        ],
    )
}

/// Searches for a run along the path through the summary of the loop: its steps are held against their values.
fn search(base: &Program) -> Option<Vec<Op>> {
    search_along(base, &[0, 2], &[1])
}

/// The same along these edges, through loops with these heads.
fn search_along(base: &Program, edges: &[usize], heads: &[usize]) -> Option<Vec<Op>> {
    let mut solver = solver();
    let loops = analyse(base, &mut solver, &mut Known::default()).expect("z3 answers");
    let none = BTreeSet::new();
    let summarised: Summarised = summarise(base, &loops, &|_| true, &none, &none);
    let found: BTreeSet<usize> = summarised.heads.keys().copied().collect();
    assert_eq!(found, heads.iter().copied().collect());
    let protocols = Protocols::new(Vec::new(), true, true);
    let context = Context {
        program: &summarised.program,
        base,
        summarised: &summarised,
        protocols: &protocols,
        seed: true,
        limit: None,
        ending: &[],
    };
    match find(&context, &mut solver, edges, usize::MAX, None).expect("z3 answers") {
        Search::Nothing(coarse) => {
            assert_eq!(coarse, found);
            None
        }
        Search::Found(found) => {
            if found.path.repeats.is_empty() {
                assert!(replays(&found.path.steps, &shown(&found.path.steps, &found.values)));
            }
            let repeats: u64 = found.path.repeats.iter().map(|repeat| repeat.times).sum();
            let once = found.path.steps.iter().map(|step| step.op.clone());
            let more = (0..repeats).map(|_| Op::Havoc(1));
            Some(once.chain(more).collect())
        }
    }
}

/// The values that a trace shows leave out the iterations of loops: assumptions there read what the run has computed.
fn shown(steps: &[&Step], values: &Values) -> Values {
    let mut all = values.clone();
    let mut now: HashMap<Var, u64> = HashMap::default();
    for (index, step) in steps.iter().enumerate() {
        match &step.op {
            Op::Assign(var, value) => drop(now.insert(*var, value.evaluate(&|var| now[&var]))),
            Op::Assume(condition) => {
                for (var, value) in values.read.get(&index).into_iter().flatten() {
                    now.entry(*var).or_insert(*value);
                }
                let read = || condition.vars().iter().map(|var| (*var, now[var])).collect();
                all.read.entry(index).or_insert_with(read);
            }
            _ => {}
        }
    }
    all
}

/// Iterations of the loop on a run.
fn rounds(ops: &[Op]) -> usize {
    ops.iter().filter(|op| **op == Op::Havoc(1)).count()
}

#[test]
fn a_path_through_a_summarised_loop_is_unrolled() {
    let (x, y) = (var(0, 8), var(1, 8));
    let run = search(&counting(5, Op::Assume(is(x, 5)))).expect("the loop ends with 5");
    assert_eq!(rounds(&run), 5);
    // The register that each iteration reads has its last value.
    let run = search(&counting(3, Op::Assume(is(y, 7)))).expect("the register may be 7");
    assert_eq!(rounds(&run), 3);
    // Many iterations alike are computed, not tried.
    let run = search(&counting(200, Op::Assume(is(x, 200)))).expect("the loop ends with 200");
    assert_eq!(rounds(&run), 200);
}

#[test]
fn a_path_that_only_the_summary_allows_is_refused() {
    let x = var(0, 8);
    // The summary forgets that the counter stops at the bound.
    assert_eq!(search(&counting(5, Op::Assume(is(x, 6)))), None);
    assert_eq!(search(&counting(200, Op::Assume(is(minus(x, 1), 200)))), None);
}

/// Two loops that go round equally often, the second of which adds up: that they go round at all is known of their bound. What the
/// second needed behind a first that did not go round is too much behind one that does.
#[test]
fn a_loop_is_unrolled_anew_behind_another_run() {
    let [bound, i, j, sum, some] = [0, 1, 2, 3, 4].map(|number| var(number, 8));
    let add = Op::Assign(3, expr::binary(expr::Op::Add, sum, some));
    let out = expr::binary(expr::Op::Or, less(bound, constant(2, 8)), less(constant(3, 8), bound));
    let begin = [Op::Assume(not(out)), Op::Assume(less(constant(2, 8), some)), Op::Assume(less(some, constant(9, 8)))];
    let [first, second, third] = begin;
    let base = program(
        &[8; 5],
        &[
            (0, 1, &[first, second, third, Op::Assign(1, constant(0, 8))]),
            (1, 1, &[Op::Assume(less(i, bound)), Op::Assign(1, plus(i, 1))]),
            (1, 2, &[Op::Assume(not(less(i, bound))), Op::Assign(2, constant(0, 8)), Op::Assign(3, constant(0, 8))]),
            (2, 2, &[Op::Assume(less(j, bound)), Op::Assign(2, plus(j, 1)), add.clone()]),
            (2, 3, &[Op::Assume(not(less(j, bound)))]),
            (3, 4, &[Op::Assume(not(less(sum, some)))]),
        ],
    );
    let run = search_along(&base, &[0, 2, 4, 5], &[1, 2]).expect("two iterations of each are enough");
    assert_eq!(run.iter().filter(|op| **op == add).count(), 2);
}
