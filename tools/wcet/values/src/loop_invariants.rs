//! Loop-invariant terms: those that stay the same from one iteration to the next.

use std::collections::HashSet;

use crate::term::{Origin, Term};

/// Whether two terms are the same part of the same symbol, or the same symbol, whatever is added.
pub(crate) fn is_same(a: &Term, b: &Term) -> bool {
    if a.size != b.size || a.number().is_none() {
        return false;
    }
    let part = |term: &Term| match term.symbol.as_ref().map(|symbol| &symbol.origin) {
        Some(Origin::Extract(whole, 0)) if whole.offset == 0 => whole.number(),
        _ => None,
    };
    a.number() == b.number() || part(a).is_some() && part(a) == part(b)
}

/// Whether a term has one value as long as the loop runs.
pub(crate) fn is_the_same_always(term: &Term, phis: &HashSet<u64>, depth: u8) -> bool {
    let Some(symbol) = &term.symbol else { return true };
    if phis.iter().all(|phi| symbol.number < *phi) {
        return true;
    }
    if depth == 0 || phis.contains(&symbol.number) {
        return false;
    }
    let same = |term: &Term| is_the_same_always(term, phis, depth - 1);
    match &symbol.origin {
        Origin::Opaque => false,
        Origin::Unary(_, a) | Origin::Extract(a, _) => same(a),
        Origin::Binary(_, a, b) | Origin::Concat(a, b) => same(a) && same(b),
        Origin::Select(a, b, c) => same(a) && same(b) && same(c),
    }
}

/// Whether a term is made of symbols that change.
pub(crate) fn depends(term: &Term, phis: &HashSet<u64>, depth: u8) -> bool {
    let Some(symbol) = &term.symbol else { return false };
    if phis.contains(&symbol.number) {
        return true;
    }
    if phis.iter().all(|phi| symbol.number < *phi) {
        // Older than the loop.
        return false;
    }
    match &symbol.origin {
        // Made in the loop from nothing known: it may be another value each time, which its set covers.
        Origin::Opaque => false,
        _ if depth == 0 => true,
        Origin::Unary(_, a) | Origin::Extract(a, _) => depends(a, phis, depth - 1),
        Origin::Binary(_, a, b) | Origin::Concat(a, b) => depends(a, phis, depth - 1) || depends(b, phis, depth - 1),
        Origin::Select(a, b, c) => [a, b, c].into_iter().any(|one| depends(one, phis, depth - 1)),
    }
}
