//! Prepares the program for exploration: summarises loops without messages; liveness needs a node behind each message.

use crate::check::Shared;
use crate::cpu_time::Clock;
use crate::expr::Var;
use crate::hash::HashSet;
use crate::loops::ranking::{analyse, ending, Ending, Known, Loop};
use crate::loops::summary::{summarise, Summarised};
use crate::program::{Edge, Message, Op, Program, Step};
use crate::rules::component::{Component, Protocols};
use crate::rules::safety::Context;
use crate::solver::{Solver, SolverError};
use std::collections::BTreeSet;
use std::time::Duration;

/// Prepares programs; caches which loops terminate.
pub struct Preparer<'a> {
    program: &'a Program,
    protocols: &'a Protocols,
    /// The requests that are counted.
    counted: Vec<Component>,
    loops: Vec<Loop>,
    known: Known,
}

pub struct Prepared {
    pub summarised: Summarised,
    /// For liveness, once it was asked for.
    fine: Option<(Program, Vec<Ending>)>,
}

impl<'a> Preparer<'a> {
    pub fn new(program: &'a Program, protocols: &'a Protocols, solver: &mut Solver) -> Result<Self, SolverError> {
        let mut known = Known::default();
        let loops = analyse(program, solver, &mut known)?;
        let counted = (0..protocols.all.len()).flat_map(|protocol| protocols.requests(protocol)).collect();
        Ok(Preparer { program, protocols, counted, loops, known })
    }

    pub fn program(&self) -> &Program {
        self.program
    }

    /// Whether the program has several clients.
    pub fn has_clients(&self) -> bool {
        self.program.client.is_some()
    }

    /// Heads of loops that change what the program's hints speak of: their summaries would be too coarse.
    pub fn hinted(&self) -> BTreeSet<usize> {
        let vars: HashSet<Var> = self.program.hints.iter().flat_map(|hint| hint.vars().to_vec()).collect();
        let live = self.program.live();
        let mut found = BTreeSet::new();
        let mut work: Vec<&Loop> = self.loops.iter().collect();
        while let Some(one) = work.pop() {
            work.extend(&one.inner);
            let inside = |edge: &&Edge| one.nodes.contains(&edge.from) && one.nodes.contains(&edge.to);
            let steps = self.program.edges.iter().filter(inside).flat_map(|edge| &edge.steps);
            // What each iteration sets anew, and nothing reads behind the loop, is lost anyway.
            let leaves = |edge: &&Edge| one.nodes.contains(&edge.from) && !one.nodes.contains(&edge.to);
            let mut outside: HashSet<Var> = live[one.head].clone();
            outside.extend(self.program.edges.iter().filter(leaves).flat_map(|edge| live[edge.to].iter().copied()));
            let matters = |var: &Var| vars.contains(var) && outside.contains(var);
            let changes = |step: &Step| matches!(&step.op, Op::Assign(var, _) | Op::Havoc(var) if matters(var));
            if steps.into_iter().any(changes) {
                found.insert(one.head);
            }
        }
        found
    }

    /// Whether a message leaves its protocol's state alone wherever it is enabled, and the number of open requests, too.
    fn is_idle(&self, message: Message) -> bool {
        let states = &self.protocols.automaton(message.0).states;
        let stays = states.iter().enumerate().all(|(state, own)| own.next[message.1].is_none_or(|next| next == state));
        stays && self.counted.iter().all(|component| component.leaves_alone(message))
    }

    /// The program with summaries, but for the loops whose heads are `kept`; finer ones of those that are `split`.
    pub fn prepare(&self, kept: &BTreeSet<usize>, split: &BTreeSet<usize>) -> Prepared {
        let summarised = summarise(self.program, &self.loops, &|message| self.is_idle(message), kept, split);
        Prepared { summarised, fine: None }
    }

    /// The program for liveness, which looks at single messages: its graph has a node behind each that matters.
    fn fine(&mut self, prepared: &Prepared, solver: &mut Solver) -> Result<(Program, Vec<Ending>), SolverError> {
        let fine = prepared.summarised.program.split(&|message| self.is_idle(message));
        let ending = ending(&analyse(&fine, solver, &mut self.known)?);
        Ok((fine, ending))
    }

    pub(crate) fn safety<'b>(
        &'b self,
        prepared: &'b Prepared,
        shared: &'b Shared,
        limit: Option<(Clock, Duration)>,
    ) -> Context<'b> {
        Context {
            program: &prepared.summarised.program,
            base: self.program,
            summarised: &prepared.summarised,
            protocols: self.protocols,
            seed: shared.options.seed,
            limit,
            ending: &[],
        }
    }

    pub(crate) fn liveness<'b>(
        &'b mut self,
        prepared: &'b mut Prepared,
        solver: &mut Solver,
        shared: &'b Shared,
        limit: Option<(Clock, Duration)>,
    ) -> Result<Context<'b>, SolverError> {
        if prepared.fine.is_none() {
            prepared.fine = Some(self.fine(prepared, solver)?);
        }
        let context = self.safety(prepared, shared, limit);
        Ok(match &prepared.fine {
            Some((fine, ending)) => Context { program: fine, ending, ..context },
            None => context,
        })
    }
}
