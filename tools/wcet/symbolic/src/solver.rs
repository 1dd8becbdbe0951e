//! Questions about terms, asked of the solver.
//!
//! Each question has a limit in the solver's own steps, so that answers are the same on every machine. A question over its
//! limit, and every question to a solver that had to be killed, is answered by [`Answer::Undecided`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use smt::{Options, Session};

use crate::print::{definition, name};
use crate::term::{Shape, Term, Terms};

pub use smt::SmtError as SolverError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Satisfiable,
    /// Positions of assumptions that cannot hold together; not necessarily the fewest.
    Unsatisfiable(Vec<usize>),
    Undecided,
}

#[derive(Debug)]
pub struct Solver {
    session: Session,
    defined: HashSet<Term>,
    /// Assumptions that the solver has a name for.
    assumptions: HashSet<Term>,
    /// Steps taken by the end of the last question; and for what takes time without being counted as steps.
    spent: u64,
    uncounted: u64,
    pub questions: u64,
}

/// What one question may cost, in the solver's own steps: some seconds.
pub const LIMIT: u64 = 30_000_000;

impl Solver {
    pub fn start() -> Result<Solver, SolverError> {
        let session = Session::start(&Options { steps: LIMIT, ..Options::default() })?;
        let (defined, assumptions) = (HashSet::new(), HashSet::new());
        Ok(Solver { session, defined, assumptions, spent: 0, uncounted: 0, questions: 0 })
    }

    /// Kills the solver at that time, if it is at work then: what it has not answered is undecided.
    pub fn until(&mut self, deadline: Option<Instant>) {
        self.session.until(deadline);
    }

    /// What each question may cost from now on.
    pub fn limit(&mut self, steps: u64) -> Result<(), SolverError> {
        self.session.limit(steps)
    }

    /// Tells the solver about a term, so that the next assignment gives values to its leaves.
    pub fn mention(&mut self, terms: &Terms, term: Term) -> Result<(), SolverError> {
        self.define(terms, term)
    }

    /// Tells the solver the terms of which this one is made.
    fn define(&mut self, terms: &Terms, root: Term) -> Result<(), SolverError> {
        let mut open = vec![root];
        let mut found = Vec::new();
        while let Some(term) = open.pop() {
            if self.defined.insert(term) {
                found.push(term);
                open.extend(terms.shape(term).parts());
            }
        }
        found.sort();
        for term in found {
            if let Some(line) = definition(terms, term) {
                self.session.tell(&line)?;
            }
        }
        Ok(())
    }

    /// Takes it for true from now on.
    pub fn assert(&mut self, terms: &Terms, term: Term) -> Result<(), SolverError> {
        self.define(terms, term)?;
        self.session.tell(&format!("(assert {})", name(terms, term)))
    }

    /// Whether all assumptions, and what was asserted, can hold together.
    pub fn check(&mut self, terms: &Terms, assumptions: &[Term]) -> Result<Answer, SolverError> {
        self.questions += 1;
        if self.session.is_lost() {
            return Ok(Answer::Undecided);
        }
        let mut position = HashMap::new();
        let mut names = Vec::new();
        for (index, term) in assumptions.iter().enumerate() {
            if *term == Terms::FALSE {
                return Ok(Answer::Unsatisfiable(vec![index]));
            }
            let name_of = format!("a{}", term.index());
            if self.assumptions.insert(*term) {
                self.define(terms, *term)?;
                self.session.tell(&format!("(declare-const {name_of} Bool)"))?;
                self.session.tell(&format!("(assert (=> {name_of} {}))", name(terms, *term)))?;
            }
            position.insert(name_of.clone(), index);
            names.push(name_of);
        }
        let answer = match self.session.check_assuming(&names)? {
            smt::Answer::Sat => Answer::Satisfiable,
            smt::Answer::Unsat => {
                let core = self.session.core()?;
                let mut core: Vec<usize> = core.iter().filter_map(|name| position.get(name).copied()).collect();
                core.sort_unstable();
                Answer::Unsatisfiable(core)
            }
            smt::Answer::Unknown => Answer::Undecided,
        };
        self.count()?;
        Ok(answer)
    }

    /// How many terms it was told.
    pub fn told(&self) -> usize {
        self.defined.len()
    }

    /// Steps that all questions together have taken, with what looking through all that was told takes each time.
    pub fn spent(&self) -> u64 {
        self.spent + self.uncounted
    }

    fn count(&mut self) -> Result<(), SolverError> {
        self.uncounted += FOR_A_TERM * self.defined.len() as u64;
        self.spent = self.session.steps()?.unwrap_or(self.spent).max(self.spent);
        Ok(())
    }

    /// The values of leaves in the assignment just found; leaves the question did not mention are left out.
    pub fn model(&mut self, terms: &Terms, roots: &[Term]) -> Result<BTreeMap<u32, u128>, SolverError> {
        let asked = |term: &Term| self.defined.contains(term) && terms.width(*term) <= 128;
        let leaves = terms.cone(roots).into_iter().filter(asked).filter_map(|term| match terms.shape(term) {
            Shape::Leaf(leaf) => Some((leaf, name(terms, term))),
            _ => None,
        });
        let (leaves, names): (Vec<u32>, Vec<String>) = leaves.unzip();
        Ok(leaves.into_iter().zip(self.session.values(&names)?).collect())
    }
}

/// Steps that a term which was told counts for in each question.
const FOR_A_TERM: u64 = 20;
