//! The abstract state space: node of the program, states of the components, what is known of the predicates.

use crate::abstraction::{Abstraction, Valuation};
use crate::component::{Component, Next};
use crate::program::{Message, Op, Program};
use crate::solver::{Solver, SolverError};
use std::collections::{BTreeSet, HashMap};

/// Stands for all states of a component that are not tracked.
pub const REST: u8 = u8::MAX;

/// What the abstraction consists of, which refinement adds to.
pub struct Space {
    pub components: Vec<Component>,
    /// By component and state: whether the predicate `state == s` is there.
    pub tracked: Vec<Vec<bool>>,
    pub abstraction: Abstraction,
    pub seed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub node: usize,
    pub states: Vec<u8>,
    pub valuation: Valuation,
}

/// How a state was reached: from which one, by which edge of the program.
pub type Way = Option<(usize, usize)>;

#[derive(Default)]
pub struct Graph {
    pub states: Vec<State>,
    pub ways: Vec<Way>,
    /// Steps of the abstract program: from, edge of the program, to. Kept only if asked for.
    pub moves: Vec<(usize, usize, usize)>,
}

pub enum Found {
    Nothing(Graph),
    /// Edges of the program from its start, and the number of the step in the last one.
    Error(Vec<usize>, usize),
    TooMuch,
}

impl Space {
    pub fn new(program: &Program, components: Vec<Component>, seed: bool) -> Self {
        let mut space =
            Space { components: Vec::new(), tracked: Vec::new(), abstraction: Abstraction::new(program), seed };
        components.into_iter().for_each(|one| space.add(one));
        space
    }

    pub fn add(&mut self, component: Component) {
        let few = component.automaton.states.len() < usize::from(REST);
        self.tracked.push(vec![self.seed && few; component.automaton.states.len()]);
        self.components.push(component);
    }

    pub fn has(&self, protocol: usize, part: usize) -> bool {
        self.components.iter().any(|one| one.protocol == protocol && one.part == part)
    }

    /// What stands for a state.
    pub fn abstracted(&self, component: usize, state: usize) -> u8 {
        if self.tracked[component][state] {
            state as u8
        } else {
            REST
        }
    }

    /// The states that are stood for.
    pub fn concrete(&self, component: usize, state: u8) -> Vec<usize> {
        if state != REST {
            return vec![usize::from(state)];
        }
        (0..self.tracked[component].len()).filter(|state| !self.tracked[component][*state]).collect()
    }

    pub fn first(&self, program: &Program) -> State {
        State {
            node: program.entry,
            states: (0..self.components.len()).map(|one| self.abstracted(one, 0)).collect(),
            valuation: vec![0; self.abstraction.predicates.len()],
        }
    }

    /// All states after a message; none if no component state allows it.
    fn after(&self, states: &[u8], message: Message) -> Vec<Vec<u8>> {
        let mut all = vec![states.to_vec()];
        for (index, component) in self.components.iter().enumerate() {
            if !component.concerns(message) {
                continue;
            }
            let mut next: BTreeSet<u8> = BTreeSet::new();
            for state in self.concrete(index, states[index]) {
                if let Next::To(to) = component.next(state, message) {
                    next.insert(self.abstracted(index, to));
                }
            }
            all = all
                .into_iter()
                .flat_map(|before| {
                    next.iter().map(move |to| {
                        let mut after = before.clone();
                        after[index] = *to;
                        after
                    })
                })
                .collect();
        }
        all
    }

    /// What a step of the program makes of a state.
    pub fn step(
        &mut self,
        solver: &mut Solver,
        states: Vec<u8>,
        valuation: Valuation,
        op: &Op,
    ) -> Result<Vec<(Vec<u8>, Valuation)>, SolverError> {
        match op {
            Op::Emit(message) | Op::Receive(message) => {
                Ok(self.after(&states, *message).into_iter().map(|after| (after, valuation.clone())).collect())
            }
            Op::Await(_) | Op::Return => Ok(vec![(states, valuation)]),
            _ => {
                let after = self.abstraction.step(solver, valuation, op)?;
                Ok(after.into_iter().map(|valuation| (states.clone(), valuation)).collect())
            }
        }
    }

    /// Explores breadth first, until `is_error` holds before a step.
    pub fn explore(
        &mut self,
        program: &Program,
        solver: &mut Solver,
        limit: usize,
        keep_moves: bool,
        is_error: &dyn Fn(&Space, &[u8], &Op) -> bool,
    ) -> Result<Found, SolverError> {
        let out = program.leaving();
        let first = self.first(program);
        let mut known: HashMap<State, usize> = HashMap::from([(first.clone(), 0)]);
        let mut graph = Graph { states: vec![first], ways: vec![None], moves: Vec::new() };
        let mut at = 0;
        while at < graph.states.len() {
            let state = graph.states[at].clone();
            for &edge in &out[state.node] {
                let mut now = vec![(state.states.clone(), state.valuation.clone())];
                for (number, step) in program.edges[edge].steps.iter().enumerate() {
                    let mut next = Vec::new();
                    for (states, valuation) in now {
                        if is_error(self, &states, &step.op) {
                            let mut path = graph.path(at);
                            path.push(edge);
                            return Ok(Found::Error(path, number));
                        }
                        next.extend(self.step(solver, states, valuation, &step.op)?);
                    }
                    next.sort_unstable();
                    next.dedup();
                    now = next;
                    if now.is_empty() {
                        break;
                    }
                }
                let node = program.edges[edge].to;
                for (states, mut valuation) in now {
                    self.abstraction.keep(node, &mut valuation);
                    let fresh = graph.states.len();
                    let to = *known.entry(State { node, states, valuation }).or_insert_with_key(|state| {
                        graph.states.push(state.clone());
                        graph.ways.push(Some((at, edge)));
                        fresh
                    });
                    if keep_moves {
                        graph.moves.push((at, edge, to));
                    }
                    if graph.states.len() > limit {
                        return Ok(Found::TooMuch);
                    }
                }
            }
            at += 1;
        }
        Ok(Found::Nothing(graph))
    }
}

impl Graph {
    /// Edges of the program that lead to a state.
    pub fn path(&self, state: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut way = self.ways[state];
        while let Some((before, edge)) = way {
            path.push(edge);
            way = self.ways[before];
        }
        path.reverse();
        path
    }
}
