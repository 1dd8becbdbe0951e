//! Questions about bit-vectors, asked of z3 over pipes in SMT-LIB.

use crate::expr::{Expr, Node, Op, Var};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

#[derive(Debug, thiserror::Error)]
pub enum SolverError {
    #[error("z3 cannot be run: {0}; install the package `z3`")]
    Run(#[from] std::io::Error),
    #[error("z3 answered `{0}`")]
    Answer(String),
}

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
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    pub questions: usize,
    /// Answers of before: checks of one driver ask the same again and again.
    pub known: HashMap<Question, Option<bool>>,
}

const OPTIONS: &str = "(set-option :print-success false)\n(set-option :produce-unsat-cores true)\n\
                       (set-option :smt.core.minimize true)\n(set-option :rlimit 10000000)\n(set-logic QF_BV)\n";

impl Solver {
    pub fn new() -> Result<Self, SolverError> {
        let mut child = Command::new("z3")
            .args(["-in", "-smt2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let missing = || std::io::Error::other("it has no pipes");
        let to = child.stdin.take().ok_or_else(missing)?;
        let from = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let mut solver = Solver { child, to, from, questions: 0, known: HashMap::new() };
        solver.to.write_all(OPTIONS.as_bytes())?;
        Ok(solver)
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    fn line(&mut self) -> Result<String, SolverError> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        Ok(line.trim().to_string())
    }

    /// Whether conditions can hold together. With `model`, values of all their variables.
    pub fn check(&mut self, conditions: &[Expr], model: bool, core: bool) -> Result<Answer, SolverError> {
        self.questions += 1;
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
        text.push_str("(check-sat)\n");
        self.to.write_all(text.as_bytes())?;
        self.to.flush()?;
        let answer = match self.line()?.as_str() {
            "sat" if model && !vars.is_empty() => Answer::Sat(self.values(&vars)?),
            "sat" => Answer::Sat(HashMap::new()),
            "unsat" if core => {
                self.to.write_all(b"(get-unsat-core)\n")?;
                let line = self.line()?;
                let names = line.trim_matches(['(', ')']).split_whitespace();
                Answer::Unsat(names.filter_map(|name| name.strip_prefix('c')?.parse().ok()).collect())
            }
            "unsat" => Answer::Unsat(Vec::new()),
            "unknown" | "timeout" => Answer::Unknown,
            other => return Err(SolverError::Answer(other.to_string())),
        };
        self.to.write_all(b"(pop 1)\n")?;
        Ok(answer)
    }

    fn values(&mut self, vars: &BTreeMap<Var, u32>) -> Result<HashMap<Var, u64>, SolverError> {
        let names: Vec<String> = vars.keys().map(|var| format!("v{var}")).collect();
        writeln!(self.to, "(get-value ({}))", names.join(" "))?;
        let mut values = HashMap::new();
        while values.len() < vars.len() {
            let line = self.line()?;
            if line.is_empty() || line.starts_with("(error") {
                return Err(SolverError::Answer(line));
            }
            // One pair a line: `(v1 #x00)`, the first with a further bracket before it.
            let mut words = line.trim_matches(['(', ')']).split_whitespace();
            let (Some(name), Some(value)) = (words.next(), words.next()) else { continue };
            let value = value.trim_matches(')');
            let number = match (value.strip_prefix("#x"), value.strip_prefix("#b")) {
                (Some(digits), _) => u64::from_str_radix(digits, 16),
                (_, Some(digits)) => u64::from_str_radix(digits, 2),
                _ => return Err(SolverError::Answer(line)),
            };
            let var = name.strip_prefix('v').and_then(|digits| digits.parse().ok());
            match (var, number) {
                (Some(var), Ok(number)) => values.insert(var, number),
                _ => return Err(SolverError::Answer(line)),
            };
        }
        Ok(values)
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        // It ends with its input; whether it could still be asked to does not matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
