//! Expressions and conditions of the term, as `eval` and `test` of `Semantics.v` over symbolic words.
//!
//! Where `Semantics.v` is stuck, the value is any value and the condition under which it is not stuck becomes an assumption:
//! for certified functions the theorems discharge it.

use c2coq::ast::{BinaryOp, Comparison};

use crate::early::Early;
use crate::ownership::NOT_OWNED;
use crate::program::Program;
use crate::state::{refuse, Access, State, Stop};
use crate::syntax::{Condition, Expr};
use crate::term::build::{add, and, binary, equal, extract, implies, less, not, or, read, sub, times, zero_extend};
use crate::term::{constant, mask, Binary, Term};

/// Evaluates in one state.
pub struct Evaluator<'s> {
    pub program: &'s Program,
    pub locals: &'s [Term],
    pub memory: &'s [Term],
    pub accesses: &'s mut Vec<Access>,
    early: &'s [Early],
    /// How many locks the term holds, if what it accesses is its own as long as it holds them.
    locks: u32,
    /// What is assumed, each under the condition that C evaluates it.
    pub assumptions: Vec<Term>,
    guard: Option<Term>,
}

/// A value in another width that holds it.
pub fn fit(value: Term, width: u32) -> Result<Term, Stop> {
    let from = value.width();
    match value.value() {
        _ if from <= width => Ok(zero_extend(value, width)),
        Some(number) if number <= mask(width) => Ok(constant(number, width)),
        _ => refuse(format!("the term has a value of {from} bits where {width} are meant")),
    }
}

/// Two values in one width.
fn together(a: Term, b: Term) -> Result<(Term, Term), Stop> {
    let width = match (a.value(), b.value()) {
        (Some(number), None) if number <= mask(b.width()) => b.width(),
        (None, Some(number)) if number <= mask(a.width()) => a.width(),
        _ => a.width().max(b.width()),
    };
    Ok((fit(a, width)?, fit(b, width)?))
}

