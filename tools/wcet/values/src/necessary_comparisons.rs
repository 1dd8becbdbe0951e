//! The comparisons that a condition, or its negation, implies, in their most informative form.

use wcet_binary::lift::evaluate::{mask, signed};
use wcet_binary::lift::il::{Binary, Unary};

use crate::compare::opposite;
use crate::state::{is_comparison, State};
use crate::term::{Origin, Term};

/// Conditions inside conditions, at most.
pub(crate) const MOST_NESTED: u8 = 6;

/// The comparisons all of which hold where a condition is `truth`.
pub(crate) fn needs(state: &State, condition: &Term, truth: bool, depth: u8, found: &mut Vec<(Binary, Term, Term)>) {
    if depth == 0 {
        return;
    }
    let mut more = |term: &Term, truth: bool| needs(state, term, truth, depth - 1, found);
    match condition.origin() {
        Origin::Unary(Unary::BoolNot, inner) => more(inner, !truth),
        Origin::Unary(Unary::ZeroExtend, inner) if inner.size == 1 => more(inner, truth),
        Origin::Binary(Binary::And, a, b) if truth && condition.size == 1 && are_flags(a, b) => {
            more(a, true);
            more(b, true);
        }
        Origin::Binary(Binary::Or, a, b) if !truth && condition.size == 1 && are_flags(a, b) => {
            more(a, false);
            more(b, false);
        }
        Origin::Select(when, then, otherwise) => {
            if !state.may_be(otherwise, truth) {
                more(when, true);
                more(then, truth);
            } else if !state.may_be(then, truth) {
                more(when, false);
                more(otherwise, truth);
            }
        }
        Origin::Binary(operation, a, b) if condition.size == 1 && is_comparison(*operation) => {
            let holds = if truth { Some((*operation, a, b)) } else { opposite(*operation, a, b) };
            found.extend(holds.map(|(operation, a, b)| (operation, a.clone(), b.clone())));
        }
        _ => {}
    }
}

/// Whether both are 0 or 1.
fn are_flags(a: &Term, b: &Term) -> bool {
    [a, b].into_iter().all(|term| term.size == 1 && term.widest().unsigned().1 <= 1)
}

/// Both sides without what keeps their order, extensions for instance, and how these then compare.
pub(crate) fn peel(counter: &Term, limit: &Term, state: &State, operation: Binary) -> (Term, Term, Binary) {
    let (mut counter, mut limit, mut operation) = (counter.clone(), limit.clone(), operation);
    loop {
        let Some(number) = limit.as_constant() else { return (counter, limit, operation) };
        let next = match counter.origin() {
            Origin::Unary(Unary::ZeroExtend, inner) if number <= mask(inner.size) => {
                // What is extended so is not negative, whatever the half's upper bit says.
                operation = match operation {
                    Binary::LessSigned => Binary::Less,
                    Binary::LessEqualSigned => Binary::LessEqual,
                    other => other,
                };
                (inner.clone(), Term::constant(number, inner.size))
            }
            Origin::Unary(Unary::SignExtend, inner)
                if !matches!(operation, Binary::Less | Binary::LessEqual)
                    && signed(number & mask(inner.size), inner.size) == signed(number, counter.size) =>
            {
                (inner.clone(), Term::constant(number, inner.size))
            }
            Origin::Extract(inner, 0)
                if matches!(operation, Binary::Equal | Binary::NotEqual | Binary::Less | Binary::LessEqual)
                    && state.numbers(inner).unsigned().1 <= mask(counter.size) =>
            {
                (inner.clone(), Term::constant(number, inner.size))
            }
            _ => return (counter, limit, operation),
        };
        (counter, limit) = next;
    }
}
