//! What is known of one address, for people.

use std::fmt::Write;

use crate::model::Explanation;
use crate::words::{count, grouped};

/// Contexts shown; the others are counted.
const CONTEXTS_SHOWN: usize = 8;

/// The explanation in lines of text. Writing to a text cannot fail, so results of `writeln` are dropped.
pub fn explain(explanation: &Explanation) -> String {
    let mut out = String::new();
    let source = explanation.source.as_deref().map(|source| format!("  {source}")).unwrap_or_default();
    let _ = writeln!(out, "{} {}  {}{source}", explanation.address, explanation.symbol, explanation.instruction);
    for context in explanation.contexts.iter().take(CONTEXTS_SHOWN) {
        let _ = writeln!(out, "  called by {}", context.calls.join(" > "));
        if !context.reachable {
            let _ = writeln!(out, "    no run gets here");
            continue;
        }
        let (times, cycles) = (grouped(context.count), grouped(context.block_cycles));
        let _ = writeln!(out, "    {times} times on the worst path; its block takes at most {cycles} cycles each time");
        for access in &context.accesses {
            let (kind, target, verdict) = (&access.kind, &access.target, &access.verdict);
            let _ = writeln!(out, "    {kind} of {target}: {verdict}, {} cycles", grouped(access.cycles));
        }
        if !context.loops.is_empty() {
            let _ = writeln!(out, "    in the loops at {}", context.loops.join(", "));
        }
    }
    let more = explanation.contexts.len().saturating_sub(CONTEXTS_SHOWN);
    if more > 0 {
        let _ = writeln!(out, "  and in {}", count(more, "other context"));
    }
    if explanation.contexts.is_empty() {
        let _ = writeln!(out, "  no run from the entry gets here");
    }
    out
}
