//! Reads the printed form of terms into the trees that are executed.

use std::sync::Arc;

use c2coq::ast::{BinaryOp, Comparison};
use c2coq::coq::term::Term as Printed;

use crate::program::Program;
use crate::syntax::{Condition, Expr, Place, Stmt};

/// Reads printed terms; the program knows the objects that they name.
pub struct Reader<'p> {
    pub program: &'p Program,
}

/// What was read, or the form that is not known.
type Read<T> = Result<T, String>;

fn number(term: &Printed) -> Read<u64> {
    let Printed::Atom(text) = term else { return Err(format!("{term:?} for a number")) };
    let digits = text.split_whitespace().next().unwrap_or_default().trim_end_matches("%nat");
    let parsed = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    parsed.map_err(|_| format!("{text} for a number"))
}

fn name(term: &Printed) -> Read<&str> {
    match term {
        Printed::Atom(text) => Ok(text.trim_matches('"')),
        _ => Err(format!("{term:?} for a name")),
    }
}

fn bits(term: &Printed) -> Read<u32> {
    name(term)?.strip_prefix('W').and_then(|bits| bits.parse().ok()).ok_or_else(|| format!("{term:?} for a width"))
}

fn operator(term: &Printed) -> Read<BinaryOp> {
    use BinaryOp::*;
    let known = [Add, Sub, Mul, Div, Rem, And, Or, Xor, Shl, Shr];
    let text = name(term)?;
    known.into_iter().find(|one| format!("{one:?}") == text).ok_or_else(|| format!("operator {text}"))
}

fn comparison(term: &Printed) -> Read<Comparison> {
    use Comparison::*;
    let text = name(term)?;
    [Eq, Ne, Lt, Le, Gt, Ge]
        .into_iter()
        .find(|one| format!("{one:?}") == text)
        .ok_or_else(|| format!("comparison {text}"))
}

impl Reader<'_> {
    fn place(&self, object: &Printed, index: &Printed, field: &Printed, element: &Printed) -> Read<Place> {
        let (object, field) = (name(object)?, name(field)?);
        let cells = self.program.place(object, field).ok_or_else(|| format!("object {object}, field {field}"))?;
        Ok(Place { cells, index: self.expr(index)?, element: self.expr(element)? })
    }

    fn expr(&self, term: &Printed) -> Read<Expr> {
        let Printed::Apply(head, arguments) = term else { return Err(format!("{term:?}")) };
        let inner = |at: usize| self.expr(&arguments[at]).map(Box::new);
        Ok(match (*head, arguments.as_slice()) {
            ("Const", [value]) => Expr::Constant(number(value)?),
            ("Var", [local]) => Expr::Local(number(local)? as usize),
            ("Load", [object, index, field, element]) => {
                Expr::Load(Box::new(self.place(object, index, field, element)?))
            }
            ("Neg", [width, _]) => Expr::Negate(bits(width)?, inner(1)?),
            ("Not", [width, _]) => Expr::Not(bits(width)?, inner(1)?),
            ("Cast", [width, _]) => Expr::Cast(bits(width)?, inner(1)?),
            ("Bin", [width, operation, _, _]) => Expr::Binary(bits(width)?, operator(operation)?, inner(2)?, inner(3)?),
            _ => return Err(format!("{head} with {} arguments", arguments.len())),
        })
    }

    fn condition(&self, term: &Printed) -> Read<Condition> {
        let Printed::Apply(head, arguments) = term else { return Err(format!("{term:?}")) };
        let inner = |at: usize| self.condition(&arguments[at]).map(Box::new);
        Ok(match (*head, arguments.as_slice()) {
            ("Cmp", [operation, a, b]) => Condition::Compare(comparison(operation)?, self.expr(a)?, self.expr(b)?),
            ("NonZero", [value]) => Condition::NonZero(self.expr(value)?),
            ("CNot", [_]) => Condition::Not(inner(0)?),
            ("CAnd", [_, _]) => Condition::And(inner(0)?, inner(1)?),
            ("COr", [_, _]) => Condition::Or(inner(0)?, inner(1)?),
            _ => return Err(format!("{head} with {} arguments", arguments.len())),
        })
    }

    pub fn statement(&self, term: &Printed) -> Read<Stmt> {
        let (head, arguments) = match term {
            Printed::Apply(head, arguments) => (*head, arguments.as_slice()),
            Printed::Chain(parts) => {
                let mut parts = parts.iter().rev();
                let last = parts.next().ok_or("an empty sequence")?;
                let mut all = self.statement(last)?;
                for part in parts {
                    all = Stmt::Seq(Arc::new(self.statement(part)?), Arc::new(all));
                }
                return Ok(all);
            }
            _ => return Err(format!("{term:?}")),
        };
        let inner = |at: usize| self.statement(&arguments[at]).map(Arc::new);
        Ok(match (head, arguments) {
            ("Skip", []) => Stmt::Skip,
            ("Break", []) => Stmt::Break,
            ("Assign", [local, value]) => Stmt::Assign(number(local)? as usize, self.expr(value)?),
            ("Store", [object, index, field, element, value]) => {
                Stmt::Store(self.place(object, index, field, element)?, self.expr(value)?)
            }
            ("If", [condition, _, _]) => Stmt::If(self.condition(condition)?, inner(1)?, inner(2)?),
            ("While", [condition, _]) => Stmt::While(self.condition(condition)?, inner(1)?),
            ("Return", [value]) => Stmt::Return(self.expr(value)?),
            ("Call", [result, function, Printed::List(values)]) => {
                let result = match result {
                    Printed::Apply("Some", to) => Some(number(&to[0])? as usize),
                    _ => None,
                };
                let values: Read<Vec<Expr>> = values.iter().map(|value| self.expr(value)).collect();
                Stmt::Call(result, name(function)?.to_string(), values?)
            }
            _ => return Err(format!("{head} with {} arguments", arguments.len())),
        })
    }
}
