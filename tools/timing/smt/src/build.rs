//! Building terms, made smaller where that is simple. Every rewriting keeps the value, whatever the leaves are.

use std::rc::Rc;

use crate::term::{Operation, Shape, Sum, Term, Terms};
use crate::value::{mask, operate, signed};

impl Terms {
    /// The largest number is of 128 bits; what is wider has no numbers.
    pub fn number(&mut self, number: u128, width: u16) -> Term {
        assert!((1..=128).contains(&width), "a number of {width} bits");
        self.make(Shape::Number(number & mask(width)), width)
    }

    pub fn truth(holds: bool) -> Term {
        if holds {
            Terms::TRUE
        } else {
            Terms::FALSE
        }
    }

    pub fn not(&mut self, a: Term) -> Term {
        match self.shape(a) {
            Shape::Truth(holds) => Terms::truth(!holds),
            Shape::Not(inner) => inner,
            _ => self.make(Shape::Not(a), 0),
        }
    }

    pub fn both(&mut self, a: Term, b: Term) -> Term {
        if a == Terms::FALSE || b == Terms::FALSE || a == self.not(b) {
            return Terms::FALSE;
        }
        if a == Terms::TRUE || self.conjuncts(b).contains(&a) {
            return b;
        }
        let known = self.conjuncts(a);
        if b == Terms::TRUE || known.contains(&b) {
            return a;
        }
        let against = self.not(b);
        if known.contains(&against) {
            return Terms::FALSE;
        }
        self.make(Shape::Both(a, b), 0)
    }

    /// What a conjunction of the form ((a and b) and c) ... holds together, at most 64 of it from the end.
    pub(crate) fn conjuncts(&self, mut term: Term) -> Vec<Term> {
        let mut found = Vec::new();
        while let Shape::Both(rest, last) = self.shape(term) {
            found.push(last);
            term = rest;
            if found.len() >= 64 {
                break;
            }
        }
        found.push(term);
        found
    }

    pub fn either(&mut self, a: Term, b: Term) -> Term {
        if a == Terms::TRUE || b == Terms::TRUE || a == self.not(b) {
            return Terms::TRUE;
        }
        if a == Terms::FALSE || a == b {
            return b;
        }
        if b == Terms::FALSE {
            return a;
        }
        // Both ways out of a branch: what led to it.
        if let (Shape::Both(before, x), Shape::Both(also, y)) = (self.shape(a), self.shape(b)) {
            if before == also {
                let choice = self.either(x, y);
                return self.both(before, choice);
            }
        }
        for (outer, inner) in [(a, b), (b, a)] {
            if self.conjuncts(inner).contains(&outer) || self.starts_with(inner, outer) {
                return outer;
            }
        }
        let (a, b) = (a.min(b), a.max(b));
        self.make(Shape::Either(a, b), 0)
    }

    /// Whether a conjunction was made from `first` by adding to it.
    pub(crate) fn starts_with(&self, mut term: Term, first: Term) -> bool {
        while let Shape::Both(rest, _) = self.shape(term) {
            if rest == first {
                return true;
            }
            if rest < first {
                return false;
            }
            term = rest;
        }
        false
    }

    /// A term that equals `when` where `under` holds.
    pub(crate) fn given(&mut self, when: Term, under: Term) -> Term {
        if when == Terms::TRUE || when == under || self.starts_with(under, when) {
            return Terms::TRUE;
        }
        let known = self.conjuncts(under);
        let mut left = Terms::TRUE;
        let mut rest = self.conjuncts(when);
        rest.reverse();
        for part in rest {
            if known.contains(&part) || self.starts_with(under, part) {
                continue;
            }
            if known.contains(&self.not(part)) {
                return Terms::FALSE;
            }
            left = self.both(left, part);
        }
        left
    }

    pub fn implies(&mut self, a: Term, b: Term) -> Term {
        let not = self.not(a);
        self.either(not, b)
    }

