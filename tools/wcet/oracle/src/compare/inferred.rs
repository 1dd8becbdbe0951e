//! Inference alone, loop by loop of the expanded graph: bounds, and totals for each entry of the loop around.

use std::path::Path;

use crate::measure::count::count;
use crate::measure::subject::{with, Subject};
use wcet_flow::context::LoopId;

/// What inference says of a program's loops in their contexts, and what was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inferred {
    pub loops: usize,
    pub bounded: usize,
    pub exact: usize,
    /// Bounds and totals below what was measured, and edges that are taken though said to be dead.
    pub faults: Vec<String>,
}

/// Measures and infers for a compiled program.
pub fn inferred(file: &Path) -> Result<Inferred, crate::measure::Error> {
    with(file, |Subject { program, expanded, .. }| {
        let counts = count(file, program, expanded)?;
        let values = wcet_values::analyse(program, expanded, &wcet_values::Options::default());
        let place = |number: LoopId| {
            let found = &expanded.loops[number];
            let chain = expanded.chain(found.context).join(" > ");
            format!("{}: loop at {} in {chain}", file.display(), program.describe(expanded.block(found.header).start()))
        };
        let mut sum = Inferred { loops: expanded.loops.len(), ..Inferred::default() };
        for edge in values.dead().iter().filter(|edge| counts.taken[**edge]) {
            let wcet_flow::context::Edge { from, to, .. } = expanded.edges[*edge];
            let [from, to] = [from, to].map(|node| program.describe(expanded.block(node).start()));
            sum.faults.push(format!("{}: the edge from {from} to {to} is taken, and said to be dead", file.display()));
        }
        for bound in wcet_paths::loop_bounds::infer(program, expanded, &values) {
            let number = bound.loop_id;
            let (most, total) = (counts.loops[number], counts.totals[number]);
            sum.bounded += usize::from(bound.bound.is_some());
            sum.exact += usize::from(bound.bound == Some(most));
            if bound.bound.is_some_and(|bound| bound < most) {
                sum.faults.push(format!("{}: measured {most}, bound {:?}", place(number), bound.bound));
            }
            // Of a total that is not for the loop directly around, nothing was counted.
            let around = expanded.loops[number].parent;
            if let Some((_, said)) = bound.total.filter(|(of, said)| Some(*of) == around && *said < total) {
                sum.faults.push(format!("{}: measured {total} in all, bound {said}", place(number)));
            }
        }
        Ok(sum)
    })
}
