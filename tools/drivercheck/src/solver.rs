//! Questions about bit vectors, asked of z3.
//!
//! A solver that had to be killed answers `Unknown` to the question at which that happened; the next one gets a new solver.

use crate::abstraction::parts;
use crate::conditions::{independent, substituted};
use crate::expr::{Expr, Node, Op, Var};
use crate::hash::HashMap;
use crate::trial;
use smt::{Options, Session};
use std::collections::VecDeque;
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
    /// Post-images of parts of edges, which checks of one driver have in common.
    pub parts: parts::Known,
    /// Answers about conditions, in order, and values with which some could hold together: most questions have such an
    /// answer already.
    answers: HashMap<Vec<Expr>, bool>,
    examples: VecDeque<Example>,
    /// Conditions that contradict each other, in order, by the last of them: so does whatever includes them.
    contradictions: HashMap<Expr, Vec<Vec<Expr>>>,
    /// By the text of a question, in which variables are numbered as they occur: checks of other drivers ask the same.
    texts: HashMap<String, Known>,
}

/// What was answered to a text: values in the order of the variables, or a core, which is empty if it was not asked for or
/// the solver was lost.
#[derive(Clone)]
enum Known {
    Sat(Vec<u64>),
    Unsat(Vec<usize>),
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

/// How many texts are kept with their answers: some hundred MiB at most.
const TEXTS: usize = 200_000;

fn session() -> Result<Session, SolverError> {
    Session::start(&Options { steps: STEPS, small_cores: true, ..Options::default() })
}

impl Solver {
    pub fn new() -> Result<Self, SolverError> {
        Ok(Solver {
            session: session()?,
            questions: 0,
            known: HashMap::default(),
            parts: parts::Known::default(),
            answers: HashMap::default(),
            examples: VecDeque::new(),
            contradictions: HashMap::default(),
            texts: HashMap::default(),
        })
    }

