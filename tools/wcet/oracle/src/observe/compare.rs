//! Observed passages against bounds.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use wcet_kernel::{Kernel, Kind};

use crate::observe::{Observations, Observed, Statement};

/// System calls that exchange messages and notifications.
const MESSAGES: [&str; 7] = ["call", "reply_recv", "send", "recv", "reply", "signal", "wait"];

/// Bounds divided by what was observed, in caches full of other, written lines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratios {
    pub least: f64,
    pub median: f64,
    pub most: f64,
}

impl Ratios {
    fn of(mut ratios: Vec<f64>) -> Option<Ratios> {
        ratios.sort_by(f64::total_cmp);
        Some(Ratios { least: *ratios.first()?, median: ratios[ratios.len() / 2], most: *ratios.last()? })
    }
}

/// Passages with the same beginning.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    pub name: String,
    pub kind: &'static str,
    pub passages: u64,
    /// The largest, warm and polluted.
    pub warm_cycles: u64,
    pub observed_cycles: u64,
    /// Of the whole region, whose worst path may be another one; each passage held against it.
    pub bound_cycles: Option<u64>,
    pub ratio: Option<Ratios>,
    /// Passages above it.
    pub above: u64,
    /// The paths that they take, and the bound of each held against the longest passage that took it.
    pub paths: u64,
    pub path_bound_cycles: Option<u64>,
    pub path_ratio: Option<Ratios>,
    /// Passages above the bound of their path.
    pub above_path: u64,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Comparison {
    pub passages: u64,
    pub paths: u64,
    pub entries: Vec<Entry>,
    /// Passages above the bound of their region, or of their path: none, if the analysis is right.
    pub above: u64,
    pub above_path: u64,
    /// Passages that were held against a bound of their region, and against one of their path.
    pub held: u64,
    pub held_path: u64,
    /// Ratios of the paths of system calls that exchange messages, and of interrupts.
    pub messages: Option<Ratios>,
    pub interrupts: Option<Ratios>,
    /// System calls that were observed, and those that were not.
    pub calls: Vec<String>,
    pub missing: Vec<String>,
    /// Why paths have no bound, and of how many that is so.
    pub without_bound: BTreeMap<String, u64>,
    pub surprises: BTreeMap<String, u64>,
    /// What bounds rest on, held against what happened.
    pub statements: Vec<Statement>,
    /// Accesses of which the analysis says only that they go to memory.
    pub anywhere: u64,
}

/// Passages with the same beginning, with the bounds of their regions.
#[derive(Default)]
struct Group<'o> {
    passages: Vec<(&'o Observed, Option<u64>)>,
    kind: Option<Kind>,
}

fn observed_cycles(observed: &Observed) -> u64 {
    observed.cycles.polluted.max(observed.cycles.warm).max(1)
}

