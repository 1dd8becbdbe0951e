//! Questions about bit vectors, asked of z3.
//!
//! A solver that had to be killed answers `Unknown` to the question at which that happened; the next one gets a new solver.

use crate::expr::{Expr, Node, Op, Var};
use smt::{Options, Session};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;

pub use smt::SmtError as SolverError;

/// An answer with what supports it.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Values of the variables that were asked for.
    Sat(HashMap<Var, u64>),
    /// Indices of conditions that contradict each other.
    Unsat(Vec<usize>),
    Unknown,
}

/// Whether a truth value follows from what is known of others.
pub type Question = (Expr, Vec<(Expr, bool)>);

pub struct Solver {
    session: Session,
    pub questions: usize,
    /// Query cache: checks of one driver ask the same again and again.
    pub known: HashMap<Question, Option<bool>>,
    /// Answers about conditions, in order, and values with which some could hold together: most questions have such an
    /// answer already.
    answers: HashMap<Vec<Expr>, bool>,
    examples: VecDeque<Example>,
}

/// Values of variables, and of expressions that were computed with them.
#[derive(Default)]
struct Example {
    values: HashMap<Var, u64>,
    computed: HashMap<Expr, u64>,
}

/// How many examples are kept.
const EXAMPLES: usize = 128;

/// What one question may cost, in the solver's own steps: about a second.
const STEPS: u64 = 10_000_000;

fn session() -> Result<Session, SolverError> {
    Session::start(&Options { steps: STEPS, small_cores: true, ..Options::default() })
}

impl Solver {
    pub fn new() -> Result<Self, SolverError> {
        Ok(Solver {
            session: session()?,
            questions: 0,
            known: HashMap::new(),
            answers: HashMap::new(),
            examples: VecDeque::new(),
        })
    }

    pub fn process(&self) -> u32 {
        self.session.process()
    }

    /// Whether conditions can hold together; if the solver gives up, they can.
    pub fn can(&mut self, conditions: &[Expr]) -> Result<bool, SolverError> {
        let mut all: Vec<Expr> = conditions.iter().copied().filter(|one| !one.is_true()).collect();
        all.sort_unstable();
        all.dedup();
        if all.iter().any(|one| one.is_false()) {
            return Ok(false);
        }
        if let Some(answer) = self.answers.get(&all) {
            return Ok(*answer);
        }
        let shows = |example: &mut Example| all.iter().all(|one| example.value(*one) == 1);
        if let Some(index) = self.examples.iter_mut().position(shows) {
            // The ones that are of use stay longest.
            if let Some(example) = self.examples.remove(index) {
                self.examples.push_front(example);
            }
            return Ok(true);
        }
        let answer = match self.check(&all, true, false)? {
            Answer::Sat(values) => {
                self.examples.push_front(Example { values, ..Example::default() });
                self.examples.truncate(EXAMPLES);
                true
            }
            Answer::Unsat(_) => false,
            Answer::Unknown => true,
        };
        self.answers.insert(all, answer);
        Ok(answer)
    }

    /// Whether conditions can hold together. With `model`, values of all their variables.
    pub fn check(&mut self, conditions: &[Expr], model: bool, core: bool) -> Result<Answer, SolverError> {
        self.questions += 1;
        if self.session.is_lost() {
            self.session = session()?;
        }
        let mut vars: BTreeMap<Var, u32> = BTreeMap::new();
        let mut text = String::from("(push 1)\n");
        let mut printer = Printer::default();
        for condition in conditions {
            printer.expr(*condition, &mut vars);
        }
        for (var, bits) in &vars {
            let _ = writeln!(text, "(declare-const v{var} (_ BitVec {bits}))");
        }
        text.push_str(&printer.definitions);
        for (index, condition) in conditions.iter().enumerate() {
            let name = &printer.names[condition];
            if core {
                let _ = writeln!(text, "(assert (! (= {name} #b1) :named c{index}))");
            } else {
                let _ = writeln!(text, "(assert (= {name} #b1))");
            }
        }
        self.session.tell(&text)?;
        let answer = match self.session.check()? {
            smt::Answer::Sat if model => self.values(&vars)?,
            smt::Answer::Sat => Answer::Sat(HashMap::new()),
            smt::Answer::Unsat if core => {
                let names = self.session.core()?;
                Answer::Unsat(names.iter().filter_map(|name| name.strip_prefix('c')?.parse().ok()).collect())
            }
            smt::Answer::Unsat => Answer::Unsat(Vec::new()),
            smt::Answer::Unknown => Answer::Unknown,
        };
        self.session.tell("(pop 1)")?;
        Ok(answer)
    }

