//! Loop bounds by inference, each with its evidence.
//!
//! [`infer`] takes the loops of an expanded graph and what abstract execution found of them
//! ([`wcet_values::Values`]), and returns a [`LoopBound`] for each loop in each calling context: the largest number
//! of times that its header executes for each entry of the loop, and, where the loop around it was executed iteration by
//! iteration, for each entry of that one, which is what triangular loops need. Loops that are never reached have the
//! bound 0. A loop without bound has a reason, and the least fact that would give one.
//!
//! # Why it is sound
//! Bounds are those of `wcet_values`, which says why they hold: the loop was executed abstractly until no execution
//! could come back to its header; or each iteration passes an exit, or one of several, that compares what changes in a
//! known way with a limit. Nothing is added here but words.
//!
//! # What it leaves out
//! Relations between variables other than through a common base, or that they come closer by known steps: where the number
//! of iterations depends on others, or on contents of memory that nothing limits, the loop is left to the model checker.

mod evidence;

use wcet_binary::load::Program;
use wcet_flow::context::{Expanded, LoopId};
use wcet_values::{OneRun, Values};

/// What is known of how often a loop runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopBound {
    pub loop_id: LoopId,
    /// The largest number of times that the header executes for each entry of the loop. 0: it is never reached.
    pub bound: Option<u64>,
    /// The largest number of times that it executes for each entry of the loop around it.
    pub total: Option<(LoopId, u64)>,
    /// How the bound is known.
    pub evidence: String,
    /// Why there is none.
    pub reason: Option<String>,
    /// The least fact that would give one.
    pub least: Option<String>,
}

/// A bound for each loop, in their order, or the reason why there is none.
pub fn infer(program: &Program, expanded: &Expanded<'_>, values: &Values) -> Vec<LoopBound> {
    let one = |(loop_id, one): (LoopId, &wcet_flow::context::Loop)| {
        let run = values.run(loop_id);
        let unknown = run.most.is_none();
        LoopBound {
            loop_id,
            bound: run.most,
            total: one.parent.zip(run.total).filter(|_| !unknown),
            evidence: evidence::sentence(program, expanded, loop_id, run),
            reason: run.reason.clone().filter(|_| unknown),
            least: run.least.clone().filter(|_| unknown),
        }
    };
    expanded.loops.iter().enumerate().map(one).collect()
}

/// What the one run of a region does is all that any does.
pub fn of_one_run(expanded: &Expanded<'_>, run: &OneRun, bounds: &mut [LoopBound]) {
    for found in bounds {
        let most = run.most[found.loop_id];
        let parent = expanded.loops[found.loop_id].parent;
        found.bound = Some(most);
        found.total = parent.map(|parent| (parent, run.totals[found.loop_id]));
        found.evidence = match most {
            0 => "the region has one run, in which it is never entered".to_string(),
            _ => format!(
                "the region has one run, in which its header is executed {most} times for one entry of it at most"
            ),
        };
        (found.reason, found.least) = (None, None);
    }
}
