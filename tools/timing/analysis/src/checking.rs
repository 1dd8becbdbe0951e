//! Model checking for the loops that inference leaves without a bound.
//!
//! Inner loops first, since outer ones are unrolled with the bounds of those inside. What was found for one loop never
//! depends on a guess about another: only proven bounds are handed on.

use std::collections::BTreeSet;
use std::time::Instant;

use timing_bounds::LoopBound;
use timing_context::{Expanded, LoopId};
use timing_load::Program;
use timing_smt::{least_bound, Effort, Frames, Setting, Sharing, SolverError};
use timing_values::Values;

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
    if bounds.iter().all(|found| found.bound.is_some()) {
        return Ok(checked);
    }
    let frames = Frames::of(program, expanded, switches);
    let setting = Setting { program, graph: expanded, frames: &frames, values: Some(values), sharing, switches };
    let effort = Effort { deadline, ..Effort::default() };
    // Loops stand outer ones first.
    for index in (0..bounds.len()).rev().filter(|index| bounds[*index].bound.is_none()).collect::<Vec<_>>() {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let reason = bounds[index].reason.take().unwrap_or_default();
            bounds[index].reason = Some(format!("{reason}; no time was left to search for a bound"));
            continue;
        }
        let known = |id: LoopId| bounds.iter().find(|found| found.loop_id == id).and_then(|found| found.bound);
        match least_bound(&setting, bounds[index].loop_id, &known, &effort)? {
            Ok(found) => {
                bounds[index].bound = Some(found.bound);
                bounds[index].evidence = found.evidence;
                bounds[index].reason = None;
                bounds[index].least = None;
                checked.insert(bounds[index].loop_id);
            }
            Err(why) => {
                let reason = bounds[index].reason.take().filter(|reason| !reason.is_empty());
                let reason = reason.map(|reason| format!("{reason}; ")).unwrap_or_default();
                bounds[index].reason = Some(format!("{reason}by unrolling: {why}"));
            }
        }
    }
    Ok(checked)
}