    pub fn equal(&mut self, a: Term, b: Term) -> Term {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b));
        if a == b {
            return Terms::TRUE;
        }
        if width == 0 {
            let (ab, n) = (self.both(a, b), self.either(a, b));
            let neither = self.not(n);
            return self.either(ab, neither);
        }
        if let Some(difference) = self.difference(a, b) {
            return Terms::truth(difference == 0);
        }
        let (a, b) = if self.as_number(a).is_some() { (b, a) } else { (a, b) };
        if let Some(number) = self.as_number(b) {
            match self.shape(a) {
                Shape::Select(when, then, otherwise) => {
                    if let (Some(x), Some(y)) = (self.as_number(then), self.as_number(otherwise)) {
                        return match (x == number, y == number) {
                            (true, true) => Terms::TRUE,
                            (true, false) => when,
                            (false, true) => self.not(when),
                            (false, false) => Terms::FALSE,
                        };
                    }
                }
                Shape::Extend(inner) => {
                    let width = self.width(inner);
                    if number & !mask(width) != 0 {
                        return Terms::FALSE;
                    }
                    let small = self.number(number, width);
                    return self.equal(inner, small);
                }
                Shape::Binary(Operation::Add, x, y) => {
                    if let Some(offset) = self.as_number(y) {
                        let moved = self.number(number.wrapping_sub(offset), width);
                        return self.equal(x, moved);
                    }
                }
                Shape::Binary(Operation::Subtract, x, y) if number == 0 => return self.equal(x, y),
                Shape::Binary(Operation::Xor, x, y) if number == 0 => return self.equal(x, y),
                _ => {}
            }
            return self.make(Shape::Equal(a, b), 0);
        }
        let (a, b) = (a.min(b), a.max(b));
        self.make(Shape::Equal(a, b), 0)
    }

    pub fn less(&mut self, a: Term, b: Term) -> Term {
        debug_assert_eq!(self.width(a), self.width(b));
        match (self.as_number(a), self.as_number(b)) {
            (Some(x), Some(y)) => Terms::truth(x < y),
            (_, Some(0)) => Terms::FALSE,
            (_, Some(1)) => {
                let zero = self.number(0, self.width(a));
                self.equal(a, zero)
            }
            _ if a == b => Terms::FALSE,
            _ => self.make(Shape::Less(a, b), 0),
        }
    }

    pub fn less_signed(&mut self, a: Term, b: Term) -> Term {
        let width = self.width(a);
        match (self.as_number(a), self.as_number(b)) {
            (Some(x), Some(y)) => Terms::truth(signed(x, width) < signed(y, width)),
            _ if a == b => Terms::FALSE,
            _ => self.make(Shape::LessSigned(a, b), 0),
        }
    }

    pub fn select(&mut self, when: Term, then: Term, otherwise: Term) -> Term {
        let width = self.width(then);
        debug_assert_eq!(width, self.width(otherwise));
        match self.shape(when) {
            Shape::Truth(holds) => return if holds { then } else { otherwise },
            Shape::Not(inner) => return self.select(inner, otherwise, then),
            _ if then == otherwise => return then,
            _ => {}
        }
        if width == 0 {
            let (a, not) = (self.both(when, then), self.not(when));
            let b = self.both(not, otherwise);
            return self.either(a, b);
        }
        let otherwise = match self.shape(otherwise) {
            Shape::Select(again, _, last) if again == when => last,
            _ => otherwise,
        };
        let then = match self.shape(then) {
            Shape::Select(again, first, _) if again == when => first,
            _ => then,
        };
        if then == otherwise {
            return then;
        }
        self.make(Shape::Select(when, then, otherwise), width)
    }

    /// 1 or 0, of this many bits.
    pub fn bit(&mut self, when: Term, width: u16) -> Term {
        let (one, zero) = (self.number(1, width), self.number(0, width));
        self.select(when, one, zero)
    }

    /// Whether a number is not 0.
    pub fn is_set(&mut self, a: Term) -> Term {
        let zero = self.number(0, self.width(a));
        let clear = self.equal(a, zero);
        self.not(clear)
    }

    /// The condition, if the term is 1 where it holds and 0 where not.
    fn as_bit(&self, term: Term) -> Option<Term> {
        match self.shape(term) {
            Shape::Number(0) => Some(Terms::FALSE),
            Shape::Number(1) => Some(Terms::TRUE),
            Shape::Select(when, then, otherwise) => {
                (self.as_number(then) == Some(1) && self.as_number(otherwise) == Some(0)).then_some(when)
            }
            _ => None,
        }
    }

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

    /// `a - b` if that is a number, whatever the leaves are.
    pub fn difference(&mut self, a: Term, b: Term) -> Option<u128> {
        let width = self.width(a);
        if width > 128 {
            return (a == b).then_some(0);
        }
        let (x, y) = (self.sum(a), self.sum(b));
        (x.parts == y.parts).then(|| x.number.wrapping_sub(y.number) & mask(width))
    }

    /// The term as a sum.
    pub(crate) fn sum(&mut self, term: Term) -> Rc<Sum> {
        if let Some(known) = self.sums.get(&term) {
            return known.clone();
        }
        let width = self.width(term);
        let found = match self.shape(term) {
            Shape::Number(number) => Sum { parts: vec![], number },
            Shape::Binary(Operation::Add, a, b) => {
                let (x, y) = (self.sum(a), self.sum(b));
                add(&x, &y, 1, width)
            }
            Shape::Binary(Operation::Subtract, a, b) => {
                let (x, y) = (self.sum(a), self.sum(b));
                add(&x, &y, mask(width), width)
            }
            Shape::Binary(Operation::Multiply, a, b) if self.as_number(b).is_some() => {
                let (x, factor) = (self.sum(a), self.as_number(b).unwrap_or(1));
                add(&Sum::default(), &x, factor, width)
            }
            Shape::Binary(Operation::ShiftLeft, a, b) if self.as_number(b).is_some_and(|by| by < 128) => {
                let (x, by) = (self.sum(a), self.as_number(b).unwrap_or(0));
                add(&Sum::default(), &x, 1 << by, width)
            }
            _ => Sum { parts: vec![(term, 1)], number: 0 },
        };
        let found = Rc::new(if found.parts.len() > 16 { Sum { parts: vec![(term, 1)], number: 0 } } else { found });
        self.sums.insert(term, found.clone());
        found
    }
}

/// `a + factor * b`.
fn add(a: &Sum, b: &Sum, factor: u128, width: u16) -> Sum {
    let mut parts: std::collections::BTreeMap<Term, u128> = a.parts.iter().copied().collect();
    for (term, times) in &b.parts {
        let entry = parts.entry(*term).or_insert(0);
        *entry = entry.wrapping_add(times.wrapping_mul(factor)) & mask(width);
    }
    let number = a.number.wrapping_add(b.number.wrapping_mul(factor)) & mask(width);
    Sum { parts: parts.into_iter().filter(|(_, times)| *times != 0).collect(), number }
}
