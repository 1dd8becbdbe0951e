//! Symbolic execution of one run of the program. Any suffix of it can be undone.

use crate::expr::{self, Expr, Node, Op as Operation, Var};
use crate::hash::HashSet;
use crate::program::{Op, Program, Step};
use crate::solver::{Answer, Solver, SolverError};
use std::ops::Range;

pub struct Run<'a> {
    pub base: &'a Program,
    /// Edges that leave each node.
    pub out: Vec<Vec<usize>>,
    pub steps: Vec<&'a Step>,
    /// The path condition: what must hold, and the step that requires it.
    pub conditions: Vec<(Expr, usize)>,
    /// The values of the variables of assumptions that the trace shows.
    pub read: Vec<(usize, Vec<(Var, Expr)>)>,
    pub is_shown: bool,
    values: Vec<Option<Expr>>,
    /// The previous value of each changed variable, for undo.
    journal: Vec<(Var, Option<Expr>)>,
    /// The conjuncts of the path condition.
    facts: HashSet<Expr>,
    learnt: Vec<Expr>,
    fresh: Var,
    /// Values of what the model does not follow: see [`crate::program::Variable::is_guess`].
    guesses: Vec<Var>,
}

/// A moment of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mark {
    pub steps: usize,
    pub conditions: usize,
    pub fresh: Var,
    journal: usize,
    read: usize,
    learnt: usize,
}

impl<'a> Run<'a> {
    pub fn new(base: &'a Program) -> Self {
        Run {
            base,
            out: base.leaving(),
            steps: Vec::new(),
            conditions: Vec::new(),
            read: Vec::new(),
            is_shown: true,
            values: vec![None; base.vars.len()],
            journal: Vec::new(),
            facts: HashSet::default(),
            learnt: Vec::new(),
            fresh: base.vars.len() as Var,
            guesses: Vec::new(),
        }
    }

    /// The moment before the first step.
    pub fn start(&self) -> Mark {
        Mark { fresh: self.base.vars.len() as Var, ..Mark::default() }
    }

    pub fn mark(&self) -> Mark {
        Mark {
            steps: self.steps.len(),
            conditions: self.conditions.len(),
            fresh: self.fresh,
            journal: self.journal.len(),
            read: self.read.len(),
            learnt: self.learnt.len(),
        }
    }

    /// Undoes everything after a moment.
    pub fn undo(&mut self, mark: Mark) {
        for (var, value) in self.journal.drain(mark.journal..).rev() {
            self.values[var as usize] = value;
        }
        for fact in self.learnt.drain(mark.learnt..) {
            self.facts.remove(&fact);
        }
        self.steps.truncate(mark.steps);
        self.conditions.truncate(mark.conditions);
        self.read.truncate(mark.read);
        self.fresh = mark.fresh;
        self.guesses.retain(|guess| *guess < mark.fresh);
    }

    /// Whether the run rests on what a value is that the model does not follow: the program may not be able to take it.
    pub fn rests_on_guess(&self) -> bool {
        let is_guess = |var: &Var| self.guesses.binary_search(var).is_ok();
        self.conditions.iter().any(|(condition, _)| condition.vars().iter().any(is_guess))
    }

    /// A fresh symbolic value.
    pub fn open(&mut self, bits: u32) -> Expr {
        self.fresh += 1;
        expr::var(self.fresh - 1, bits)
    }

    pub fn value(&self, of: Expr) -> Expr {
        of.replace(&|var| *self.values.get(var as usize)?)
    }

    pub fn value_of(&self, var: Var) -> Expr {
        self.values[var as usize].unwrap_or_else(|| self.unknown(var))
    }

    /// The value of a variable at the start.
    fn unknown(&self, var: Var) -> Expr {
        expr::var(var, self.base.vars[var as usize].bits)
    }

    /// The value of a variable at an earlier moment.
    pub fn value_at(&self, mark: Mark, var: Var) -> Expr {
        match self.journal[mark.journal..].iter().find(|(own, _)| *own == var) {
            Some((_, before)) => before.unwrap_or_else(|| self.unknown(var)),
            None => self.value_of(var),
        }
    }

