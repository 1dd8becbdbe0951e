//! Liveness: rules 2 and 4. A violation is a run without end in which the demand is never met.
//!
//! Abstract states in which the demand is open make a graph; a violation is a cycle there. A cycle does not count if no run
//! can follow it for ever: it stays inside a loop that ends (`terminate`), or all along a protocol promises that one of
//! some messages comes, every AWAIT waits for them, and none comes. What remains is made a path and a loop, which is
//! replayed: on the program, where the variables that matter must have the same values again at its end, and on the
//! whole protocols. If that fails, the abstraction is refined as for safety.

use crate::component::{Component, Protocols};
use crate::explore::{Found, Graph, Space};
use crate::graph;
use crate::path::{self, Feasible};
use crate::program::{Message, Op, Program, Step};
use crate::replay::{replay, Replay};
use crate::safety::{grant_guard, grant_promise, track, Context, Outcome, Verdict, LIMIT, ROUNDS};
use crate::solver::{Solver, SolverError};
use crate::trace::{name, trace};
use crate::whole::{self, Found as Run, Search};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Instant;

#[derive(Debug, Clone)]
pub enum Demand {
    /// Rule 2: while the message is enabled, an AWAIT for it comes.
    Await(Message),
    /// Rule 4: the timed mark of a protocol goes.
    Leave(usize, usize),
}

/// A run without end: edges of the program that lead to the loop, and those of the loop.
struct Lasso {
    stem: Vec<usize>,
    cycle: Vec<usize>,
}

pub fn check(
    context: &Context,
    solver: &mut Solver,
    demand: &Demand,
    components: Vec<Component>,
) -> Result<Outcome, SolverError> {
    let program = context.program;
    let own = components.len();
    let mut space = Space::new(program, components, context.seed);
    let mut refinements = 0;
    let done = |space: &Space, refinements, states, verdict| Outcome {
        verdict,
        predicates: space.abstraction.predicates.len(),
        refinements,
        states,
        granted: space.components[own..].iter().map(|one| (one.protocol, one.part)).collect(),
    };
    loop {
        if refinements > ROUNDS || context.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            let reason = format!("no verdict after {refinements} refinements");
            return Ok(done(&space, refinements, 0, Verdict::Unknown(reason)));
        }
        let graph = match space.explore(program, solver, LIMIT, true, &|_, _, _| false)? {
            Found::Nothing(graph) => graph,
            Found::Error(..) | Found::TooMuch => {
                let reason = format!("more than {LIMIT} abstract states");
                return Ok(done(&space, refinements, LIMIT, Verdict::Unknown(reason)));
            }
        };
        let Some(lasso) = find(context, &space, &graph, demand) else {
            return Ok(done(&space, refinements, graph.states.len(), Verdict::Proved));
        };
        refinements += 1;
        match judge(context, solver, &mut space, demand, &lasso)? {
            Judgement::Refined => {}
            Judgement::Verdict(verdict) => return Ok(done(&space, refinements, graph.states.len(), verdict)),
        }
    }
}

/// Whether the demand is open in some state that is stood for.
fn is_open(space: &Space, states: &[u8], demand: &Demand) -> bool {
    let component = &space.components[0];
    space.concrete(0, states[0]).into_iter().any(|state| match demand {
        Demand::Await(message) => component.enables(state, *message),
        Demand::Leave(_, mark) => component.automaton.states[state].timed.contains(mark),
    })
}

/// A cycle on which the demand stays open and which fairness does not exclude.
fn find(context: &Context, space: &Space, graph: &Graph, demand: &Demand) -> Option<Lasso> {
    let program = context.program;
    let open: Vec<bool> = graph.states.iter().map(|state| is_open(space, &state.states, demand)).collect();
    let waits = |edge: usize| {
        program.edges[edge].steps.iter().find_map(|step| match step.op {
            Op::Await(site) => Some(&program.awaits[site].messages),
            _ => None,
        })
    };
    let meets = |edge: usize| match demand {
        Demand::Await(message) => waits(edge).is_some_and(|messages| messages.contains(message)),
        Demand::Leave(..) => false,
    };
    // By state: edge of the program, next state.
    let mut moves: Vec<Vec<(usize, usize)>> = vec![Vec::new(); graph.states.len()];
    for &(from, edge, to) in &graph.moves {
        if open[from] && open[to] && !meets(edge) {
            moves[from].push((edge, to));
        }
    }
    for with_waits in [false, true] {
        let admitted = |edge: usize| with_waits || waits(edge).is_none();
        let next: Vec<Vec<usize>> = moves
            .iter()
            .map(|all| all.iter().filter(|(edge, _)| admitted(*edge)).map(|(_, to)| *to).collect())
            .collect();
        for component in graph::cycles(&next, &|state| open[state]) {
            let inside: HashSet<usize> = component.iter().copied().collect();
            let own: Vec<(usize, usize, usize)> = component
                .iter()
                .flat_map(|from| moves[*from].iter().map(|(edge, to)| (*from, *edge, *to)))
                .filter(|(_, edge, to)| inside.contains(to) && admitted(*edge))
                .collect();
            let Some(goals) = goals(context, space, graph, &component, &own, with_waits) else { continue };
            let cycle = walk(&own, &goals);
            let stem = graph.path(own[goals[0]].0);
            return Some(Lasso { stem, cycle });
        }
    }
    None
}

