//! Fair cycles of the abstract program: those that a run may follow for ever.
//!
//! A cycle is excluded if it fulfils the demand, if it passes the head of a terminating loop without ever leaving the loop,
//! or if it is unfair: throughout, a protocol promises one of some messages, every AWAIT waits for all of them, and none
//! is received.

use crate::abstraction::explore::{Graph, Space};
use crate::graph;
use crate::hash::{HashMap, HashSet};
use crate::program::{Message, Op};
use crate::rules::component::Component;
use crate::rules::liveness::Demand;
use crate::rules::safety::Context;
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, VecDeque};

/// Components of which a cycle is looked for, beside the first that has one.
const MOST_OTHERS: usize = 4;
/// Moves that are tried as the start of a cycle.
const MOST_GOALS: usize = 16;

/// A run without end: edges of the program that lead to the loop, and those of the loop.
pub struct Lasso {
    pub stem: Vec<usize>,
    pub cycle: Vec<usize>,
}

/// Of the abstract program: from, edge of the program, to.
type Move = (usize, usize, usize);

struct Search<'a> {
    context: &'a Context<'a>,
    space: &'a Space,
    graph: &'a Graph,
    /// By state: edge of the program, next state; only where the demand is open and stays so.
    moves: Vec<Vec<(usize, usize)>>,
    /// Whether cycles with AWAITs are searched, too.
    with_waits: bool,
    /// Every promise, with its component.
    promises: Vec<(usize, BTreeSet<Message>)>,
    /// Cycles in other components than the first that has one.
    others: RefCell<Vec<Lasso>>,
}

/// Whether the demand is open in some state that is stood for.
fn is_open(space: &Space, states: &[u16], demand: &Demand) -> bool {
    let component = &space.components[0];
    space.concrete(0, states[0]).into_iter().any(|state| match demand {
        Demand::Await(message) => component.enables(state, *message),
        Demand::Leave(_, mark) => component.automaton.states[state].timed.contains(mark),
    })
}

/// Cycles on which the demand stays open and which fairness does not exclude.
pub struct Cycles {
    /// More than one only for alternative cycles without AWAIT in the same component.
    pub first: Vec<Lasso>,
    /// One of each of some other components.
    pub others: Vec<Lasso>,
}

/// Looks for cycles, without these edges of the program.
pub fn find(context: &Context, space: &Space, graph: &Graph, demand: &Demand, without: &HashSet<usize>) -> Cycles {
    let by_vector: Vec<bool> = graph.vectors.iter().map(|states| is_open(space, states, demand)).collect();
    let open = |state: usize| by_vector[graph.states[state].states as usize];
    let all_promises = |(index, one): (usize, &Component)| {
        let all = (0..one.automaton.states.len()).flat_map(|state| one.owed_promises(state));
        all.map(|promise| (index, promise)).collect::<BTreeSet<_>>()
    };
    let mut search = Search {
        context,
        space,
        graph,
        moves: vec![Vec::new(); graph.states.len()],
        with_waits: false,
        promises: space.components.iter().enumerate().flat_map(all_promises).collect(),
        others: RefCell::default(),
    };
    let meets = |edge: usize| match demand {
        Demand::Await(message) => search.waits(edge).is_some_and(|messages| messages.contains(message)),
        Demand::Leave(..) => false,
    };
    let mut moves = vec![Vec::new(); graph.states.len()];
    for &(from, edge, to) in &graph.moves {
        let (from, edge, to) = (from as usize, edge as usize, to as usize);
        if open(from) && open(to) && !meets(edge) && !without.contains(&edge) {
            moves[from].push((edge, to));
        }
    }
    search.moves = moves;
    let all: Vec<usize> = (0..graph.states.len()).filter(|state| open(*state)).collect();
    let found = search.among(&all).or_else(|| {
        search.with_waits = true;
        search.among(&all)
    });
    Cycles { first: found.unwrap_or_default(), others: search.others.into_inner() }
}

