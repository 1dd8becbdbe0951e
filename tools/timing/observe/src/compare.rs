//! Observed passages against bounds.

use std::collections::BTreeMap;

use serde::Serialize;
use timing_kernel::{Kernel, Kind};

use crate::{Observations, Observed};

/// Passages with the same beginning.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    pub name: String,
    pub passages: u64,
    /// The largest, warm and polluted.
    pub warm_cycles: u64,
    pub observed_cycles: u64,
    pub bound_cycles: Option<u64>,
    /// The smallest bound divided by an observation, and the one in the middle, with polluted caches.
    pub worst_ratio: Option<f64>,
    pub median_ratio: Option<f64>,
    /// Passages above their bound.
    pub above: u64,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Comparison {
    pub passages: u64,
    pub entries: Vec<Entry>,
    /// Passages above their bound: none, if the analysis is right.
    pub above: u64,
    /// Numbers of system calls that were observed.
    pub calls: Vec<u64>,
    pub surprises: BTreeMap<String, u64>,
}

/// Holds observations against the bounds of the kernel's regions, by index. `calls` names system calls, and may give
/// tighter bounds for some of them.
pub fn compare(
    kernel: &Kernel<'_>,
    observations: &Observations,
    bounds: &[Option<u64>],
    calls: &BTreeMap<u64, (String, Option<u64>)>,
) -> Comparison {
    let mut comparison = Comparison { surprises: observations.surprises.clone(), ..Comparison::default() };
    let mut groups: BTreeMap<String, Vec<(&Observed, Option<u64>)>> = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    for observed in &observations.passages {
        let region = &kernel.regions[observed.regions[0]];
        let named = observed.call.and_then(|call| calls.get(&call));
        let name = match (region.kind, observed.call, named) {
            (Kind::SystemCall, _, Some((name, _))) => format!("system call {name}"),
            (Kind::SystemCall, Some(_), None) => "system call with another number".to_string(),
            _ if observed.regions.len() > 1 => {
                format!("{} at one of {} places", region.kind.name(), observed.regions.len())
            }
            _ => region.name.clone(),
        };
        seen.extend(observed.call);
        // Whichever region it is, the bound is at most the largest.
        let all: Option<Vec<u64>> =
            observed.regions.iter().map(|number| bounds.get(*number).copied().flatten()).collect();
        let bound = all.and_then(|all| all.into_iter().max());
        let tighter = named.and_then(|(_, bound)| *bound);
        groups.entry(name).or_default().push((observed, tighter.into_iter().chain(bound).min()));
    }
    for (name, passages) in groups {
        let mut ratios: Vec<f64> = passages
            .iter()
            .filter_map(|(observed, bound)| Some((*bound)? as f64 / observed.cycles.polluted.max(1) as f64))
            .collect();
        ratios.sort_by(f64::total_cmp);
        let most = |of: fn(&Observed) -> u64| passages.iter().map(|(observed, _)| of(observed)).max().unwrap_or(0);
        let over = |(observed, bound): &&(&Observed, Option<u64>)| {
            bound.is_some_and(|bound| observed.cycles.polluted.max(observed.cycles.warm) > bound)
        };
        comparison.entries.push(Entry {
            name,
            passages: passages.len() as u64,
            warm_cycles: most(|observed| observed.cycles.warm),
            observed_cycles: most(|observed| observed.cycles.polluted),
            bound_cycles: passages.iter().filter_map(|(_, bound)| *bound).max(),
            worst_ratio: ratios.first().copied(),
            median_ratio: ratios.get(ratios.len() / 2).copied(),
            above: passages.iter().filter(over).count() as u64,
        });
    }
    comparison.passages = observations.passages.len() as u64;
    comparison.above = comparison.entries.iter().map(|entry| entry.above).sum();
    comparison.calls = seen.into_iter().collect();
    comparison
}
