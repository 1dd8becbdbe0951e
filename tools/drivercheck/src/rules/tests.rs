//! Fair cycles in small programs made by hand, with a protocol whose question must be answered and whose news may be owed.

use super::component::{Protocols, WHOLE};
use super::fair_cycle::{self, Cycles, Lasso};
use super::grant::grant_guard;
use super::liveness::Demand;
use super::safety::Context;
use crate::abstraction::explore::{Found, Space};
use crate::hash::{HashMap, HashSet};
use crate::loops::ranking::Ending;
use crate::loops::summary::Summarised;
use crate::program::{Message, Op, Program};
use crate::solver::Solver;
use crate::testing::{program, protocol, with_awaits};

const ASK: Message = (0, 0);
const NEWS: Message = (0, 1);
const ANSWER: Message = (0, 2);
/// The state in which an answer is due is left.
const ANSWERED: Demand = Demand::Leave(0, 0);

/// A protocol whose client owes news while it waits for an answer, or only may send them.
fn asked(is_owed: bool) -> Protocols {
    let owed = if is_owed { "\n  owed" } else { "" };
    protocol(&format!(
        "# A question, and news meanwhile.
protocol asked 1

in  ask
in  news{owed}
out answer

state Idle initial fair final
  ?ask -> Asked
  ?news
state Asked timed fair
  ?news
  !answer -> Idle
"
    ))
}

/// The fair cycles of a program, each of which must be a walk from the entry and back to where it begins.
fn cycles(program: &Program, protocols: &Protocols, ending: &[Ending], demand: &Demand) -> Cycles {
    let summarised = Summarised { program: program.clone(), heads: HashMap::default() };
    let context =
        Context { program, base: program, summarised: &summarised, protocols, seed: true, limit: None, ending };
    let mut space = Space::new(program, vec![protocols.whole(0)], true);
    assert!(space.has(0, WHOLE));
    let mut solver = Solver::new().expect("z3 is installed");
    let Ok(Found::Nothing(graph)) = space.explore(program, &mut solver, 100, true, &|_, _, _| false) else {
        panic!("a small program has few states")
    };
    let found = fair_cycle::find(&context, &space, &graph, demand, &HashSet::default());
    for lasso in found.first.iter().chain(&found.others) {
        let mut node = program.entry;
        for edge in lasso.stem.iter().chain(&lasso.cycle) {
            assert_eq!(program.edges[*edge].from, node);
            node = program.edges[*edge].to;
        }
        assert_eq!(program.edges[lasso.cycle[0]].from, node, "the cycle closes");
    }
    found
}

/// After a question the program runs through these edges, whose AWAITs are for these messages.
fn after_a_question(edges: &[(usize, usize, &[Op])], awaits: &[&[Message]]) -> Program {
    let first: (usize, usize, &[Op]) = (0, 1, &[Op::Receive(ASK)]);
    with_awaits(program(&[8], &[&[first], edges].concat()), awaits)
}

fn found(protocols: &Protocols, program: &Program, ending: &[Ending]) -> Vec<Vec<usize>> {
    cycles(program, protocols, ending, &ANSWERED).first.into_iter().map(|lasso| lasso.cycle).collect()
}

#[test]
fn a_cycle_without_the_answer_is_found() {
    let silent = after_a_question(&[(1, 2, &[]), (2, 1, &[Op::Havoc(0)])], &[]);
    let all = found(&asked(true), &silent, &[]);
    assert_eq!(all.len(), 1);
    assert_eq!(HashSet::<usize>::from_iter(all[0].clone()), HashSet::from_iter([1, 2]));
    // The answer ends the demand; what comes after it is another question's.
    let answers = after_a_question(&[(1, 2, &[Op::Emit(ANSWER)]), (2, 1, &[Op::Receive(ASK)]), (2, 2, &[])], &[]);
    assert!(found(&asked(true), &answers, &[]).is_empty());
    // No cycle at all.
    assert!(found(&asked(true), &after_a_question(&[(1, 2, &[Op::Return])], &[]), &[]).is_empty());
}

/// The same place in the program with a question open, and with none, are two states; only the edge that sends leads on.
#[test]
fn states_of_a_protocol_are_told_apart() {
    let program = program(&[8], &[(0, 1, &[Op::Receive(ASK)]), (0, 1, &[]), (1, 2, &[Op::Emit(ANSWER)])]);
    let mut space = Space::new(&program, vec![asked(true).whole(0)], true);
    let mut solver = Solver::new().expect("z3 is installed");
    let Ok(Found::Nothing(graph)) = space.explore(&program, &mut solver, 100, true, &|_, _, _| false) else {
        panic!("a small program has few states")
    };
    let mut nodes: Vec<usize> = (0..graph.states.len()).map(|state| graph.node(state)).collect();
    nodes.sort_unstable();
    assert_eq!((nodes, graph.moves.len()), (vec![0, 1, 1, 2], 3));
}