/// Moves that a fair cycle takes, by number; nothing if there is no fair cycle.
fn goals(
    context: &Context,
    space: &Space,
    graph: &Graph,
    component: &[usize],
    own: &[(usize, usize, usize)],
    with_waits: bool,
) -> Option<Vec<usize>> {
    let program = context.program;
    let op = |edge: usize, test: &dyn Fn(&Op) -> bool| program.edges[edge].steps.iter().any(|step| test(&step.op));
    let mut goals = Vec::new();
    for ending in context.ending {
        let leaves = own.iter().position(|(from, _, _)| !ending.contains(&graph.states[*from].node))?;
        if component.iter().any(|state| ending.contains(&graph.states[*state].node)) {
            goals.push(leaves);
        }
    }
    if with_waits {
        goals.push(own.iter().position(|(_, edge, _)| op(*edge, &|op| matches!(op, Op::Await(_))))?);
        for (index, one) in space.components.iter().enumerate() {
            let states = 0..one.automaton.states.len();
            let promises: BTreeSet<BTreeSet<Message>> = states.flat_map(|state| one.promises(state)).collect();
            for promise in promises {
                // A move that shows that the promise is not broken.
                let is_kept = |(from, edge, _): &(usize, usize, usize)| {
                    let state = graph.states[*from].states[index];
                    let promised = space
                        .concrete(index, state)
                        .into_iter()
                        .all(|state| one.promises(state).any(|own| own == promise));
                    !promised
                        || op(*edge, &|op| match op {
                            Op::Await(site) => !promise.is_subset(&program.awaits[*site].messages),
                            Op::Receive(message) => promise.contains(message),
                            _ => false,
                        })
                };
                goals.push(own.iter().position(is_kept)?);
            }
        }
    }
    if goals.is_empty() {
        goals.push(0);
    }
    goals.sort_unstable();
    goals.dedup();
    Some(goals)
}

/// A closed walk that takes the moves named, as edges of the program.
fn walk(own: &[(usize, usize, usize)], goals: &[usize]) -> Vec<usize> {
    let mut from: HashMap<usize, Vec<usize>> = HashMap::new();
    for (index, (state, _, _)) in own.iter().enumerate() {
        from.entry(*state).or_default().push(index);
    }
    let mut made: Vec<usize> = Vec::new();
    for (position, goal) in goals.iter().enumerate() {
        made.push(*goal);
        let target = own[goals[(position + 1) % goals.len()]].0;
        // The shortest way on to where the next one begins.
        let start = own[*goal].2;
        let mut last: HashMap<usize, Option<usize>> = HashMap::from([(start, None)]);
        let mut work = VecDeque::from([start]);
        while let Some(state) = work.pop_front() {
            if state == target {
                break;
            }
            for &step in from.get(&state).into_iter().flatten() {
                let to = own[step].2;
                if let Entry::Vacant(place) = last.entry(to) {
                    place.insert(Some(step));
                    work.push_back(to);
                }
            }
        }
        let mut way = Vec::new();
        let mut state = target;
        while let Some(Some(step)) = last.get(&state) {
            way.push(*step);
            state = own[*step].0;
        }
        made.extend(way.into_iter().rev());
    }
    made.into_iter().map(|index| own[index].1).collect()
}

enum Judgement {
    Refined,
    Verdict(Verdict),
}

