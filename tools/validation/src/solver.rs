//! Questions to the solver, with what has been answered before; and to the second one, which must agree.

use std::collections::HashMap;
use std::time::Duration;

use smt::{Answer, Options, Second, Session, SmtError};

use crate::term::evaluate::Model;
use crate::term::print::{question, Question};
use crate::term::Term;

/// Steps that a question may take, and the procedure for those that are still open then, in a session without cores: what is read
/// from memory it takes as results of functions, and bit by bit only what is left.
const STEPS: u64 = 40_000_000;
const SPARE: &str = "(then simplify bvarray2uf qfufbv_ackr)";

/// What stops the validation of a function.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Trouble {
    #[error("the questions to the solver for this function are used up")]
    Spent,
    #[error("the solver has no answer to a question")]
    Unknown,
    #[error("the second solver has no answer to a question that z3 has decided")]
    SecondUnknown,
    #[error(
        "the solvers disagree: z3 says that something cannot be, the second solver that it can; the question:\n{0}"
    )]
    Disagreement(String),
    #[error("{0}")]
    Solver(String),
}

impl From<SmtError> for Trouble {
    fn from(error: SmtError) -> Trouble {
        Trouble::Solver(error.to_string())
    }
}

/// Whether conditions can hold together.
#[derive(Debug, Clone)]
pub enum Outcome {
    Never,
    /// With values for which they do, if they could be had and have been checked.
    Perhaps(Option<Model>),
}

pub struct Solver {
    session: Option<Session>,
    /// For questions that are still open then.
    spare: Option<Session>,
    options: Options,
    known: HashMap<Vec<Term>, Outcome>,
    /// How many questions a function may take: a limit that is the same on every machine.
    most: u64,
    pub queries: u64,
    /// What cannot be, as z3 says: the verdict on a function rests on it.
    never: Vec<Vec<Term>>,
}

impl Solver {
    pub fn new() -> Solver {
        let longest = Duration::from_secs(20);
        let options = Options { logic: "QF_AUFBV", steps: STEPS, longest, ..Options::default() };
        Solver { session: None, spare: None, options, known: HashMap::new(), most: 0, queries: 0, never: Vec::new() }
    }

    /// Forgets what belongs to another function.
    pub fn restart(&mut self, most: u64) {
        self.known.clear();
        self.most = most;
        self.queries = 0;
        self.never.clear();
    }

    pub fn is_spent(&self) -> bool {
        self.queries >= self.most
    }

    pub fn ask(&mut self, conditions: &[Term]) -> Result<Outcome, Trouble> {
        let mut key: Vec<Term> = conditions.iter().copied().filter(|one| !one.is_true()).collect();
        if key.iter().any(|one| one.is_false()) {
            return Ok(Outcome::Never);
        }
        key.sort();
        key.dedup();
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        if self.is_spent() {
            return Err(Trouble::Spent);
        }
        let outcome = self.solve(&key)?;
        if matches!(outcome, Outcome::Never) {
            self.never.push(key.clone());
        }
        self.known.insert(key, outcome.clone());
        Ok(outcome)
    }

    /// How often z3 has said since the restart that something cannot be.
    pub fn answers(&self) -> usize {
        self.never.len()
    }

    /// Asks the second solver about everything of which z3 has said since the restart that it cannot be.
    pub fn confirm(&self, second: &mut Second) -> Result<(), Trouble> {
        for conditions in &self.never {
            let asked = question(conditions);
            match second.check(&asked.text)? {
                Answer::Unsat => {}
                Answer::Sat => return Err(Trouble::Disagreement(asked.text)),
                Answer::Unknown => return Err(Trouble::SecondUnknown),
            }
        }
        Ok(())
    }

    fn solve(&mut self, conditions: &[Term]) -> Result<Outcome, Trouble> {
        self.queries += 1;
        let asked = question(conditions);
        let mut session = self.opened(false)?;
        session.tell(&asked.text)?;
        let outcome = match session.check()? {
            Answer::Unknown => None,
            answer => Some(outcome_of(answer, &mut session, &asked, conditions)?),
        };
        self.session = Some(session);
        if let Some(outcome) = outcome {
            return Ok(outcome);
        }
        let mut session = self.opened(true)?;
        session.tell(&asked.text)?;
        let answer = session.check_using(SPARE)?;
        let outcome = outcome_of(answer, &mut session, &asked, conditions);
        self.spare = Some(session);
        outcome
    }

