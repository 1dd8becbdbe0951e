//! Counts how often loops run.

use std::path::Path;

use timing_context::{Expanded, LoopId};
use timing_lift::il::Flow;
use timing_load::Program;

use crate::emulate::{addresses, Cases};
use crate::walk::{Step, Walk};
use crate::Error;

/// What the cases of a program did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// For each loop of the expanded graph, the most times that its header ran for one entry; 0: never entered.
    pub loops: Vec<u64>,
    /// Instructions of each case, from the entry on.
    pub cases: Vec<u64>,
}

/// Runs all cases of `file` and counts.
pub fn count(file: &Path, program: &Program, expanded: &Expanded<'_>) -> Result<Counts, Error> {
    let mut walk = Walk::new(expanded, program);
    let mut counts = Counts { loops: vec![0; expanded.loops.len()], cases: Vec::new() };
    let mut running = vec![0; expanded.loops.len()];
    let heads = heads(expanded);
    addresses(file, program.architecture, Cases::All, |address| {
        let step = walk.step(address)?;
        match step {
            Step::Entered => counts.cases.push(0),
            Step::Along(edge) => {
                for (number, back) in &heads[edge] {
                    running[*number] = if *back { running[*number] + 1 } else { first(expanded, *number) };
                    counts.loops[*number] = counts.loops[*number].max(running[*number]);
                }
            }
            Step::Inside | Step::Outside | Step::Left => {}
        }
        if matches!(step, Step::Entered | Step::Along(_) | Step::Inside) {
            if let Some(length) = counts.cases.last_mut() {
                *length += 1;
            }
        }
        Ok(())
    })?;
    Ok(counts)
}

/// Executions of the header that an entry of the loop stands for. An instruction that repeats itself first looks
/// whether to go on, and so runs once more than what the emulator reports: the iterations.
fn first(expanded: &Expanded<'_>, number: LoopId) -> u64 {
    let header = expanded.block(expanded.loops[number].header);
    if matches!(header.last().flow, Flow::Repeat { .. }) {
        2
    } else {
        1
    }
}

/// For each edge the loops to whose headers it leads, and whether as a back edge.
fn heads(expanded: &Expanded<'_>) -> Vec<Vec<(LoopId, bool)>> {
    let mut heads = vec![Vec::new(); expanded.edges.len()];
    for (number, one) in expanded.loops.iter().enumerate() {
        one.entries.iter().for_each(|edge| heads[*edge].push((number, false)));
        one.back.iter().for_each(|edge| heads[*edge].push((number, true)));
    }
    heads
}