    pub fn set(&mut self, var: Var, value: Expr) {
        let before = self.values[var as usize].replace(value);
        self.journal.push((var, before));
    }

    /// Variables that were set after a moment.
    pub fn changed(&self, mark: Mark) -> Vec<Var> {
        let mut vars: Vec<Var> = self.journal[mark.journal..].iter().map(|(var, _)| *var).collect();
        vars.sort_unstable();
        vars.dedup();
        vars
    }

    /// Executes the steps of an edge, unless a known condition contradicts them; then nothing changes.
    pub fn along(&mut self, edge: usize, steps: Range<usize>) -> bool {
        let mark = self.mark();
        let all = &self.base.edges[edge].steps;
        for step in &all[steps.start.min(all.len())..steps.end.min(all.len())] {
            match &step.op {
                Op::Assign(var, value) => {
                    let value = self.value(*value);
                    self.set(*var, value);
                }
                Op::Havoc(var) => {
                    if self.base.vars[*var as usize].is_guess {
                        self.guesses.push(self.fresh);
                    }
                    let value = self.open(self.base.vars[*var as usize].bits);
                    self.set(*var, value);
                }
                Op::Assume(condition) => {
                    let value = self.value(*condition);
                    match self.known(value) {
                        Some(true) => {}
                        Some(false) => {
                            self.undo(mark);
                            return false;
                        }
                        None => {
                            self.conditions.push((value, self.steps.len()));
                            self.learn(value);
                        }
                    }
                    if self.is_shown {
                        let values = condition.vars().iter().map(|var| (*var, self.value_of(*var))).collect();
                        self.read.push((self.steps.len(), values));
                    }
                }
                Op::Show(value) => {
                    let value = self.value(*value);
                    self.read.push((self.steps.len(), vec![(Var::MAX, value)]));
                }
                _ => {}
            }
            self.steps.push(step);
        }
        true
    }

    /// Whether the conditions since a moment are satisfiable, together with all that share variables with them.
    pub fn is_possible(&self, solver: &mut Solver, since: Mark) -> Result<bool, SolverError> {
        if self.conditions.len() == since.conditions {
            return Ok(true);
        }
        let (before, fresh) = self.conditions.split_at(since.conditions);
        let mut asked: Vec<Expr> = fresh.iter().map(|(condition, _)| *condition).collect();
        let mut vars: HashSet<Var> = asked.iter().flat_map(|condition| condition.vars().to_vec()).collect();
        let mut left: Vec<Expr> = before.iter().map(|(condition, _)| *condition).collect();
        loop {
            let (near, far): (Vec<Expr>, Vec<Expr>) =
                left.into_iter().partition(|condition| condition.vars().iter().any(|var| vars.contains(var)));
            if near.is_empty() {
                break;
            }
            vars.extend(near.iter().flat_map(|condition| condition.vars().to_vec()));
            asked.extend(near);
            left = far;
        }
        Ok(!matches!(solver.check(&asked, false, false)?, Answer::Unsat(_)))
    }

    /// A truth value that follows from a known condition by propositional reasoning alone.
    fn known(&self, value: Expr) -> Option<bool> {
        if let Some(value) = value.value() {
            return Some(value == 1);
        }
        if self.facts.contains(&value) {
            return Some(true);
        }
        match value.node() {
            Node::Not(a) => self.known(a).map(|one| !one),
            _ if self.facts.contains(&expr::not(value)) => Some(false),
            Node::Binary(Operation::And, a, b) => match (self.known(a), self.known(b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Node::Binary(Operation::Or, a, b) => match (self.known(a), self.known(b)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    fn learn(&mut self, value: Expr) {
        if value.value().is_some() || !self.facts.insert(value) {
            return;
        }
        self.learnt.push(value);
        match value.node() {
            Node::Binary(Operation::And, a, b) => {
                self.learn(a);
                self.learn(b);
            }
            Node::Not(inner) => {
                if let Node::Binary(Operation::Or, a, b) = inner.node() {
                    self.learn(expr::not(a));
                    self.learn(expr::not(b));
                }
            }
            _ => {}
        }
    }
}
