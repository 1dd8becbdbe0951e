//! Rounds of a loop that are limited together, over all that happens from an interrupt to its handler.
//!
//! The scheduler's choice of a thread puts those aside that have no budget. It may have to put all threads aside, but not each
//! time anew: every round takes one out of the ready queues, and only what makes threads ready brings them back. So the rounds
//! of all regions together are as many as there are threads, and those made ready meanwhile.
//!
//! A region's time is split: a price for each round, and the rest, which is bounded by the dearest walk if each round costs the
//! price less. Any price gives a bound, so it does not matter how it was found: times of regions are at most the sum of their
//! rests, and the highest price for each of the rounds that they share.

use std::collections::BTreeSet;

use timing_context::{EdgeId, Expanded};
use timing_solve::{Bound, Constraints, Limit, Options, Prepared};

use crate::kernel::Kernel;

/// The loop of a description, by its function's address and its number, and what limits its rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Together {
    pub place: (u64, usize),
    /// Rounds that there may be at first.
    pub stock: u64,
    /// A function, by its address, each call of which allows one more.
    pub more: u64,
}

/// A region's part in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rounds {
    /// A bound of all but the rounds.
    pub rest_cycles: u64,
    /// For each round.
    pub round_cycles: u64,
    /// Rounds that the region allows beyond those that there may be at first.
    pub more: u64,
}

impl Rounds {
    /// One region after the other.
    pub fn then(self, next: Rounds) -> Rounds {
        Rounds {
            rest_cycles: self.rest_cycles.saturating_add(next.rest_cycles),
            round_cycles: self.round_cycles.max(next.round_cycles),
            more: self.more.saturating_add(next.more),
        }
    }

    /// One or the other.
    pub fn or(self, other: Rounds) -> Rounds {
        Rounds {
            rest_cycles: self.rest_cycles.max(other.rest_cycles),
            round_cycles: self.round_cycles.max(other.round_cycles),
            more: self.more.max(other.more),
        }
    }

    /// So many in turn.
    pub fn times(self, count: u64) -> Rounds {
        let (rest_cycles, more) = (self.rest_cycles.saturating_mul(count), self.more.saturating_mul(count));
        Rounds { rest_cycles, more, ..self }
    }

    /// What all rounds cost.
    pub fn cycles(self, stock: u64) -> u64 {
        self.round_cycles.saturating_mul(stock.saturating_add(self.more))
    }
}

/// The edges with which rounds of the loop begin anew.
fn back(kernel: &Kernel<'_>, expanded: &Expanded<'_>, dead: &BTreeSet<EdgeId>) -> Vec<Vec<EdgeId>> {
    let Some(together) = &kernel.together else { return Vec::new() };
    let of_it =
        expanded.loops.iter().filter(|one| (expanded.contexts[one.context].function, one.index) == together.place);
    let alive = of_it.map(|one| one.back.iter().copied().filter(|edge| !dead.contains(edge)).collect::<Vec<_>>());
    alive.filter(|edges| !edges.is_empty()).collect()
}

/// How many rounds more a region allows, at most.
fn more(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    prepared: &Prepared<'_, '_>,
    constraints: &Constraints,
) -> Option<u64> {
    let function = kernel.together.as_ref()?.more;
    let called = |node: usize| {
        expanded.contexts[expanded.nodes[node].context].function == function && expanded.block(node).start() == function
    };
    prepared.executions(constraints, called).ok().flatten()
}

/// Where a region comes to the loop several times, the limit for all of them.
pub(crate) fn limit(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    prepared: &Prepared<'_, '_>,
    constraints: &Constraints,
) -> Option<Limit> {
    let together = kernel.together.as_ref()?;
    let back = back(kernel, expanded, &constraints.dead);
    if back.len() < 2 {
        return None;
    }
    let at_most = together.stock.checked_add(more(kernel, expanded, prepared, constraints)?)?;
    let terms = back.into_iter().flatten().map(|edge| (edge, 1)).collect();
    Some(Limit { terms, at_most: i64::try_from(at_most).ok()? })
}

/// Splits a region's time, of which a bound is known without that limit; None if that fails.
pub(crate) fn split(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    prepared: &Prepared<'_, '_>,
    constraints: &Constraints,
    bound: &Bound,
) -> Option<Rounds> {
    let more = more(kernel, expanded, prepared, constraints)?;
    let whole = Rounds { rest_cycles: bound.wcet_cycles, round_cycles: 0, more };
    let back: Vec<EdgeId> = back(kernel, expanded, &constraints.dead).into_iter().flatten().collect();
    let taken: u64 = back.iter().filter_map(|edge| bound.edges.get(edge)).sum();
    if taken == 0 {
        return Some(whole);
    }
    let solve =
        |constraints: &Constraints| prepared.bound(constraints, &Options::default()).ok().map(|one| one.wcet_cycles);
    let mut without = constraints.clone();
    without.dead.extend(back.iter().copied());
    let none = solve(&without)?;
    let rest = |price: u64| {
        let mut paid = constraints.clone();
        paid.credits = back.iter().map(|edge| (*edge, price)).collect();
        solve(&paid)
    };
    // The price of a round on the dearest walk; then more, as far as some walk has dearer ones.
    let mut price = bound.wcet_cycles.saturating_sub(none).div_ceil(taken);
    let mut left = rest(price)?;
    if left > none {
        price += (left - none).div_ceil(taken);
        left = rest(price)?;
    }
    Some(Rounds { rest_cycles: left, round_cycles: price, more })
}