/// One cycle of each loop is found, the first loop's first.
#[test]
fn cycles_of_other_loops_are_found() {
    let silent = after_a_question(&[(1, 1, &[]), (1, 2, &[]), (2, 3, &[]), (3, 2, &[]), (3, 4, &[]), (4, 4, &[])], &[]);
    let all = cycles(&silent, &asked(true), &[], &ANSWERED);
    let edges = |lasso: &Lasso| HashSet::<usize>::from_iter(lasso.cycle.clone());
    assert_eq!(all.first.iter().map(edges).collect::<Vec<_>>(), [HashSet::from_iter([1])]);
    let others: Vec<_> = all.others.iter().map(edges).collect();
    assert_eq!(others, [HashSet::from_iter([3, 4]), HashSet::from_iter([6])]);
}

/// A loop that ends is passed finitely often, but an inner one may run for ever, and so may a cycle that leaves the loop.
#[test]
fn a_loop_that_ends_is_no_cycle() {
    let ending = |nodes: &[usize]| Ending { head: 1, nodes: nodes.iter().copied().collect() };
    let once = after_a_question(&[(1, 2, &[]), (2, 1, &[])], &[]);
    assert!(found(&asked(true), &once, &[ending(&[1, 2])]).is_empty());
    let inner = after_a_question(&[(1, 2, &[]), (2, 1, &[]), (2, 2, &[])], &[]);
    assert_eq!(found(&asked(true), &inner, &[ending(&[1, 2])]), [[3]]);
    let outer = after_a_question(&[(1, 2, &[]), (2, 1, &[]), (2, 3, &[]), (3, 1, &[])], &[]);
    let all = found(&asked(true), &outer, &[ending(&[1, 2])]);
    assert_eq!(all.len(), 1);
    assert!(all[0].contains(&4), "{all:?} leaves the loop");
}

/// Owed news come: a cycle that waits for them without an end and never receives them is unfair.
#[test]
fn owed_messages_come() {
    let waits = after_a_question(&[(1, 1, &[Op::Await(0)])], &[&[NEWS]]);
    assert!(found(&asked(true), &waits, &[]).is_empty());
    assert_eq!(found(&asked(false), &waits, &[]), [[1]], "news that are not owed need not come");
    // They come, and that is all: the answer does not.
    let receives = after_a_question(&[(1, 2, &[Op::Await(0)]), (2, 1, &[Op::Receive(NEWS)])], &[&[NEWS]]);
    assert_eq!(found(&asked(true), &receives, &[]).len(), 1);
    // An AWAIT for something else lets them wait.
    let deaf = after_a_question(&[(1, 1, &[Op::Await(0)]), (1, 1, &[Op::Await(1)])], &[&[NEWS], &[ASK]]);
    let all = found(&asked(true), &deaf, &[]);
    assert_eq!(all.len(), 1);
    assert!(all[0].contains(&2), "{all:?} has the AWAIT that does not wait for news");
}

/// Rule 2: a message that stays enabled is waited for.
#[test]
fn a_message_that_is_never_waited_for_is_found() {
    let listens = |messages: &[Message]| {
        let program = program(&[8], &[(0, 1, &[Op::Await(0)]), (1, 0, &[Op::Receive(NEWS)])]);
        cycles(&with_awaits(program, &[messages]), &asked(false), &[], &Demand::Await(ASK)).first.len()
    };
    assert_eq!([listens(&[NEWS]), listens(&[ASK, NEWS])], [1, 0]);
}

/// A job that may be asked about while it is open; up to 32 are.
fn jobs() -> Protocols {
    protocol(
        "# Jobs.
protocol jobs 1

request job 32

in  begin
  opens job
in  ask
  names job
out done
  closes job

state Working initial fair final
  ?begin, ?ask
  !done
",
    )
}

/// A client that names what it never opened needs two states to be excluded, one that names what was closed a state for each
/// number of jobs.
#[test]
fn requests_are_counted_only_where_it_matters() {
    let (begin, ask, done): (Message, Message, Message) = ((0, 0), (0, 1), (0, 2));
    let protocols = jobs();
    let states = |before: &[Op]| {
        let edge: &[(usize, usize, &[Op])] = &[(0, 1, before)];
        let program = program(&[8], edge);
        let steps: Vec<_> = program.edges[0].steps.iter().collect();
        let mut space = Space::new(&program, Vec::new(), true);
        assert!(grant_guard(&protocols, &mut space, &steps[..steps.len() - 1], ask));
        space.components[0].automaton.states.len()
    };
    assert_eq!(states(&[Op::Receive(ask)]), 2);
    assert_eq!(states(&[Op::Receive(begin), Op::Emit(done), Op::Receive(ask)]), 33);
}
