//! Counts how often loops run.

use std::path::Path;

use wcet_binary::lift::il::Flow;
use wcet_binary::load::Program;
use wcet_flow::context::{Expanded, LoopId};

use crate::measure::emulate::{addresses, Cases};
use crate::measure::walk::{Step, Walk};
use crate::measure::Error;

/// What the cases of a program did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// For each loop of the expanded graph, the most times that its header ran for one entry; 0: never entered.
    pub loops: Vec<u64>,
    /// For each loop inside another, the most times that its header ran for one entry of the loop around it.
    pub totals: Vec<u64>,
    /// For each edge, whether any case takes it.
    pub taken: Vec<bool>,
    /// Instructions of each case, from the entry on.
    pub cases: Vec<u64>,
    /// Whether all cases ran to their ends.
    pub complete: bool,
}

/// Runs all cases of `file` and counts.
pub fn count(file: &Path, program: &Program, expanded: &Expanded<'_>) -> Result<Counts, Error> {
    count_and_see(file, program, expanded, u64::MAX, &mut |_| {})
}

/// The same for so many instructions at most, and shows each step. What was counted by then did happen.
pub(crate) fn count_and_see(
    file: &Path,
    program: &Program,
    expanded: &Expanded<'_>,
    most: u64,
    see: &mut dyn FnMut(&Step),
) -> Result<Counts, Error> {
    let mut walk = Walk::new(expanded, program);
    let count = expanded.loops.len();
    let mut counts = Counts {
        loops: vec![0; count],
        totals: vec![0; count],
        taken: vec![false; expanded.edges.len()],
        cases: Vec::new(),
        complete: true,
    };
    let mut left = most;
    let (mut running, mut total) = (vec![0; count], vec![0; count]);
    let (heads, inside) = (heads(expanded), inside(expanded));
    let looks: Vec<bool> = (0..count).map(|number| looks(expanded, number)).collect();
    let done = addresses(file, program.architecture, Cases::All, |address| {
        left = left.checked_sub(1).ok_or(Error::Enough)?;
        let step = walk.step(address)?;
        see(&step);
        match step {
            Step::Entered => counts.cases.push(0),
            Step::Along(edge) => {
                counts.taken[edge] = true;
                for &(number, back) in &heads[edge] {
                    let more = if back && looks[number] && running[number] == 1 { 2 } else { 1 };
                    running[number] = if back { running[number] + more } else { 1 };
                    total[number] += more;
                    counts.loops[number] = counts.loops[number].max(running[number]);
                    counts.totals[number] = counts.totals[number].max(total[number]);
                    if !back {
                        inside[number].iter().for_each(|inner| total[*inner] = 0);
                    }
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
    });
    match done {
        Err(Error::Enough) => counts.complete = false,
        done => done?,
    }
    Ok(counts)
}

/// Whether the loop is an instruction that repeats itself until its count is 0. It looks once more than what the emulator
/// reports, which is its rounds; with one report, of no round or of one, it may not have. One that may also end on what it
/// finds then looks no more.
fn looks(expanded: &Expanded<'_>, number: LoopId) -> bool {
    let last = expanded.block(expanded.loops[number].header).last();
    let ends_early = ["cmps", "scas"].iter().any(|name| last.mnemonic.contains(name));
    matches!(last.flow, Flow::Repeat { .. }) && !ends_early
}

/// For each loop those directly inside it.
fn inside(expanded: &Expanded<'_>) -> Vec<Vec<LoopId>> {
    let mut inside = vec![Vec::new(); expanded.loops.len()];
    for (number, found) in expanded.loops.iter().enumerate() {
        if let Some(parent) = found.parent {
            inside[parent].push(number);
        }
    }
    inside
}

/// For each edge the loops to whose headers it leads, and whether as a back edge.
pub(crate) fn heads(expanded: &Expanded<'_>) -> Vec<Vec<(LoopId, bool)>> {
    let mut heads = vec![Vec::new(); expanded.edges.len()];
    for (number, one) in expanded.loops.iter().enumerate() {
        one.entries.iter().for_each(|edge| heads[*edge].push((number, false)));
        one.back.iter().for_each(|edge| heads[*edge].push((number, true)));
    }
    heads
}
