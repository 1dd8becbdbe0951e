//! The abstract state space: node of the program, states of the components, valuation of the predicates.
//!
//! Messages change only the components, other operations only the valuation. Both are numbered, and the effect of an edge on
//! each is computed once.

use crate::abstraction::predicates::{Abstraction, Known};
use crate::hash::HashMap;
use crate::program::{Message, Op, Program, Step};
use crate::rules::component::{Component, Next};
use crate::solver::{Solver, SolverError};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Stands for all states of a component that are not tracked.
pub const REST: u16 = u16::MAX;

/// The abstraction, which refinement extends.
pub struct Space {
    pub components: Vec<Component>,
    /// By component and state: whether the predicate `state == s` is there.
    pub tracked: Vec<Vec<bool>>,
    pub abstraction: Abstraction,
    pub seed: bool,
    /// Where the path ends that was looked at last; of a run without end, what it repeats.
    pub end: Option<Step>,
}

#[derive(Debug, Clone, Copy)]
pub struct State {
    pub node: u32,
    /// Number of the components' states.
    pub states: u32,
    known: Known,
}

/// How a state was reached: its predecessor and the edge of the program.
pub type Parent = Option<(u32, u32)>;

#[derive(Default)]
pub struct Graph {
    pub states: Vec<State>,
    pub parents: Vec<Parent>,
    /// Steps of the abstract program: from, edge of the program, to. Kept only if asked for.
    pub moves: Vec<(u32, u32, u32)>,
    /// The components' states, by number.
    pub vectors: Vec<Rc<[u16]>>,
}

pub enum Found {
    Nothing(Graph),
    /// Edges of the program from its start, and the number of the step in the last one.
    Error(Vec<usize>, usize),
    TooMuch,
}

/// The effect of an edge's messages on the components.
enum Pass {
    /// The step that is wrong, and whether it was reached is for the abstraction to say; otherwise where it leads.
    Error(usize),
    To(Vec<u32>),
}

/// The components' states, numbered.
#[derive(Default)]
struct Vectors {
    numbers: HashMap<Rc<[u16]>, u32>,
    all: Vec<Rc<[u16]>>,
}

impl Vectors {
    fn number(&mut self, vector: Vec<u16>) -> u32 {
        let vector: Rc<[u16]> = vector.into();
        if let Some(known) = self.numbers.get(&vector) {
            return *known;
        }
        let fresh = self.all.len() as u32;
        self.all.push(vector.clone());
        self.numbers.insert(vector, fresh);
        fresh
    }
}

impl Space {
    pub fn new(program: &Program, components: Vec<Component>, seed: bool) -> Self {
        let abstraction = Abstraction::new(program);
        let mut space = Space { components: Vec::new(), tracked: Vec::new(), abstraction, seed, end: None };
        for hint in program.hints.iter().chain(&program.turns) {
            space.abstraction.add(*hint);
        }
        components.into_iter().for_each(|one| space.add(one));
        space
    }

    pub fn add(&mut self, component: Component) {
        self.tracked.push(vec![self.seed; component.automaton.states.len()]);
        self.components.push(component);
    }

    pub fn has(&self, protocol: usize, part: usize) -> bool {
        self.components.iter().any(|one| one.protocol == protocol && one.part == part)
    }

    /// The abstract state of a component's state.
    pub fn abstracted(&self, component: usize, state: usize) -> u16 {
        match u16::try_from(state) {
            Ok(own) if own != REST && self.tracked[component][state] => own,
            _ => REST,
        }
    }

    /// The component states that an abstract one stands for.
    pub fn concrete(&self, component: usize, state: u16) -> Vec<usize> {
        if state != REST {
            return vec![usize::from(state)];
        }
        (0..self.tracked[component].len()).filter(|state| self.abstracted(component, *state) == REST).collect()
    }