    /// Drops what is known of expressions: those of another thread are others. What is known of texts stays. Abstractions
    /// that were made before must not be used any more.
    pub fn forget_expressions(&mut self) {
        self.known.clear();
        self.parts = parts::Known::default();
        self.answers.clear();
        self.examples.clear();
        self.contradictions.clear();
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
        let Some((mut all, _)) = substituted(all) else { return Ok(false) };
        all.sort_unstable();
        for group in independent(&all) {
            if !self.can_together(group)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn can_together(&mut self, all: Vec<Expr>) -> Result<bool, SolverError> {
        if let Some(answer) = self.answers.get(&all) {
            return Ok(*answer);
        }
        if self.has_contradiction(&all) {
            self.answers.insert(all, false);
            return Ok(false);
        }
        let shows = |example: &mut Example| all.iter().all(|one| example.value(*one) == 1);
        if let Some(index) = self.examples.iter_mut().position(shows) {
            // The ones that are of use stay longest.
            if let Some(example) = self.examples.remove(index) {
                self.examples.push_front(example);
            }
            return Ok(true);
        }
        let answer = match trial::find(&all) {
            Some(values) => Answer::Sat(values),
            None => self.check_together(&all, true, true)?,
        };
        let answer = match answer {
            Answer::Sat(values) => {
                self.examples.push_front(Example { values, ..Example::default() });
                self.examples.truncate(EXAMPLES);
                true
            }
            Answer::Unsat(core) => {
                // A core that is not whole would be wrong here, and is empty.
                let core: Option<Vec<Expr>> = core.into_iter().map(|index| all.get(index).copied()).collect();
                let mut core = core.unwrap_or_default();
                core.sort_unstable();
                if let Some(last) = core.last() {
                    self.contradictions.entry(*last).or_default().push(core);
                }
                false
            }
            Answer::Unknown => true,
        };
        self.answers.insert(all, answer);
        Ok(answer)
    }

    /// Whether conditions, in order, include some of which it is known that they contradict each other.
    fn has_contradiction(&self, all: &[Expr]) -> bool {
        let includes = |core: &Vec<Expr>| core.iter().all(|one| all.binary_search(one).is_ok());
        all.iter().filter_map(|last| self.contradictions.get(last)).flatten().any(includes)
    }

    /// Whether conditions can hold together. With `model`, values of all their variables; with `core`, which contradict.
    pub fn check(&mut self, conditions: &[Expr], model: bool, core: bool) -> Result<Answer, SolverError> {
        if core {
            return self.check_together(conditions, model, true);
        }
        let Some((left, mut all)) = substituted(conditions.to_vec()) else {
            return Ok(Answer::Unsat(Vec::new()));
        };
        let mut is_known = true;
        for group in independent(&left) {
            match self.check_together(&group, model, false)? {
                Answer::Sat(values) => all.extend(values),
                Answer::Unsat(_) => return Ok(Answer::Unsat(Vec::new())),
                Answer::Unknown => is_known = false,
            }
        }
        // What a replaced variable has made irrelevant may have any value.
        conditions.iter().flat_map(|one| one.vars().to_vec()).for_each(|var| {
            all.entry(var).or_insert(0);
        });
        Ok(if is_known { Answer::Sat(all) } else { Answer::Unknown })
    }

    fn check_together(&mut self, conditions: &[Expr], model: bool, core: bool) -> Result<Answer, SolverError> {
        let mut printer = Printer::default();
        for condition in conditions {
            printer.expr(*condition);
        }
        let mut text = String::from("(push 1)\n");
        for (number, (_, bits)) in printer.vars.iter().enumerate() {
            let _ = writeln!(text, "(declare-const v{number} (_ BitVec {bits}))");
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
        let vars = || printer.vars.iter().map(|(var, _)| *var);
        match self.texts.get(&text) {
            Some(Known::Sat(values)) if !model || values.len() == printer.vars.len() => {
                return Ok(Answer::Sat(vars().zip(values.iter().copied()).collect()));
            }
            Some(Known::Unsat(core)) => return Ok(Answer::Unsat(core.clone())),
            _ => {}
        }
        let known = self.ask(&text, printer.vars.len(), model, core)?;
        if self.texts.len() >= TEXTS {
            self.texts.clear();
        }
        Ok(match known {
            Some(known) => {
                self.texts.insert(text, known.clone());
                match known {
                    Known::Sat(values) => Answer::Sat(vars().zip(values).collect()),
                    Known::Unsat(core) => Answer::Unsat(core),
                }
            }
            None => Answer::Unknown,
        })
    }

    /// Puts a question to the solver: nothing if it gives up.
    fn ask(&mut self, text: &str, vars: usize, model: bool, core: bool) -> Result<Option<Known>, SolverError> {
        self.questions += 1;
        if self.session.is_lost() {
            self.session = session()?;
        }
        self.session.tell(text)?;
        let answer = match self.session.check()? {
            smt::Answer::Sat if model => self.values(vars)?.map(Known::Sat),
            smt::Answer::Sat => Some(Known::Sat(Vec::new())),
            smt::Answer::Unsat if core => {
                let names = self.session.core()?;
                let core: Option<Vec<usize>> = names.iter().map(|name| name.strip_prefix('c')?.parse().ok()).collect();
                Some(Known::Unsat(core.unwrap_or_default()))
            }
            smt::Answer::Unsat => Some(Known::Unsat(Vec::new())),
            smt::Answer::Unknown => None,
        };
        self.session.tell("(pop 1)")?;
        Ok(answer)
    }

    fn values(&mut self, count: usize) -> Result<Option<Vec<u64>>, SolverError> {
        let names: Vec<String> = (0..count).map(|number| format!("v{number}")).collect();
        let values = self.session.values(&names)?;
        // No variable is wider than 64 bits.
        Ok((values.len() == count).then(|| values.into_iter().map(|value| value as u64).collect()))
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
    /// Variables with their bits, in the order in which they occur, which gives their names.
    vars: Vec<(Var, u32)>,
}

impl Printer {
    fn expr(&mut self, expr: Expr) -> String {
        if let Some(name) = self.names.get(&expr) {
            return name.clone();
        }
        let text = match expr.node() {
            Node::Const { value, bits } => format!("(_ bv{value} {bits})"),
            Node::Var { var, bits } => {
                self.vars.push((var, bits));
                format!("v{}", self.vars.len() - 1)
            }
            Node::Not(a) => format!("(bvnot {})", self.expr(a)),
            Node::Binary(op, a, b) => format!("({} {} {})", name(op), self.expr(a), self.expr(b)),
            Node::Compare(op, a, b) => {
                let relation = match op {
                    crate::expr::Compare::Eq => "=",
                    crate::expr::Compare::ULt => "bvult",
                    crate::expr::Compare::SLt => "bvslt",
                };
                format!("(ite ({relation} {} {}) #b1 #b0)", self.expr(a), self.expr(b))
            }
            Node::Choose(c, a, b) => {
                format!("(ite (= {} #b1) {} {})", self.expr(c), self.expr(a), self.expr(b))
            }
            Node::Zero(a, bits) => format!("((_ zero_extend {}) {})", bits - a.bits(), self.expr(a)),
            Node::Sign(a, bits) => format!("((_ sign_extend {}) {})", bits - a.bits(), self.expr(a)),
            Node::Cut(a, bits) => format!("((_ extract {} 0) {})", bits - 1, self.expr(a)),
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

    /// A question that was not asked before.
    fn question(number: u64) -> [crate::expr::Expr; 2] {
        let compared = crate::expr::compare(crate::expr::Compare::ULt, crate::expr::var(0, 8), crate::expr::var(1, 8));
        [
            compared,
            crate::expr::compare(crate::expr::Compare::ULt, crate::expr::var(0, 8), crate::expr::constant(number, 8)),
        ]
    }

    #[test]
    fn a_killed_solver_costs_one_answer() {
        let mut solver = Solver::new().expect("z3 is installed");
        assert!(matches!(solver.check(&question(1), false, false), Ok(Answer::Sat(_))));
        let number = solver.process().to_string();
        assert!(std::process::Command::new("kill").args(["-KILL", &number]).status().expect("kill").success());
        assert!(matches!(solver.check(&question(2), false, false), Ok(Answer::Unknown)));
        assert!(matches!(solver.check(&question(3), false, false), Ok(Answer::Sat(_))));
    }

    /// Conditions without a common variable are asked by themselves, and a question of the same form is asked once.
    #[test]
    fn equal_forms_are_asked_once() {
        use crate::expr::{compare, constant, not, var, Compare};
        let mut solver = Solver::new().expect("z3 is installed");
        let below = |one, most| compare(Compare::ULt, var(one, 8), constant(most, 8));
        let all = [below(1, 3), below(2, 3), not(below(1, 2)), not(below(2, 2))];
        let Ok(Answer::Sat(values)) = solver.check(&all, true, false) else { panic!("they can hold together") };
        assert_eq!((values[&1], values[&2], solver.questions), (2, 2, 1));
        let wrong = [below(5, 3), not(below(6, 2)), not(below(5, 7))];
        assert!(matches!(solver.check(&wrong, true, false), Ok(Answer::Unsat(_))));
    }

    /// Which of some conditions can hold together, as all values say: with what was known before, and without.
    #[test]
    fn what_contradicts_is_a_contradiction() {
        use crate::expr::Op;
        use crate::testing::{is, less, plus, valuations};
        const WIDTHS: [u32; 3] = [3, 3, 1];
        let (x, y, flag) = (crate::expr::var(0, 3), crate::expr::var(1, 3), crate::expr::var(2, 1));
        let product = crate::expr::binary(Op::Mul, x, y);
        let odd = crate::expr::binary(Op::And, product, crate::expr::constant(1, 3));
        let one = [less(x, y), less(y, x), flag, less(plus(x, 3), y), is(product, 6), is(odd, 1), less(product, x)];
        let all: Vec<Expr> = one.iter().flat_map(|one| [*one, crate::expr::not(*one)]).collect();
        let values = valuations(&WIDTHS);
        let mut solver = Solver::new().expect("z3 is installed");
        let mut random = testing::Random(3);
        let (mut possible, mut impossible) = (0, 0);
        for _ in 0..600 {
            let some: Vec<Expr> = all.iter().copied().filter(|_| random.one_in(4)).collect();
            let holds = |values: &Vec<u64>| some.iter().all(|one| one.evaluate(&|var| values[var as usize]) == 1);
            let can = values.iter().any(holds);
            assert_eq!(solver.can(&some).expect("z3 answers"), can, "{some:?}");
            *if can { &mut possible } else { &mut impossible } += 1;
        }
        assert!(possible > 50 && impossible > 50, "{possible} can hold together, {impossible} cannot");
        assert!(solver.questions < impossible / 2, "{} questions for {impossible}", solver.questions);
    }
}