impl<'s> Evaluator<'s> {
    /// With the term's locals and memory.
    pub fn new(program: &'s Program, state: &'s mut State) -> Evaluator<'s> {
        let State { locals, proved, accesses, early, locks, function, .. } = state;
        let locks = match locks.len() as u32 {
            held if held > 0 && program.certified.contains(&function.name) => held,
            _ => NOT_OWNED,
        };
        Evaluator { program, locals, memory: proved, accesses, early, locks, assumptions: Vec::new(), guard: None }
    }

    /// With these locals and this memory, of which nothing is known.
    pub fn of(
        program: &'s Program,
        locals: &'s [Term],
        memory: &'s [Term],
        accesses: &'s mut Vec<Access>,
    ) -> Evaluator<'s> {
        let locks = NOT_OWNED;
        Evaluator { program, locals, memory, accesses, early: &[], locks, assumptions: Vec::new(), guard: None }
    }

    pub fn need(&mut self, condition: Term) {
        let condition = self.guard.map_or(condition, |guard| implies(guard, condition));
        if !condition.is_true() {
            self.assumptions.push(condition);
        }
    }

    /// The scalar at these indices, which are assumed to be in range; note is taken of the access where C evaluates it.
    pub fn place(&mut self, cells: usize, index: Term, element: Term) -> Access {
        let known = &self.program.cells[cells];
        let count = self.program.objects[known.object].count;
        for (value, bound) in [(index, count), (element, known.count)] {
            if u128::from(bound) <= mask(value.width()) {
                self.need(less(value, constant(u128::from(bound), value.width())));
            }
        }
        let low = |value: Term| if value.width() > 32 { extract(value, 0, 32) } else { zero_extend(value, 32) };
        // An index below 1 is 0.
        let low = |value: Term, bound: u64| if bound == 1 { constant(0, 32) } else { low(value) };
        let flat = add(times(low(index, count), u128::from(known.count)), low(element, known.count));
        let guard = self.guard.unwrap_or(constant(1, 1));
        let (index, element) = (low(index, count), low(element, known.count));
        let access = Access { cells, index, element, flat, guard, locks: self.locks };
        match self.accesses.iter_mut().find(|one| Access { locks: self.locks, ..**one } == access) {
            Some(one) => one.locks = one.locks.min(self.locks),
            None => self.accesses.push(access),
        }
        // What the term accesses was its own when the machine read it.
        for one in self.early.iter().filter(|one| one.cells == cells) {
            self.need(implies(equal(one.flat, access.flat), equal(one.value, one.held)));
        }
        access
    }

    pub fn load(&mut self, cells: usize, index: Term, element: Term) -> Term {
        let place = self.place(cells, index, element);
        read(self.memory[cells], place.flat)
    }

    pub fn expr(&mut self, e: &Expr) -> Result<Term, Stop> {
        Ok(match e {
            Expr::Constant(value) => constant(u128::from(*value), 64),
            Expr::Local(at) => match self.locals.get(*at) {
                Some(value) => *value,
                None => return refuse("the term names a local that it does not have"),
            },
            Expr::Load(place) => {
                let (index, element) = (self.expr(&place.index)?, self.expr(&place.element)?);
                self.load(place.cells, index, element)
            }
            Expr::Negate(width, a) => {
                let a = fit(self.expr(a)?, *width)?;
                sub(constant(0, *width), a)
            }
            Expr::Not(width, a) => not(fit(self.expr(a)?, *width)?),
            Expr::Cast(width, a) => {
                let a = self.expr(a)?;
                if a.width() > *width {
                    extract(a, 0, *width)
                } else {
                    zero_extend(a, *width)
                }
            }
            Expr::Binary(width, operation, a, b) => self.binary(*width, *operation, a, b)?,
        })
    }

    fn binary(&mut self, width: u32, operation: BinaryOp, a: &Expr, b: &Expr) -> Result<Term, Stop> {
        let a = fit(self.expr(a)?, width)?;
        let b = self.expr(b)?;
        if matches!(operation, BinaryOp::Shl | BinaryOp::Shr) {
            let bound = constant(u128::from(width), b.width().max(8));
            self.need(less(zero_extend(b, bound.width()), bound));
            let by = if b.width() > width { extract(b, 0, width) } else { zero_extend(b, width) };
            let shift = if operation == BinaryOp::Shl { Binary::ShiftLeft } else { Binary::ShiftRight };
            return Ok(binary(shift, a, by));
        }
        let b = fit(b, width)?;
        Ok(match operation {
            BinaryOp::Add => add(a, b),
            BinaryOp::Sub => sub(a, b),
            BinaryOp::Mul => binary(Binary::Multiply, a, b),
            BinaryOp::And => and(a, b),
            BinaryOp::Or => or(a, b),
            BinaryOp::Xor => binary(Binary::Xor, a, b),
            BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr => {
                self.need(not(equal(b, constant(0, width))));
                let operation = if operation == BinaryOp::Div { Binary::Divide } else { Binary::Remainder };
                binary(operation, a, b)
            }
        })
    }

    pub fn condition(&mut self, c: &Condition) -> Result<Term, Stop> {
        Ok(match c {
            Condition::Compare(comparison, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                let (a, b) = together(a, b)?;
                match comparison {
                    Comparison::Eq => equal(a, b),
                    Comparison::Ne => not(equal(a, b)),
                    Comparison::Lt => less(a, b),
                    Comparison::Le => not(less(b, a)),
                    Comparison::Gt => less(b, a),
                    Comparison::Ge => not(less(a, b)),
                }
            }
            Condition::NonZero(a) => {
                let a = self.expr(a)?;
                not(equal(a, constant(0, a.width())))
            }
            Condition::Not(a) => not(self.condition(a)?),
            Condition::And(a, b) => {
                let a = self.condition(a)?;
                and(a, self.guarded(a, b)?)
            }
            Condition::Or(a, b) => {
                let a = self.condition(a)?;
                or(a, self.guarded(not(a), b)?)
            }
        })
    }

    /// Evaluated only where the guard holds.
    fn guarded(&mut self, guard: Term, c: &Condition) -> Result<Term, Stop> {
        let before = self.guard;
        self.guard = Some(before.map_or(guard, |outer| and(outer, guard)));
        let value = self.condition(c);
        self.guard = before;
        value
    }
}