    /// The component states after a message; none if no state enables it.
    fn after(&self, states: &[u16], message: Message) -> Vec<Vec<u16>> {
        let mut all = vec![states.to_vec()];
        for (index, component) in self.components.iter().enumerate() {
            if !component.concerns(message) {
                continue;
            }
            let mut next: BTreeSet<u16> = BTreeSet::new();
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

    /// The effect of an edge's reachable steps on the components.
    fn pass(
        &self,
        vectors: &mut Vectors,
        from: u32,
        steps: &[crate::program::Step],
        is_error: &dyn Fn(&Space, &[u16], &Op) -> bool,
    ) -> Pass {
        let mut now = vec![vectors.all[from as usize].to_vec()];
        for (number, step) in steps.iter().enumerate() {
            if now.iter().any(|states| is_error(self, states, &step.op)) {
                return Pass::Error(number);
            }
            if let Op::Emit(message) | Op::Receive(message) = &step.op {
                now = now.iter().flat_map(|states| self.after(states, *message)).collect();
                now.sort_unstable();
                now.dedup();
            }
        }
        Pass::To(now.into_iter().map(|states| vectors.number(states)).collect())
    }

    /// Explores breadth first, until `is_error` holds before a step; it never does before one that only changes or tests
    /// variables.
    pub fn explore(
        &mut self,
        program: &Program,
        solver: &mut Solver,
        limit: usize,
        keep_moves: bool,
        is_error: &dyn Fn(&Space, &[u16], &Op) -> bool,
    ) -> Result<Found, SolverError> {
        let out = program.leaving();
        let mut vectors = Vectors::default();
        let first = State {
            node: program.entry as u32,
            states: vectors.number((0..self.components.len()).map(|one| self.abstracted(one, 0)).collect()),
            known: self.abstraction.nothing(program.entry),
        };
        // A valuation is of one node.
        let key = |known: Known, states: u32| u64::from(known) << 32 | u64::from(states);
        let mut numbers: HashMap<u64, u32> = HashMap::from_iter([(key(first.known, first.states), 0)]);
        let is_quiet = |op: &Op| matches!(op, Op::Assign(..) | Op::Havoc(_) | Op::Assume(_) | Op::Show(_));
        let quiet: Vec<bool> =
            program.edges.iter().map(|edge| edge.steps.iter().all(|step| is_quiet(&step.op))).collect();
        // By edge, states before, and steps that can be reached.
        let mut passes: HashMap<(u32, u32, u32), Pass> = HashMap::default();
        let mut graph = Graph { states: vec![first], parents: vec![None], ..Graph::default() };
        let mut at = 0;
        while at < graph.states.len() {
            let state = graph.states[at];
            for &edge in &out[state.node as usize] {
                let own = &program.edges[edge];
                let post = self.abstraction.post(solver, program, edge, state.known)?;
                let to = if quiet[edge] {
                    std::slice::from_ref(&state.states)
                } else {
                    let pass = passes
                        .entry((edge as u32, state.states, post.reached as u32))
                        .or_insert_with(|| self.pass(&mut vectors, state.states, &own.steps[..post.reached], is_error));
                    match pass {
                        Pass::Error(number) => {
                            let mut path = graph.path(at);
                            path.push(edge);
                            return Ok(Found::Error(path, *number));
                        }
                        Pass::To(to) => to,
                    }
                };
                for known in &post.after {
                    for states in to {
                        let fresh = graph.states.len() as u32;
                        let number = *numbers.entry(key(*known, *states)).or_insert(fresh);
                        let state = State { node: own.to as u32, states: *states, known: *known };
                        if number == fresh {
                            graph.states.push(state);
                            graph.parents.push(Some((at as u32, edge as u32)));
                        }
                        if keep_moves {
                            graph.moves.push((at as u32, edge as u32, number));
                        }
                    }
                }
                if graph.states.len() > limit {
                    return Ok(Found::TooMuch);
                }
            }
            at += 1;
        }
        graph.vectors = vectors.all;
        Ok(Found::Nothing(graph))
    }
}

impl Graph {
    /// Edges of the program that lead to a state.
    pub fn path(&self, state: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut parent = self.parents[state];
        while let Some((before, edge)) = parent {
            path.push(edge as usize);
            parent = self.parents[before as usize];
        }
        path.reverse();
        path
    }

    pub fn node(&self, state: usize) -> usize {
        self.states[state].node as usize
    }

    /// The components' states.
    pub fn states_of(&self, state: usize) -> &[u16] {
        &self.vectors[self.states[state].states as usize]
    }
}
