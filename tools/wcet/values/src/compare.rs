//! What comparisons of terms come to, for all that is known of them.

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::Binary;

use crate::state::{is_comparison, State, World};
use crate::term::{Origin, Root, Term};
use crate::transfer;

impl State {
    /// Two terms that compare like these, where one is computed from the other: the base that both share is gone.
    pub fn without_base(&self, operation: Binary, a: &Term, b: &Term) -> Option<(Term, Term)> {
        let size = a.size;
        let apart = |whole: &Term| {
            let symbol = whole.symbol.as_ref()?;
            match &symbol.origin {
                Origin::Binary(Binary::Add, x, y) if x.size == size => Some((x.clone(), y.clone(), whole.offset)),
                _ => None,
            }
        };
        let less = |whole: &Term, part: &Term| {
            let (x, y, offset) = apart(whole)?;
            for (base, rest) in [(&x, &y), (&y, &x)] {
                if base.number().is_some() && base.number() == part.number() {
                    let left = Term::constant(part.offset.wrapping_sub(base.offset).wrapping_sub(offset), size);
                    return Some((rest.clone(), left, base.plus(offset)));
                }
            }
            None
        };
        let equality = matches!(operation, Binary::Equal | Binary::NotEqual);
        let straight = |base: &Term, rest: &Term, left: &Term| {
            // As unsigned numbers, if nothing wraps around.
            let more = self.numbers(rest).unsigned().1.max(self.numbers(left).unsigned().1);
            let most = self.numbers(base).unsigned().1.checked_add(more);
            matches!(operation, Binary::Less | Binary::LessEqual) && most.is_some_and(|most| most <= mask(size))
        };
        if let Some((rest, left, base)) = less(b, a) {
            return (equality || straight(&base, &rest, &left)).then_some((left, rest));
        }
        if let Some((rest, left, base)) = less(a, b) {
            return (equality || straight(&base, &rest, &left)).then_some((rest, left));
        }
        None
    }

    /// Whether a comparison surely holds, or surely does not.
    pub fn compare(&self, world: &World<'_>, operation: Binary, a: &Term, b: &Term) -> Option<bool> {
        if let Some((a, b)) = self.without_base(operation, a, b) {
            if let Some(truth) = transfer::truth(operation, &self.numbers(&a), &self.numbers(&b)) {
                return Some(truth);
            }
        }
        let sets = (self.numbers(a), self.numbers(b));
        if let Some(truth) = transfer::truth(operation, &sets.0, &sets.1) {
            return Some(truth);
        }
        if a == b {
            match operation {
                Binary::Equal | Binary::LessEqual | Binary::LessEqualSigned => return Some(true),
                Binary::NotEqual | Binary::Less | Binary::LessSigned => return Some(false),
                _ => {}
            }
        }
        if a.number().is_some() && a.number() == b.number() && a.offset != b.offset {
            match operation {
                Binary::Equal => return Some(false),
                Binary::NotEqual => return Some(true),
                _ => {}
            }
        }
        if a.size != world.pointer {
            return None;
        }
        let ((root_a, set_a), (root_b, set_b)) = (self.address(a, world.pointer), self.address(b, world.pointer));
        if root_a != root_b || root_a == Root::Zero {
            return None;
        }
        match operation {
            Binary::Equal | Binary::NotEqual => transfer::truth(operation, &set_a, &set_b),
            // The stack does not wrap around.
            Binary::Less if root_a == Root::Stack => transfer::truth(Binary::LessSigned, &set_a, &set_b),
            Binary::LessEqual if root_a == Root::Stack => transfer::truth(Binary::LessEqualSigned, &set_a, &set_b),
            _ => None,
        }
    }

    /// The truth of a comparison that came out of a pattern.
    pub fn settle(&self, world: &World<'_>, term: Term) -> Term {
        let Origin::Binary(operation, a, b) = term.origin() else { return term };
        if !is_comparison(*operation) {
            return term;
        }
        match self.compare(world, *operation, a, b) {
            Some(truth) => Term::constant(u128::from(truth), 1),
            None if self.known(term.number().unwrap_or(u64::MAX)).is_some_and(|set| set.stride == 0) => {
                Term::constant(self.numbers(&term).low, 1)
            }
            None => term,
        }
    }
}

/// The comparison that holds exactly where this one does not.
pub(crate) fn opposite<T>(operation: Binary, a: T, b: T) -> Option<(Binary, T, T)> {
    Some(match operation {
        Binary::Equal => (Binary::NotEqual, a, b),
        Binary::NotEqual => (Binary::Equal, a, b),
        Binary::Less => (Binary::LessEqual, b, a),
        Binary::LessEqual => (Binary::Less, b, a),
        Binary::LessSigned => (Binary::LessEqualSigned, b, a),
        Binary::LessEqualSigned => (Binary::LessSigned, b, a),
        _ => return None,
    })
}