    /// The session for the next question, or the spare one.
    fn opened(&mut self, is_spare: bool) -> Result<Session, Trouble> {
        let options = Options { cores: !is_spare, ..self.options.clone() };
        let known = if is_spare { self.spare.take() } else { self.session.take() };
        let mut session = match known {
            Some(session) if !session.is_lost() => session,
            _ => Session::start(&options)?,
        };
        session.begin(&options)?;
        Ok(session)
    }
}

/// What an answer means.
fn outcome_of(
    answer: Answer,
    session: &mut Session,
    asked: &Question,
    conditions: &[Term],
) -> Result<Outcome, Trouble> {
    match answer {
        Answer::Unsat => Ok(Outcome::Never),
        Answer::Unknown => Err(Trouble::Unknown),
        Answer::Sat => {
            let mut names: Vec<String> = asked.variables.iter().map(|(_, name)| name.clone()).collect();
            for (_, index, element) in &asked.elements {
                names.extend([index.clone(), element.clone()]);
            }
            let values = if names.is_empty() { Vec::new() } else { session.values(&names)? };
            let mut model = Model::default();
            for ((term, _), value) in asked.variables.iter().zip(&values) {
                model.variables.insert(*term, *value);
            }
            let elements = values.get(asked.variables.len()..).unwrap_or_default().chunks_exact(2);
            for ((array, _, _), pair) in asked.elements.iter().zip(elements) {
                model.elements.insert((*array, pair[0]), pair[1]);
            }
            let fits = values.len() == names.len() && conditions.iter().all(|one| model.holds(*one));
            Ok(Outcome::Perhaps(fits.then_some(model)))
        }
    }
}

/// What is known on a path: conditions that hold, and values for which they do.
#[derive(Debug, Clone, Default)]
pub struct Path {
    pub conditions: Vec<Term>,
    models: Vec<Model>,
}

impl Path {
    pub fn of(conditions: Vec<Term>) -> Path {
        let mut path = Path::default();
        conditions.into_iter().for_each(|one| path.assume(one));
        path
    }

    /// What holds together is kept apart: each part by itself may outlive what the others speak of.
    pub fn assume(&mut self, condition: Term) {
        for part in crate::term::conjuncts(condition) {
            if !part.is_true() && !self.conditions.contains(&part) {
                self.models.retain(|model| model.holds(part));
                self.conditions.push(part);
            }
        }
    }

    /// One of these paths, which begin with this one, is taken.
    pub fn assume_some<'p>(&mut self, paths: impl Iterator<Item = &'p Path>) {
        let mut some = crate::term::constant(0, 1);
        for path in paths {
            let more = path.conditions.iter().filter(|one| !self.conditions.contains(one));
            let all = more.fold(crate::term::constant(1, 1), |all, one| crate::term::build::and(all, *one));
            some = crate::term::build::or(some, all);
        }
        self.assume(some);
    }

    /// The same with other terms in the place of what it has decided, and with what it has decided.
    pub fn rewritten(&mut self, decided: Term, rewrite: &mut dyn FnMut(Term) -> Term) {
        let before = std::mem::take(&mut self.conditions);
        let models = std::mem::take(&mut self.models);
        before.into_iter().for_each(|one| self.assume(rewrite(one)));
        self.assume(decided);
        self.models = models;
    }

    pub fn replace(&mut self, conditions: Vec<Term>) {
        self.conditions = conditions;
    }

    /// False only if the condition cannot hold here.
    pub fn may(&mut self, condition: Term, solver: &mut Solver) -> Result<bool, Trouble> {
        if condition.is_false() {
            return Ok(false);
        }
        if self.models.iter().any(|model| model.holds(condition)) {
            return Ok(true);
        }
        let mut all = self.conditions.clone();
        all.push(condition);
        match solver.ask(&all)? {
            Outcome::Never => Ok(false),
            Outcome::Perhaps(model) => {
                if let Some(model) = model {
                    self.models.insert(0, model);
                    self.models.truncate(4);
                }
                Ok(true)
            }
        }
    }

    /// True only if the condition holds here always.
    pub fn always(&mut self, condition: Term, solver: &mut Solver) -> Result<bool, Trouble> {
        if condition.is_true() {
            return Ok(true);
        }
        Ok(!self.may(crate::term::build::not(condition), solver)?)
    }

    /// Values for which all conditions hold; none if there are none, or none were found.
    pub fn model(&mut self, solver: &mut Solver) -> Result<Option<Model>, Trouble> {
        if self.models.is_empty() {
            self.may(crate::term::constant(1, 1), solver)?;
        }
        Ok(self.models.first().cloned())
    }
}