impl Search<'_> {
    /// The messages that an edge waits for.
    fn waits(&self, edge: usize) -> Option<&BTreeSet<Message>> {
        let program = self.context.program;
        program.edges[edge].steps.iter().find_map(|step| match step.op {
            Op::Await(site) => Some(&program.awaits[site].messages),
            _ => None,
        })
    }

    fn receives(&self, edge: usize) -> Option<Message> {
        self.context.program.edges[edge].steps.iter().find_map(|step| match step.op {
            Op::Receive(message) => Some(message),
            _ => None,
        })
    }

    fn admits(&self, edge: usize) -> bool {
        self.with_waits || self.waits(edge).is_none()
    }

    /// A fair cycle among some states.
    fn among(&self, states: &[usize]) -> Option<Vec<Lasso>> {
        // Renumbered, so that recursion works on smaller graphs.
        let number: HashMap<usize, usize> = states.iter().enumerate().map(|(index, state)| (*state, index)).collect();
        let next: Vec<Vec<usize>> = states
            .iter()
            .map(|state| {
                let admitted = self.moves[*state].iter().filter(|(edge, _)| self.admits(*edge));
                admitted.filter_map(|(_, to)| number.get(to).copied()).collect()
            })
            .collect();
        // Components near the start first: their stems are short.
        let mut components = graph::cycles(&next, &|_| true);
        components.sort_unstable_by_key(|component| component.first().map(|index| states[*index]));
        let mut first = None;
        for component in components {
            if first.is_some() && self.others.borrow().len() >= MOST_OTHERS {
                break;
            }
            let component: Vec<usize> = component.into_iter().map(|index| states[index]).collect();
            let found = self.inside(&component);
            if first.is_none() {
                first = found;
            } else {
                self.others.borrow_mut().extend(found.into_iter().flatten().next());
            }
        }
        first
    }

    /// Fair cycles in a strongly connected part.
    fn inside(&self, component: &[usize]) -> Option<Vec<Lasso>> {
        let inside: HashSet<usize> = component.iter().copied().collect();
        let mut goals = Vec::new();
        let own: Vec<Move> = component
            .iter()
            .flat_map(|from| self.moves[*from].iter().map(|(edge, to)| (*from, *edge, *to)))
            .filter(|(_, edge, to)| inside.contains(to) && self.admits(*edge))
            .collect();
        for ending in self.context.ending {
            let is_in = |state: &usize| ending.nodes.contains(&self.graph.node(*state));
            if !component.iter().any(is_in) {
                continue;
            }
            match own.iter().position(|(from, _, _)| !is_in(from)) {
                Some(leaves) => goals.push(leaves),
                // The component lies inside the loop: its head is passed finitely often, but an inner loop may run for ever.
                None => {
                    let is_head = |state: &&usize| self.graph.node(**state) == ending.head;
                    let rest: Vec<usize> = component.iter().filter(|state| !is_head(state)).copied().collect();
                    if rest.len() < component.len() {
                        return self.among(&rest);
                    }
                }
            }
        }
        if self.with_waits {
            goals.push(own.iter().position(|(_, edge, _)| self.waits(*edge).is_some())?);
            for (index, promise) in &self.promises {
                goals.push(own.iter().position(|one| self.is_kept(*index, promise, one))?);
            }
        }
        let lasso = |goals: &[usize]| Lasso { stem: self.graph.path(own[goals[0]].0), cycle: walk(&own, goals) };
        if goals.is_empty() {
            let mut found: Vec<Lasso> = Vec::new();
            for goal in 0..own.len().min(MOST_GOALS) {
                let one = lasso(&[goal]);
                if !found.iter().any(|other| other.cycle.iter().collect::<HashSet<_>>() == one.cycle.iter().collect()) {
                    found.push(one);
                }
            }
            return Some(found);
        }
        goals.sort_unstable();
        goals.dedup();
        Some(vec![lasso(&goals)])
    }

    /// A move that shows that a component's promise is kept.
    fn is_kept(&self, index: usize, promise: &BTreeSet<Message>, (from, edge, _): &Move) -> bool {
        let component = &self.space.components[index];
        let states = self.space.concrete(index, self.graph.states_of(*from)[index]);
        let is_promised = states.into_iter().all(|state| component.promises(state).any(|own| own == *promise));
        !is_promised
            || self.waits(*edge).is_some_and(|messages| !promise.is_subset(messages))
            || self.receives(*edge).is_some_and(|message| promise.contains(&message))
    }
}

/// A closed walk that takes the moves named, as edges of the program.
fn walk(own: &[Move], goals: &[usize]) -> Vec<usize> {
    let mut from: HashMap<usize, Vec<usize>> = HashMap::default();
    for (index, (state, _, _)) in own.iter().enumerate() {
        from.entry(*state).or_default().push(index);
    }
    let mut made: Vec<usize> = Vec::new();
    for (position, goal) in goals.iter().enumerate() {
        made.push(*goal);
        let target = own[goals[(position + 1) % goals.len()]].0;
        // The shortest path to the start of the next one.
        let start = own[*goal].2;
        let mut last: HashMap<usize, Option<usize>> = HashMap::from_iter([(start, None)]);
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
        let mut path = Vec::new();
        let mut state = target;
        while let Some(Some(step)) = last.get(&state) {
            path.push(*step);
            state = own[*step].0;
        }
        made.extend(path.into_iter().rev());
    }
    made.into_iter().map(|index| own[index].1).collect()
}