fn judge(
    context: &Context,
    solver: &mut Solver,
    space: &mut Space,
    demand: &Demand,
    lasso: &Lasso,
) -> Result<Judgement, SolverError> {
    let (program, protocols) = (context.program, context.protocols);
    let unknown = |text: &str| Ok(Judgement::Verdict(Verdict::Unknown(text.to_string())));
    // As often as it takes until the protocols are where they were: the loop itself brings the component back, but not
    // those that are not part of the check.
    let run = |times: usize| {
        let mut edges = lasso.stem.clone();
        (0..times).for_each(|_| edges.extend(&lasso.cycle));
        path::steps(program, &edges, usize::MAX)
    };
    let (stem, cycle) = (run(0).len(), run(1).len() - run(0).len());
    const MOST: usize = 6;
    let long = run(MOST);
    if track(space, &long) {
        return Ok(Judgement::Refined);
    }
    let replayed = replay(protocols, &long);
    if let Some((at, message)) = replayed.refused {
        if grant_guard(protocols, space, &long[..at], message) {
            return Ok(Judgement::Refined);
        }
        return unknown("a cycle does not replay on the protocols, and no subprotocol shows it");
    }
    // With a stem that goes round the loop some times.
    let at = |times: usize| (stem + times * cycle).checked_sub(1).map(|step| replayed.history[step].clone());
    let repeat = (0..MOST).flat_map(|start| (start + 1..=MOST).map(move |end| (start, end)));
    let Some((start, end)) = repeat.into_iter().find(|(start, end)| at(*start) == at(*end)) else {
        return unknown("the protocols do not come back to a state on a cycle");
    };
    let steps = run(end);
    let first = stem + start * cycle;
    if let Some((protocol, promise)) = broken_promise(context, &replayed, &steps, first) {
        if grant_promise(protocols, space, protocol, &promise) {
            return Ok(Judgement::Refined);
        }
        return unknown("a cycle is not fair, and no subprotocol shows it");
    }
    let matter = path::relevant(&steps[first..]);
    match path::check(program, solver, &steps, Some((first, &matter)))? {
        Feasible::Yes(_) => {
            let mut edges = lasso.stem.clone();
            (0..end).for_each(|_| edges.extend(&lasso.cycle));
            let turn = lasso.stem.len() + start * lasso.cycle.len();
            let found = match whole::find(context, solver, &edges, usize::MAX, Some(turn))? {
                Search::Found(found) => found,
                Search::Nothing(heads) => {
                    let reason = "a run without end".to_string();
                    return Ok(Judgement::Verdict(Verdict::Coarse(heads, reason)));
                }
            };
            return Ok(Judgement::Verdict(violated(context, demand, &found)));
        }
        Feasible::Unknown => return unknown("the solver gave up on a cycle"),
        Feasible::No(_) => {}
    }
    for times in [1, 2, end.max(3)] {
        let steps = run(times);
        if let Feasible::No(core) = path::check(program, solver, &steps, None)? {
            let mut is_new = false;
            for predicate in path::predicates(&steps, &core) {
                is_new |= space.abstraction.add(predicate);
            }
            if is_new {
                return Ok(Judgement::Refined);
            }
            return unknown("a cycle is impossible, but no further predicate shows it");
        }
    }
    unknown(&format!("a loop may end or not: {}", steps[first].place))
}

/// A promise that the client would break on the loop: made all along, waited for by every AWAIT, and not kept.
fn broken_promise(
    context: &Context,
    replayed: &Replay,
    steps: &[&Step],
    first: usize,
) -> Option<(usize, BTreeSet<usize>)> {
    let protocols: &Protocols = context.protocols;
    let program: &Program = context.program;
    let round = &steps[first..];
    if !round.iter().any(|step| matches!(step.op, Op::Await(_))) {
        return None;
    }
    for protocol in 0..protocols.all.len() {
        let state = |step: usize| &protocols.automaton(protocol).states[replayed.history[step][protocol]];
        for promise in &state(steps.len() - 1).fair {
            let messages: BTreeSet<Message> = promise.iter().map(|message| (protocol, *message)).collect();
            let is_broken = round.iter().enumerate().all(|(index, step)| {
                state(first + index).fair.contains(promise)
                    && match step.op {
                        Op::Await(site) => messages.is_subset(&program.awaits[site].messages),
                        Op::Receive(message) => !messages.contains(&message),
                        _ => true,
                    }
            });
            if is_broken {
                return Some((protocol, promise.clone()));
            }
        }
    }
    None
}

fn violated(context: &Context, demand: &Demand, run: &Run) -> Verdict {
    let protocols = context.protocols;
    let finding = match demand {
        Demand::Await(message) => format!(
            "rule 2: `{}` is enabled for ever, but the driver never waits for it again",
            name(protocols, *message)
        ),
        Demand::Leave(protocol, mark) => format!(
            "rule 4: `{}` stays in timed state {} for ever",
            protocols.all[*protocol].protocol.name,
            protocols.automaton(*protocol).timed[*mark]
        ),
    };
    Verdict::Violated(Box::new(trace(context.base, protocols, run, finding)))
}
