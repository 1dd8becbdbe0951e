//! Context-free loop bounds: of a function by itself, in any state, so that they hold wherever it is called.
//!
//! A region is too large to follow each loop in each of its contexts, and few loops depend on their callers. Taken
//! alone, a function is small: its loops are followed iteration by iteration, and those that are left are given to the
//! model checker.
//!
//! The bounds hold of every execution that enters the function at its beginning, up to where the region ends; of one that
//! begins in its middle they say nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wcet_flow::context::LoopId;
use wcet_symbolic::{least_bound, Effort, Frames, Setting, Sharing};

use crate::kernel::Kernel;
use crate::loops::Means;

/// A bound of a loop, wherever its function is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apart {
    pub bound: u64,
    pub means: Means,
    pub evidence: String,
}

/// Instructions of a function that are executed one by one before its loops are described as a whole.
pub(crate) const STEPS: u64 = 200_000;

/// What the model checker may take for one loop, counted so that a busy machine gives the same answer. A kernel has short loops;
/// those over arrays of all its objects are inferred.
const EFFORT: Effort = Effort {
    iterations: 1_000,
    undecided: 300,
    terms: 150_000,
    steps: 4_000_000,
    all_steps: 60_000_000,
    inner: 40,
    deadline: None,
};

/// Functions that have loops.
pub fn with_loops(kernel: &Kernel<'_>) -> Vec<u64> {
    let functions = kernel.graph.functions.iter();
    let found =
        functions.filter(|(address, function)| !function.loops.is_empty() && !kernel.waits.contains_key(address));
    found.map(|(address, _)| *address).collect()
}

/// Bounds of the loops of one function, by its address and their number; of those that have one.
pub fn alone(kernel: &Kernel<'_>, function: u64) -> BTreeMap<(u64, usize), Apart> {
    let program = kernel.lifter.program();
    let stops: BTreeSet<u64> = kernel.points.ends.keys().copied().collect();
    let options = wcet_flow::context::Options { stops, ..wcet_flow::context::Options::default() };
    // What cannot be expanded alone has no bounds of its own: regions say why.
    let Ok(expanded) = wcet_flow::context::expand(&kernel.graph, function, &options) else { return BTreeMap::new() };
    let switches: BTreeSet<u64> = kernel.points.called.keys().copied().collect();
    let options = wcet_values::Options {
        shared: kernel.shared.clone(),
        switches: switches.clone(),
        steps: STEPS,
        blocks: Rc::clone(&kernel.blocks),
        ..wcet_values::Options::default()
    };
    let values = wcet_values::analyse(program, &expanded, &options);
    let found = wcet_paths::loop_bounds::infer(program, &expanded, &values);
    let known: BTreeMap<LoopId, u64> = found.iter().filter_map(|one| Some((one.loop_id, one.bound?))).collect();
    let mut bounds = BTreeMap::new();
    let mut left = Vec::new();
    for one in found {
        let place = &expanded.loops[one.loop_id];
        if place.context != expanded.nodes[expanded.entry].context {
            continue;
        }
        let goes_on = place.back.iter().any(|edge| !values.dead().contains(edge));
        match one.bound {
            // Whatever says that a loop which can go on does not is not believed.
            Some(bound) if bound >= 2 || !goes_on => {
                let apart = Apart { bound, means: Means::Inferred, evidence: one.evidence };
                bounds.insert((function, place.index), apart);
            }
            _ if goes_on => left.push(one.loop_id),
            _ => {}
        }
    }
    if left.is_empty() {
        return bounds;
    }
    let frames = Frames::of(program, &expanded, &switches);
    let sharing = Sharing::Places(kernel.shared.clone());
    let setting =
        Setting { program, graph: &expanded, frames: &frames, values: Some(&values), sharing, switches: &switches };
    for loop_id in left.into_iter().rev() {
        // A solver that cannot work leaves the loop without a bound, of which the report tells.
        if let Ok(Ok(checked)) = least_bound(&setting, loop_id, &|id| known.get(&id).copied(), &EFFORT) {
            let apart = Apart { bound: checked.bound, means: Means::ModelChecked, evidence: checked.evidence };
            bounds.insert((function, expanded.loops[loop_id].index), apart);
        }
    }
    bounds
}
