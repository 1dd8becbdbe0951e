//! Waits by powers of two, as a small picture whose axis is the same for all.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The axis: from 64 to 2^31, beyond which all is one bar at its end.
const FIRST: u32 = 6;
const LAST: u32 = 31;
const BAR: u32 = 6;
const HEIGHT: usize = 24;

/// `counts` is by exponent: so many are below that power of two, and not below half of it. A bound is a line. Writing to a text
/// cannot fail, so results of `write` are dropped.
pub fn histogram(counts: &BTreeMap<u32, usize>, bound: Option<u64>) -> String {
    let width = (LAST - FIRST + 1) * BAR;
    let mut out = format!(
        "<svg class=\"histogram\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" aria-label=\"how often, by powers of two\">"
    );
    let most = counts.values().copied().max().unwrap_or(1).max(1);
    for (exponent, count) in counts {
        let tall = (count * (HEIGHT - 2)).div_ceil(most);
        let _ = write!(
            out,
            "<rect class=\"c0\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{tall}\"><title>{count} below {}</title></rect>",
            at(*exponent),
            HEIGHT - tall,
            BAR - 1,
            1u64.checked_shl(*exponent).unwrap_or(u64::MAX)
        );
    }
    if let Some(bound) = bound {
        let x = at(u64::BITS - bound.leading_zeros()) + BAR;
        let _ = write!(
            out,
            "<line class=\"missed\" x1=\"{x}\" y1=\"0\" x2=\"{x}\" y2=\"{HEIGHT}\"><title>bound {bound}</title></line>"
        );
    }
    out.push_str("</svg>");
    out
}

fn at(exponent: u32) -> u32 {
    (exponent.clamp(FIRST, LAST) - FIRST) * BAR
}