/// Holds observations against the bounds of the kernel's regions, by their index, and against those of paths. `calls` names
/// system calls.
pub fn compare(
    kernel: &Kernel<'_>,
    observations: &Observations,
    bounds: &[Option<u64>],
    calls: &BTreeMap<u64, String>,
) -> Comparison {
    let mut comparison = Comparison {
        surprises: observations.surprises.clone(),
        statements: observations.statements.clone(),
        anywhere: observations.anywhere,
        ..Comparison::default()
    };
    let mut groups: BTreeMap<String, Group<'_>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for observed in &observations.passages {
        let region = &kernel.regions[observed.regions[0]];
        let name = match (region.kind, observed.call) {
            (Kind::SystemCall, Some(call)) => {
                format!("system call {}", calls.get(&call).map_or("with another number", String::as_str))
            }
            _ if observed.regions.len() > 1 => {
                format!("{} at one of {} places", region.kind.name(), observed.regions.len())
            }
            _ => region.name.clone(),
        };
        seen.extend(observed.call);
        // Whichever region it is, the bound is at most the largest.
        let all: Option<Vec<u64>> =
            observed.regions.iter().map(|number| bounds.get(*number).copied().flatten()).collect();
        let group = groups.entry(name).or_default();
        group.passages.push((observed, all.and_then(|all| all.into_iter().max())));
        group.kind = Some(region.kind);
    }
    let (mut messages, mut interrupts) = (Vec::new(), Vec::new());
    for (name, group) in groups {
        let (entry, ratios) = entry(name, &group, &observations.paths);
        let call = entry.name.strip_prefix("system call ");
        if call.is_some_and(|call| MESSAGES.contains(&call)) {
            messages.extend(&ratios);
        }
        if matches!(group.kind, Some(Kind::Interrupt | Kind::Inside)) {
            interrupts.extend(&ratios);
        }
        comparison.entries.push(entry);
    }
    (comparison.messages, comparison.interrupts) = (Ratios::of(messages), Ratios::of(interrupts));
    comparison.passages = observations.passages.len() as u64;
    comparison.paths = observations.paths.len() as u64;
    comparison.above = comparison.entries.iter().map(|entry| entry.above).sum();
    comparison.above_path = comparison.entries.iter().map(|entry| entry.above_path).sum();
    let held = |entry: &&Entry| entry.bound_cycles.is_some();
    comparison.held = comparison.entries.iter().filter(held).map(|entry| entry.passages).sum();
    let bounded = |observed: &&Observed| observed.path.is_some_and(|path| observations.paths[path].is_ok());
    comparison.held_path = observations.passages.iter().filter(bounded).count() as u64;
    for why in observations.paths.iter().filter_map(|bound| bound.as_ref().err()) {
        *comparison.without_bound.entry(why.clone()).or_default() += 1;
    }
    let (made, missing): (Vec<_>, Vec<_>) = calls.iter().partition(|(number, _)| seen.contains(number));
    comparison.calls = made.into_iter().map(|(_, name)| name.clone()).collect();
    comparison.missing = missing.into_iter().map(|(_, name)| name.clone()).collect();
    comparison
}

/// Passages with the same beginning, and the ratios of their paths.
fn entry(name: String, group: &Group<'_>, paths: &[Result<u64, String>]) -> (Entry, Vec<f64>) {
    let passages = &group.passages;
    let path_of =
        |observed: &Observed| observed.path.and_then(|path| paths[path].as_ref().ok().map(|bound| (path, *bound)));
    let ratios =
        passages.iter().filter_map(|(observed, bound)| Some((*bound)? as f64 / observed_cycles(observed) as f64));
    let mut longest: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for (observed, _) in passages {
        if let Some((path, bound)) = path_of(observed) {
            let cycles = observed_cycles(observed);
            let known = longest.entry(path).or_insert((bound, 0));
            known.1 = known.1.max(cycles);
        }
    }
    let path_ratios: Vec<f64> = longest.values().map(|(bound, cycles)| *bound as f64 / *cycles as f64).collect();
    let most = |of: fn(&Observed) -> u64| passages.iter().map(|(observed, _)| of(observed)).max().unwrap_or(0);
    let over =
        |(observed, bound): &&(&Observed, Option<u64>)| bound.is_some_and(|bound| observed_cycles(observed) > bound);
    let over_path = |(observed, _): &&(&Observed, Option<u64>)| {
        path_of(observed).is_some_and(|(_, bound)| observed_cycles(observed) > bound)
    };
    let distinct: BTreeSet<Option<usize>> = passages.iter().map(|(observed, _)| observed.path).collect();
    let entry = Entry {
        name,
        kind: group.kind.map_or("", Kind::name),
        passages: passages.len() as u64,
        warm_cycles: most(|observed| observed.cycles.warm),
        observed_cycles: most(|observed| observed.cycles.polluted),
        // All of them, or none: a largest bound of some would say too much.
        bound_cycles: passages
            .iter()
            .map(|(_, bound)| *bound)
            .collect::<Option<Vec<_>>>()
            .and_then(|all| all.into_iter().max()),
        ratio: Ratios::of(ratios.collect()),
        above: passages.iter().filter(over).count() as u64,
        paths: distinct.len() as u64,
        path_bound_cycles: longest.values().map(|(bound, _)| *bound).max(),
        path_ratio: Ratios::of(path_ratios.clone()),
        above_path: passages.iter().filter(over_path).count() as u64,
    };
    (entry, path_ratios)
}
