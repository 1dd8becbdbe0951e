//! Building numbers, made smaller where that is simple. Every rewriting keeps the value, whatever the leaves are.

use crate::term::{Operation, Shape, Term, Terms};
use crate::value::{mask, operate, signed};

impl Terms {
    pub fn binary(&mut self, operation: Operation, a: Term, b: Term) -> Term {
        use Operation::*;
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b));
        let (x, y) = (self.as_number(a), self.as_number(b));
        if let (Some(x), Some(y)) = (x, y) {
            if let Some(number) = operate(operation, x, y, width) {
                return self.number(number, width);
            }
        }
        let zero = |terms: &mut Terms| terms.number(0, width);
        match (operation, x, y) {
            (Add | And | Or | Xor | Multiply, Some(_), None) => return self.binary(operation, b, a),
            (Add | Or | Xor | ShiftLeft | ShiftRight | ShiftRightSigned | Subtract, _, Some(0)) => return a,
            (And | Multiply, _, Some(0)) => return zero(self),
            (And, _, Some(y)) if y == mask(width) => return a,
            (Multiply | Divide | DivideSigned, _, Some(1)) => return a,
            (Or | And, _, _) if a == b => return a,
            (Xor, _, _) if a == b => return zero(self),
            (Subtract, _, Some(y)) => {
                let negated = self.number(y.wrapping_neg(), width);
                return self.binary(Add, a, negated);
            }
            (Add, None, Some(y)) => {
                if let Shape::Binary(Add, first, second) = self.shape(a) {
                    if let Some(inner) = self.as_number(second) {
                        let together = self.number(inner.wrapping_add(y), width);
                        return self.binary(Add, first, together);
                    }
                }
            }
            (Add, None, None) => {
                // Numbers to the end.
                for (sum, other) in [(a, b), (b, a)] {
                    if let Shape::Binary(Add, first, second) = self.shape(sum) {
                        if self.as_number(second).is_some() {
                            let rest = self.binary(Add, first, other);
                            return self.binary(Add, rest, second);
                        }
                    }
                }
            }
            (Subtract, _, None) => {
                if let Some(difference) = self.difference(a, b) {
                    return self.number(difference, width);
                }
            }
            (ShiftLeft | ShiftRight, _, Some(y)) if y >= u128::from(width) => return zero(self),
            _ => {}
        }
        if let Some(narrow) = self.narrowed(operation, a, b) {
            return narrow;
        }
        if matches!(operation, And | Or | Xor) {
            if let (Some(p), Some(q)) = (self.as_bit(a), self.as_bit(b)) {
                let holds = match operation {
                    And => self.both(p, q),
                    Or => self.either(p, q),
                    _ => {
                        let same = self.equal(p, q);
                        self.not(same)
                    }
                };
                return self.bit(holds, width);
            }
        }
        self.make(Shape::Binary(operation, a, b), width)
    }

    /// A division or multiplication of numbers whose upper bits are 0, of no more bits than matter: what a solver does
    /// with one grows with the square of its width. The divisor is not 0.
    fn narrowed(&mut self, operation: Operation, a: Term, b: Term) -> Option<Term> {
        let width = self.width(a);
        if width > 128 {
            return None;
        }
        let needed = match operation {
            Operation::Divide | Operation::Remainder => self.bits(a).max(self.bits(b)),
            Operation::Multiply => self.bits(a).saturating_add(self.bits(b)),
            _ => return None,
        };
        let needed = needed.max(1);
        if needed >= width {
            return None;
        }
        let (a, b) = (self.extract(a, 0, needed), self.extract(b, 0, needed));
        let small = self.binary(operation, a, b);
        Some(self.extend(small, width))
    }

    /// The bits of a term above this many are 0, whatever the leaves are.
    fn bits(&self, term: Term) -> u16 {
        self.bits_within(term, 8)
    }

    fn bits_within(&self, term: Term, depth: u32) -> u16 {
        let width = self.width(term);
        let Some(depth) = depth.checked_sub(1) else { return width };
        let of = |part: Term| self.bits_within(part, depth);
        let found = match self.shape(term) {
            Shape::Number(number) => (128 - number.leading_zeros()) as u16,
            Shape::Extend(inner) => of(inner),
            Shape::Select(_, then, otherwise) => of(then).max(of(otherwise)),
            Shape::Extract(inner, low) => of(inner).saturating_sub(low),
            Shape::Concat(high, low) if of(high) == 0 => of(low),
            Shape::Binary(Operation::And, x, y) => of(x).min(of(y)),
            Shape::Binary(Operation::Or | Operation::Xor, x, y) => of(x).max(of(y)),
            Shape::Binary(Operation::Divide, x, _) => of(x),
            Shape::Binary(Operation::Remainder, x, y) => of(x).min(of(y)),
            Shape::Binary(Operation::ShiftRight, x, y) => match self.as_number(y) {
                Some(by) => of(x).saturating_sub(by.min(u128::from(width)) as u16),
                None => of(x),
            },
            _ => width,
        };
        found.min(width)
    }

    pub fn complement(&mut self, a: Term) -> Term {
        let width = self.width(a);
        match self.shape(a) {
            Shape::Number(number) => self.number(!number, width),
            Shape::Complement(inner) => inner,
            _ => self.make(Shape::Complement(a), width),
        }
    }

    /// `width` bits of `a`, from bit `low` on.
    pub fn extract(&mut self, a: Term, low: u16, width: u16) -> Term {
        let whole = self.width(a);
        debug_assert!(low + width <= whole);
        if low == 0 && width == whole {
            return a;
        }
        // Parts that a term has in common with itself are looked at once.
        if let Some(known) = self.extracts.get(&(a, low, width)) {
            return *known;
        }
        let found = self.extracted(a, low, width);
        self.extracts.insert((a, low, width), found);
        found
    }

    fn extracted(&mut self, a: Term, low: u16, width: u16) -> Term {
        match self.shape(a) {
            Shape::Number(number) => return self.number(number >> low, width),
            Shape::Extract(inner, further) => return self.extract(inner, low + further, width),
            Shape::Concat(high, lower) => {
                let split = self.width(lower);
                if low >= split {
                    return self.extract(high, low - split, width);
                }
                if low + width <= split {
                    return self.extract(lower, low, width);
                }
            }
            Shape::Extend(inner) | Shape::ExtendSigned(inner) if low + width <= self.width(inner) => {
                return self.extract(inner, low, width);
            }
            Shape::Extend(inner) if low >= self.width(inner) && width <= 128 => return self.number(0, width),
            Shape::Extend(inner) if low == 0 => return self.extend(inner, width),
            Shape::Select(when, then, otherwise)
                if self.as_number(then).is_some() || self.as_number(otherwise).is_some() =>
            {
                let (then, otherwise) = (self.extract(then, low, width), self.extract(otherwise, low, width));
                return self.select(when, then, otherwise);
            }
            Shape::Binary(operation @ (Operation::Add | Operation::Subtract | Operation::Multiply), x, y)
                if low == 0 =>
            {
                let (x, y) = (self.extract(x, 0, width), self.extract(y, 0, width));
                return self.binary(operation, x, y);
            }
            Shape::Binary(operation @ (Operation::And | Operation::Or | Operation::Xor), x, y) => {
                let (x, y) = (self.extract(x, low, width), self.extract(y, low, width));
                return self.binary(operation, x, y);
            }
            _ => {}
        }
        self.make(Shape::Extract(a, low), width)
    }

    pub fn concat(&mut self, high: Term, low: Term) -> Term {
        let (wide, split) = (self.width(high) + self.width(low), self.width(low));
        if let (Some(x), Some(y)) = (self.as_number(high), self.as_number(low)) {
            if wide <= 128 {
                return self.number(x << split | y, wide);
            }
        }
        if self.as_number(high) == Some(0) {
            return self.extend(low, wide);
        }
        if let (Shape::Extract(a, upper), Shape::Extract(b, lower)) = (self.shape(high), self.shape(low)) {
            if a == b && upper == lower + split {
                return self.extract(a, lower, wide);
            }
        }
        self.make(Shape::Concat(high, low), wide)
    }

    /// To `width` bits, with zeros.
    pub fn extend(&mut self, a: Term, width: u16) -> Term {
        if width == self.width(a) {
            return a;
        }
        match self.shape(a) {
            Shape::Number(number) if width <= 128 => self.number(number, width),
            Shape::Extend(inner) => self.extend(inner, width),
            Shape::Select(when, then, otherwise)
                if width <= 128 && self.as_number(then).is_some() && self.as_number(otherwise).is_some() =>
            {
                let (then, otherwise) = (self.extend(then, width), self.extend(otherwise, width));
                self.select(when, then, otherwise)
            }
            _ => self.make(Shape::Extend(a), width),
        }
    }

    pub fn extend_signed(&mut self, a: Term, width: u16) -> Term {
        let narrow = self.width(a);
        if width == narrow {
            return a;
        }
        match self.shape(a) {
            Shape::Number(number) if width <= 128 => self.number(signed(number, narrow) as u128, width),
            Shape::Extend(_) => self.extend(a, width),
            _ => self.make(Shape::ExtendSigned(a), width),
        }
    }
}
