//! Comparisons in a normal form.

use super::build::{extract, not, sub};
use super::sum::{parts, sum, zeros};
use super::{constant, intern, mask, Binary, Node, Term};

fn truth(holds: bool) -> Term {
    constant(u128::from(holds), 1)
}

/// The term below a zero extension, and its width; constants that fit a width count as such.
fn narrow(a: Term, b: Term) -> Option<(Term, Term)> {
    match (a.node(), b.node()) {
        (Node::ZeroExtend(x), Node::ZeroExtend(y)) if x.width() == y.width() => Some((x, y)),
        (Node::ZeroExtend(x), Node::Constant(value)) if value <= mask(x.width()) => {
            Some((x, constant(value, x.width())))
        }
        (Node::Constant(value), Node::ZeroExtend(y)) if value <= mask(y.width()) => {
            Some((constant(value, y.width()), y))
        }
        _ => None,
    }
}

/// The largest value that known zero bits leave.
fn most(term: Term) -> u128 {
    !zeros(term) & mask(term.width())
}

pub fn equal(a: Term, b: Term) -> Term {
    if a == b {
        return truth(true);
    }
    if let Some((a, b)) = narrow(a, b) {
        return equal(a, b);
    }
    let width = a.width();
    for (one, other) in [(a, b), (b, a)] {
        match (one.node(), other.value()) {
            (_, Some(1)) if width == 1 => return one,
            (_, Some(0)) if width == 1 => return not(one),
            (_, Some(value)) if value & zeros(one) != 0 => return truth(false),
            (Node::If(c, x, y), Some(value)) => match (x.value(), y.value()) {
                (Some(x), Some(y)) if x != value && y != value => return truth(false),
                (Some(x), Some(y)) if x == value && y != value => return c,
                (Some(x), Some(y)) if x != value && y == value => return not(c),
                _ => {}
            },
            _ => {}
        }
    }
    // The difference, what is added on the left, what is taken away on the right.
    let (terms, rest) = parts(sub(a, b));
    if terms.is_empty() {
        return truth(rest == 0);
    }
    let half = 1u128 << (width - 1);
    let turned = terms[0].1 > half;
    let sign = |times: u128| if turned { times.wrapping_neg() & mask(width) } else { times };
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (term, times) in terms {
        let times = sign(times);
        if times > half {
            right.push((term, times.wrapping_neg() & mask(width)));
        } else {
            left.push((term, times));
        }
    }
    let left = sum(left, 0, width);
    let right = sum(right, sign(rest).wrapping_neg(), width);
    if let Some((a, b)) = narrow(left, right) {
        return equal(a, b);
    }
    if right.value().is_some_and(|value| value & zeros(left) != 0) {
        return truth(false);
    }
    intern(Node::Binary(Binary::Equal, left, right), 1)
}

/// a < b as unsigned numbers.
pub fn less(a: Term, b: Term) -> Term {
    match (a.value(), b.value()) {
        (Some(a), Some(b)) => return truth(a < b),
        (_, Some(0)) => return truth(false),
        (_, Some(1)) => return equal(a, constant(0, a.width())),
        (Some(0), _) => return not(equal(b, constant(0, b.width()))),
        (_, Some(b)) if most(a) < b => return truth(true),
        (Some(a), _) if most(b) <= a => return truth(false),
        _ => {}
    }
    if a == b {
        return truth(false);
    }
    if let Some((a, b)) = narrow(a, b) {
        return less(a, b);
    }
    intern(Node::Binary(Binary::Less, a, b), 1)
}

/// a < b as signed numbers.
pub fn less_signed(a: Term, b: Term) -> Term {
    let width = a.width();
    if a == b {
        return truth(false);
    }
    if b.value() == Some(0) {
        return extract(a, width - 1, 1);
    }
    let top = 1u128 << (width - 1);
    // Both without sign.
    if zeros(a) & zeros(b) & top != 0 {
        return less(a, b);
    }
    if let (Some(a), Some(b)) = (a.value(), b.value()) {
        return truth((a ^ top) < (b ^ top));
    }
    intern(Node::Binary(Binary::LessSigned, a, b), 1)
}
