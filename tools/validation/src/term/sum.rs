//! Sums: multiples of terms and a constant, modulo 2^width, in one order.

use std::collections::BTreeMap;

use super::build::{extract, zero_extend};
use super::{constant, intern, mask, Node, Term, POOL};

/// The term as a sum.
pub(super) fn parts(term: Term) -> (Vec<(Term, u128)>, u128) {
    match term.node() {
        Node::Constant(value) => (Vec::new(), value),
        Node::Sum(terms, rest) => (terms.to_vec(), rest),
        _ => (vec![(term, 1)], 0),
    }
}

/// The sum of the terms as often as is said, and of the rest. Terms that are sums become part of it.
pub(super) fn sum(terms: impl IntoIterator<Item = (Term, u128)>, rest: u128, width: u32) -> Term {
    let all = mask(width);
    let mut together: BTreeMap<Term, u128> = BTreeMap::new();
    let mut rest = rest;
    for (term, times) in terms {
        let (inner, more) = parts(term);
        rest = rest.wrapping_add(more.wrapping_mul(times));
        for (term, one) in inner {
            let held = together.entry(term).or_insert(0);
            *held = held.wrapping_add(one.wrapping_mul(times)) & all;
        }
    }
    together.retain(|_, times| *times != 0);
    let rest = rest.wrapping_add(join_neighbours(&mut together, width)) & all;
    match (together.len(), rest) {
        (0, _) => return constant(rest, width),
        (1, 0) => {
            if let Some((term, 1)) = together.first_key_value().map(|(term, times)| (*term, *times)) {
                return term;
            }
        }
        _ => {}
    }
    intern(Node::Sum(together.into_iter().collect(), rest), width)
}

/// Two extracts of one term that lie side by side are one extract. Returns a constant that comes in addition.
fn join_neighbours(together: &mut BTreeMap<Term, u128>, width: u32) -> u128 {
    let mut constant = 0u128;
    loop {
        let pieces: Vec<(Term, u128, Term, u32, u32)> = together
            .iter()
            .filter_map(|(term, times)| {
                let (inner, piece) = match term.node() {
                    Node::ZeroExtend(inner) => (inner.node(), inner),
                    node => (node, *term),
                };
                match inner {
                    Node::Extract(low, of) if times.is_power_of_two() => Some((*term, *times, of, low, piece.width())),
                    _ => None,
                }
            })
            .collect();
        let joined = pieces.iter().find_map(|lower| {
            pieces.iter().find_map(|upper| {
                let fits = lower.2 == upper.2
                    && upper.3 == lower.3 + lower.4
                    && lower.1.checked_shl(lower.4) == Some(upper.1)
                    && lower.1.trailing_zeros() + lower.4 < 128;
                fits.then_some((*lower, *upper))
            })
        });
        let Some((lower, upper)) = joined else { return constant };
        together.remove(&lower.0);
        together.remove(&upper.0);
        let size = (lower.4 + upper.4).min(width);
        let whole = zero_extend(extract(lower.2, lower.3, size), width);
        // The joined piece may be a sum itself, if all of the term is there.
        let (terms, rest) = parts(whole);
        constant = constant.wrapping_add(rest.wrapping_mul(lower.1));
        for (term, times) in terms {
            let held = together.entry(term).or_insert(0);
            *held = held.wrapping_add(times.wrapping_mul(lower.1)) & mask(width);
        }
        together.retain(|_, times| *times != 0);
    }
}

/// Bits that are 0 in every value of the term.
pub fn zeros(term: Term) -> u128 {
    if let Some(known) = POOL.with(|pool| pool.borrow().zeros.get(&term).copied()) {
        return known;
    }
    let width = term.width();
    let all = mask(width);
    let known = match term.node() {
        Node::Constant(value) => !value,
        Node::ZeroExtend(inner) => zeros(inner) | !mask(inner.width()),
        Node::Extract(low, inner) => zeros(inner) >> low,
        Node::If(_, a, b) => zeros(a) & zeros(b),
        Node::Binary(super::Binary::And, a, b) => zeros(a) | zeros(b),
        Node::Binary(super::Binary::Or | super::Binary::Xor, a, b) => zeros(a) & zeros(b),
        Node::Binary(super::Binary::Divide, a, b) => match b.value() {
            Some(divisor) if divisor > 0 => !mask(128 - ((!zeros(a) & mask(width)) / divisor).leading_zeros()),
            _ => 0,
        },
        Node::LeadingZeros(_) => !0xff,
        Node::Sum(terms, rest) => sum_zeros(&terms, rest, width),
        _ => 0,
    } & all;
    POOL.with(|pool| pool.borrow_mut().zeros.insert(term, known));
    known
}

fn sum_zeros(terms: &[(Term, u128)], rest: u128, width: u32) -> u128 {
    let all = mask(width);
    let trailing = terms
        .iter()
        .map(|(term, times)| times.trailing_zeros() + (zeros(*term)).trailing_ones())
        .chain((rest != 0).then(|| rest.trailing_zeros()))
        .min()
        .unwrap_or(width)
        .min(width);
    let low = mask(trailing);
    // Parts without a common bit: no carry.
    let mut used = rest;
    for (term, times) in terms {
        let may = !zeros(*term) & mask(term.width());
        let shift = times.trailing_zeros();
        let disjoint = times.is_power_of_two() && may.leading_zeros() >= shift && (may << shift) & used == 0;
        if !disjoint || (may << shift) & !all != 0 {
            return low | bound_zeros(terms, rest, width);
        }
        used |= may << shift;
    }
    low | !used
}

/// Above the largest value, if the sum cannot wrap around.
fn bound_zeros(terms: &[(Term, u128)], rest: u128, width: u32) -> u128 {
    match largest(terms, rest) {
        Some(largest) if largest <= mask(width) => !mask(128 - largest.leading_zeros()),
        _ => 0,
    }
}

/// The largest value of the sum without wrapping around; none if that is over 128 bits.
pub(super) fn largest(terms: &[(Term, u128)], rest: u128) -> Option<u128> {
    terms.iter().try_fold(rest, |largest, (term, times)| {
        let most = !zeros(*term) & mask(term.width());
        largest.checked_add(most.checked_mul(*times)?)
    })
}
