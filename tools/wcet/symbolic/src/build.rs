//! Building truth values and selections, made smaller where that is simple. Every rewriting keeps the value, whatever the leaves are.

use crate::term::{Operation, Shape, Term, Terms};
use crate::value::{mask, signed};

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
            // Neither is; and back. Not further down, where parts may be met again and again.
            Shape::Either(x, y) if !self.is_either(x) && !self.is_either(y) => {
                let (x, y) = (self.not(x), self.not(y));
                self.both(x, y)
            }
            Shape::Both(x, y) => match (self.shape(x), self.shape(y)) {
                (Shape::Not(x), Shape::Not(y)) => self.either(x, y),
                _ => self.make(Shape::Not(a), 0),
            },
            _ => self.make(Shape::Not(a), 0),
        }
    }

    fn is_either(&self, term: Term) -> bool {
        matches!(self.shape(term), Shape::Either(..))
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

    /// Whether any of them holds. Ways that part at a branch and are both among them become what led to it, and so on.
    pub(crate) fn any(&mut self, all: &[Term]) -> Term {
        let mut apart = std::collections::BTreeSet::new();
        for one in all {
            let mut one = *one;
            while let Shape::Both(before, last) = self.shape(one) {
                let not = self.not(last);
                let other = self.both(before, not);
                if !apart.remove(&other) {
                    break;
                }
                one = before;
            }
            apart.insert(one);
        }
        apart.into_iter().fold(Terms::FALSE, |any, one| self.either(any, one))
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
        let not = self.not(when);
        let otherwise = match self.shape(otherwise) {
            Shape::Select(again, _, last) if again == when => last,
            Shape::Select(again, first, _) if again == not => first,
            _ => otherwise,
        };
        let then = match self.shape(then) {
            Shape::Select(again, first, _) if again == when => first,
            Shape::Select(again, _, last) if again == not => last,
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
    pub(crate) fn as_bit(&mut self, term: Term) -> Option<Term> {
        match self.shape(term) {
            Shape::Number(0) => Some(Terms::FALSE),
            Shape::Number(1) => Some(Terms::TRUE),
            Shape::Select(when, then, otherwise) => match (self.as_number(then), self.as_number(otherwise)) {
                (Some(1), Some(0)) => Some(when),
                (Some(0), Some(1)) => Some(self.not(when)),
                _ => None,
            },
            _ => None,
        }
    }
}
