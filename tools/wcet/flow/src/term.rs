//! Symbolic values along a path: terms over what is not known at its start.

use std::rc::Rc;

use wcet_binary::lift::il::{Binary, Unary};
use wcet_binary::load::Program;

use crate::evaluate::{self, mask};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Term {
    Constant(u64),
    /// Something not known; one number, one value.
    Leaf(u32),
    Unary(Unary, Number),
    Binary(Binary, Number, Number),
    Extract(Number, u8),
    Select(Number, Number, Number),
    Load(Number, Read),
}

/// When memory is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// After that many stores of the path that may have changed it.
    After(usize),
    /// Others may have written; one number, one read.
    Fresh(u32),
}

/// A term with its size in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Number {
    pub size: u8,
    /// How large the term is, written out.
    pub weight: u32,
    pub term: Rc<Term>,
}

impl Number {
    pub fn new(term: Term, size: u8) -> Number {
        let mut number = Number { term: Rc::new(term), size, weight: 1 };
        number.weight = number.parts().iter().fold(1, |sum, part| part.weight.saturating_add(sum));
        number
    }

    pub fn constant(number: u64, size: u8) -> Number {
        Number::new(Term::Constant(number & mask(size)), size)
    }

    pub fn as_constant(&self) -> Option<u64> {
        match *self.term {
            Term::Constant(number) => Some(number),
            _ => None,
        }
    }

    pub fn unary(operation: Unary, a: Number, size: u8) -> Number {
        if let Some(number) = a.as_constant().and_then(|a_| evaluate::unary(operation, a_, a.size, size)) {
            return Number::constant(number, size);
        }
        if let (Unary::BoolNot, Term::Unary(Unary::BoolNot, inner)) = (operation, &*a.term) {
            if inner.is_truth() {
                return inner.clone();
            }
        }
        Number::new(Term::Unary(operation, a), size)
    }

    pub fn binary(operation: Binary, a: Number, b: Number, size: u8) -> Number {
        let folded = match (a.as_constant(), b.as_constant()) {
            (Some(x), Some(y)) => evaluate::binary(operation, x, y, a.size),
            _ => None,
        };
        if let Some(number) = folded {
            return Number::constant(number, size);
        }
        match (operation, a.as_constant(), b.as_constant()) {
            (Binary::Subtract, _, Some(number)) if size <= 8 => {
                return Number::binary(Binary::Add, a, Number::constant(number.wrapping_neg(), size), size);
            }
            (Binary::Add, Some(_), None) => return Number::binary(Binary::Add, b, a, size),
            (Binary::Add | Binary::Or | Binary::Xor | Binary::ShiftLeft | Binary::ShiftRight, _, Some(0)) => return a,
            (Binary::Or | Binary::Xor, Some(0), _) => return b,
            (Binary::And, _, Some(0)) | (Binary::And, Some(0), _) => return Number::constant(0, size),
            (Binary::And, _, Some(1)) if a.is_truth() => return a,
            (Binary::And, Some(1), _) if b.is_truth() => return b,
            (Binary::Multiply, _, Some(1)) => return a,
            (Binary::Xor | Binary::Subtract, None, None) if a == b => return Number::constant(0, size),
            // (x + c) + d
            (Binary::Add, _, Some(d)) => {
                if let Term::Binary(Binary::Add, x, c) = &*a.term {
                    if let Some(c) = c.as_constant() {
                        return Number::binary(Binary::Add, x.clone(), Number::constant(c.wrapping_add(d), size), size);
                    }
                }
            }
            _ => {}
        }
        Number::new(Term::Binary(operation, a, b), size)
    }

    pub fn extract(from: Number, at: u8, size: u8) -> Number {
        if at == 0 && from.size == size {
            return from;
        }
        match &*from.term {
            Term::Constant(number) if from.size <= 8 && at < 8 => return Number::constant(number >> (8 * at), size),
            Term::Unary(Unary::ZeroExtend, inner) if at == 0 && size == inner.size => return inner.clone(),
            Term::Unary(Unary::ZeroExtend | Unary::SignExtend, inner) if at + size <= inner.size => {
                return Number::extract(inner.clone(), at, size);
            }
            Term::Extract(inner, offset) => return Number::extract(inner.clone(), at + offset, size),
            // The low bytes of a sum are the sum of the low bytes.
            Term::Binary(operation @ (Binary::And | Binary::Or | Binary::Xor | Binary::Add), a, b)
                if at == 0 || *operation != Binary::Add =>
            {
                let (a, b) = (Number::extract(a.clone(), at, size), Number::extract(b.clone(), at, size));
                return Number::binary(*operation, a, b, size);
            }
            _ => {}
        }
        Number::new(Term::Extract(from, at), size)
    }

    pub fn select(when: Number, then: Number, otherwise: Number) -> Number {
        let size = then.size;
        match when.as_constant() {
            Some(0) => otherwise,
            Some(_) => then,
            None if then == otherwise => then,
            None => Number::new(Term::Select(when, then, otherwise), size),
        }
    }

    /// Whether it can only be 0 or 1.
    pub fn is_truth(&self) -> bool {
        match &*self.term {
            Term::Constant(number) => *number < 2,
            Term::Unary(Unary::BoolNot, _) => true,
            Term::Binary(operation, a, b) => {
                evaluate::is_comparison(*operation)
                    || matches!(operation, Binary::And | Binary::Or | Binary::Xor) && a.is_truth() && b.is_truth()
            }
            _ => false,
        }
    }

    /// Its parts.
    pub fn parts(&self) -> Vec<&Number> {
        match &*self.term {
            Term::Constant(_) | Term::Leaf(_) => vec![],
            Term::Unary(_, a) | Term::Extract(a, _) | Term::Load(a, _) => vec![a],
            Term::Binary(_, a, b) => vec![a, b],
            Term::Select(a, b, c) => vec![a, b, c],
        }
    }

    /// Its value where `variable` is `number`, and memory that never changes is as the program says.
    pub fn evaluate(&self, variable: &Number, number: u64, program: &Program) -> Option<u64> {
        if self == variable {
            return Some(number);
        }
        let value = |part: &Number| part.evaluate(variable, number, program);
        match &*self.term {
            Term::Constant(number) => Some(*number),
            Term::Leaf(_) => None,
            Term::Unary(operation, a) => evaluate::unary(*operation, value(a)?, a.size, self.size),
            Term::Binary(operation, a, b) => {
                let (x, y) = (value(a), value(b));
                match (operation, x, y) {
                    (Binary::And, Some(0), _) | (Binary::And, _, Some(0)) => Some(0),
                    (Binary::Or, Some(1), _) if self.is_truth() => Some(1),
                    (Binary::Or, _, Some(1)) if self.is_truth() => Some(1),
                    _ => evaluate::binary(*operation, x?, y?, a.size),
                }
            }
            Term::Extract(from, at) if from.size <= 8 => Some(value(from)? >> (8 * at) & mask(self.size)),
            Term::Extract(..) => None,
            Term::Select(when, then, otherwise) => value(if value(when)? != 0 { then } else { otherwise }),
            Term::Load(address, _) => program.constant(value(address)?, self.size),
        }
    }
}
