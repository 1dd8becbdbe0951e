//! Model checking for the loops that inference leaves without a bound, or with one that may not be the least.
//!
//! First each loop that is left is unrolled by itself for a while; then a measure is sought that each iteration makes smaller,
//! which takes one iteration alone; then, if a loop is open, each path of the region is executed by itself, which is enough where those are few;
//! then the region is followed as a whole, which says most; where that is too much, loops
//! are unrolled by themselves with more effort. Inner loops first, since outer ones are unrolled with the bounds of those
//! inside. What was found for one loop never depends on a guess about another: only bounds that are proven, or stated, are handed on.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::loop_bounds::LoopBound;
use wcet_binary::load::Program;
use wcet_flow::context::{Expanded, LoopId};
use wcet_symbolic::{
    bound_by_measure, follow, least_bound, walk, Checked, Effort, Following, Frames, Setting, Sharing, SolverError,
    Walking,
};
use wcet_values::{Left, Values};

/// Bounds what is left, in place; returns the loops that were.
pub fn check(
    program: &Program,
    expanded: &Expanded<'_>,
    values: &Values,
    sharing: Sharing,
    switches: &BTreeSet<u64>,
    deadline: Option<Instant>,
    bounds: &mut [LoopBound],
) -> Result<BTreeSet<LoopId>, SolverError> {
    let mut checked = BTreeSet::new();
    if bounds.is_empty() {
        return Ok(checked);
    }
    let frames = Frames::of(program, expanded, switches);
    let setting = Setting { program, graph: expanded, frames: &frames, values: Some(values), sharing, switches };
    unroll(&setting, &Effort { deadline, ..Effort::little() }, bounds, &mut checked, false)?;
    measure(&setting, &Effort { deadline, ..Effort::of_one_iteration() }, bounds, &mut checked)?;
    // To make bounds smaller that are there is worth less than to find one.
    let open = bounds.iter().any(|found| found.bound.is_none());
    if open {
        each_path(&setting, &Walking { deadline, ..Walking::default() }, bounds, &mut checked)?;
    }
    let open = bounds.iter().any(|found| found.bound.is_none());
    let effort = Following { deadline, ..if open { Following::default() } else { Following::little() } };
    let found = follow(&setting, &|one| bounds[one].bound, &effort)?;
    for (one, found) in found.into_iter().enumerate() {
        match found {
            Ok(found) if bounds[one].bound.is_none_or(|bound| found.bound < bound) => {
                take(&mut bounds[one], found);
                checked.insert(one);
            }
            Ok(_) => {}
            Err(why) => refuse(&mut bounds[one], &format!("by following all loops: {why}")),
        }
    }
    unroll(&setting, &Effort { deadline, ..Effort::default() }, bounds, &mut checked, true)?;
    Ok(checked)
}

/// All loops of a region whose paths are few: the bounds that this gives are the least there are.
fn each_path(
    setting: &Setting<'_, '_>,
    effort: &Walking,
    bounds: &mut [LoopBound],
    checked: &mut BTreeSet<LoopId>,
) -> Result<(), SolverError> {
    match walk(setting, effort)? {
        Ok(found) => {
            for (one, found) in found.into_iter().enumerate() {
                if bounds[one].bound.is_none_or(|bound| found.bound < bound) {
                    take(&mut bounds[one], found);
                    checked.insert(one);
                }
            }
        }
        Err(why) => bounds.iter_mut().for_each(|one| refuse(one, &format!("by executing each path: {why}"))),
    }
    Ok(())
}

/// Loops without a bound of which one iteration tells that they end.
fn measure(
    setting: &Setting<'_, '_>,
    effort: &Effort,
    bounds: &mut [LoopBound],
    checked: &mut BTreeSet<LoopId>,
) -> Result<(), SolverError> {
    for index in (0..bounds.len()).rev().filter(|index| bounds[*index].bound.is_none()).collect::<Vec<_>>() {
        if effort.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
        let known = |id: LoopId| bounds.iter().find(|found| found.loop_id == id).and_then(|found| found.bound);
        if let Some(found) = bound_by_measure(setting, bounds[index].loop_id, &known, effort)? {
            take(&mut bounds[index], found);
            checked.insert(index);
        }
    }
    Ok(())
}

/// Each loop without a bound by itself; `last` if nothing is tried for it after that.
fn unroll(
    setting: &Setting<'_, '_>,
    effort: &Effort,
    bounds: &mut [LoopBound],
    checked: &mut BTreeSet<LoopId>,
    last: bool,
) -> Result<(), SolverError> {
    // Loops stand outer ones first.
    for index in (0..bounds.len()).rev().filter(|index| bounds[*index].bound.is_none()).collect::<Vec<_>>() {
        let late = effort.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let known = |id: LoopId| bounds.iter().find(|found| found.loop_id == id).and_then(|found| found.bound);
        let found = match late {
            true => Err("no time was left to search for a bound".to_string()),
            false => least_bound(setting, bounds[index].loop_id, &known, effort)?,
        };
        match found {
            Ok(found) => {
                take(&mut bounds[index], found);
                checked.insert(index);
            }
            Err(why) if last => refuse(&mut bounds[index], &format!("by unrolling: {why}")),
            Err(_) => {}
        }
    }
    Ok(())
}

/// The solver ended before its time: loops that have no bound keep none, and say why.
pub fn lost(bounds: &mut [LoopBound], why: &SolverError) {
    bounds.iter_mut().for_each(|bound| refuse(bound, &format!("by model checking: {why}")));
}

fn take(bound: &mut LoopBound, found: Checked) {
    bound.bound = Some(found.bound);
    bound.evidence = found.evidence;
    bound.reason = None;
    bound.least = None;
}

/// Adds to the reason why there is no bound.
/// Loops without a bound were not bounded by executing the one run of the region either.
pub fn no_one_run(program: &Program, left: &Left, bounds: &mut [LoopBound]) {
    let why = format!("by executing its one run: at {} {}", program.describe(left.address), left.why);
    bounds.iter_mut().for_each(|bound| refuse(bound, &why));
}

fn refuse(bound: &mut LoopBound, why: &str) {
    if bound.bound.is_none() {
        let reason = bound.reason.take().filter(|reason| !reason.is_empty());
        let reason = reason.map(|reason| format!("{reason}; ")).unwrap_or_default();
        bound.reason = Some(format!("{reason}{why}"));
    }
}