    fn values(&mut self, vars: &BTreeMap<Var, u32>) -> Result<Answer, SolverError> {
        let names: Vec<String> = vars.keys().map(|var| format!("v{var}")).collect();
        let values = self.session.values(&names)?;
        if values.len() < names.len() {
            return Ok(Answer::Unknown);
        }
        // No variable is wider than 64 bits.
        Ok(Answer::Sat(vars.keys().copied().zip(values.into_iter().map(|value| value as u64)).collect()))
    }
}

impl Example {
    fn value(&mut self, of: Expr) -> u64 {
        if let Some(known) = self.computed.get(&of) {
            return *known;
        }
        let bits = of.bits();
        let value = match of.node() {
            Node::Const { value, .. } => value,
            Node::Var { var, .. } => self.values.get(&var).copied().unwrap_or(0),
            Node::Not(a) => !self.value(a),
            Node::Binary(op, a, b) => crate::expr::compute(op, self.value(a), self.value(b), bits),
            Node::Compare(op, a, b) => u64::from(crate::expr::holds(op, self.value(a), self.value(b), a.bits())),
            Node::Choose(c, a, b) => {
                if self.value(c) == 1 {
                    self.value(a)
                } else {
                    self.value(b)
                }
            }
            Node::Zero(a, _) | Node::Cut(a, _) => self.value(a),
            Node::Sign(a, _) => {
                let value = self.value(a);
                crate::expr::sign_extend(crate::expr::constant(value, a.bits()), bits).value().unwrap_or(0)
            }
        };
        let value = value & crate::expr::mask(bits);
        self.computed.insert(of, value);
        value
    }
}

/// Expressions as definitions, so that shared parts are written once.
#[derive(Default)]
struct Printer {
    names: HashMap<Expr, String>,
    definitions: String,
}

impl Printer {
    fn expr(&mut self, expr: Expr, vars: &mut BTreeMap<Var, u32>) -> String {
        if let Some(name) = self.names.get(&expr) {
            return name.clone();
        }
        let text = match expr.node() {
            Node::Const { value, bits } => format!("(_ bv{value} {bits})"),
            Node::Var { var, bits } => {
                vars.insert(var, bits);
                format!("v{var}")
            }
            Node::Not(a) => format!("(bvnot {})", self.expr(a, vars)),
            Node::Binary(op, a, b) => format!("({} {} {})", name(op), self.expr(a, vars), self.expr(b, vars)),
            Node::Compare(op, a, b) => {
                let relation = match op {
                    crate::expr::Compare::Eq => "=",
                    crate::expr::Compare::ULt => "bvult",
                    crate::expr::Compare::SLt => "bvslt",
                };
                format!("(ite ({relation} {} {}) #b1 #b0)", self.expr(a, vars), self.expr(b, vars))
            }
            Node::Choose(c, a, b) => {
                format!("(ite (= {} #b1) {} {})", self.expr(c, vars), self.expr(a, vars), self.expr(b, vars))
            }
            Node::Zero(a, bits) => format!("((_ zero_extend {}) {})", bits - a.bits(), self.expr(a, vars)),
            Node::Sign(a, bits) => format!("((_ sign_extend {}) {})", bits - a.bits(), self.expr(a, vars)),
            Node::Cut(a, bits) => format!("((_ extract {} 0) {})", bits - 1, self.expr(a, vars)),
        };
        let name = match expr.node() {
            Node::Const { .. } | Node::Var { .. } => text,
            _ => {
                let name = format!("e{}", self.names.len());
                let _ = writeln!(self.definitions, "(define-fun {name} () (_ BitVec {}) {text})", expr.bits());
                name
            }
        };
        self.names.insert(expr, name.clone());
        name
    }
}

fn name(op: Op) -> &'static str {
    match op {
        Op::Add => "bvadd",
        Op::Sub => "bvsub",
        Op::Mul => "bvmul",
        Op::UDiv => "bvudiv",
        Op::SDiv => "bvsdiv",
        Op::URem => "bvurem",
        Op::SRem => "bvsrem",
        Op::And => "bvand",
        Op::Or => "bvor",
        Op::Xor => "bvxor",
        Op::Shl => "bvshl",
        Op::LShr => "bvlshr",
        Op::AShr => "bvashr",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_solver_costs_one_answer() {
        let mut solver = Solver::new().expect("z3 is installed");
        let one = crate::expr::constant(1, 1);
        assert!(matches!(solver.check(&[one], false, false), Ok(Answer::Sat(_))));
        let number = solver.process().to_string();
        assert!(std::process::Command::new("kill").args(["-KILL", &number]).status().expect("kill").success());
        assert!(matches!(solver.check(&[one], false, false), Ok(Answer::Unknown)));
        assert!(matches!(solver.check(&[one], false, false), Ok(Answer::Sat(_))));
    }
}
