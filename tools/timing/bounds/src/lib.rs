//! Loop bounds by inference.

use timing_context::{Expanded, LoopId};
use timing_load::Program;
use timing_values::Values;

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
    let _ = program;
    let one = |(loop_id, one): (LoopId, &timing_context::Loop)| {
        let run = values.run(loop_id);
        LoopBound {
            loop_id,
            bound: run.most,
            total: one.parent.zip(run.total),
            evidence: String::new(),
            reason: run.reason.clone(),
            least: run.least.clone(),
        }
    };
    expanded.loops.iter().enumerate().map(one).collect()
}
