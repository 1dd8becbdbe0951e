//! The bound of a path that was taken: a region's graph with the edges of that path alone.
//!
//! It holds for every passage that takes no other edges and repeats no loop more often, whatever memory, registers and
//! caches held before, but for what was executed just before (`just_before.rs`). Beside an observation of the path it says how much
//! the model of the machine and what is known of addresses cost; the bound of the whole region says besides how much longer
//! the worst path is.

use std::collections::{BTreeMap, BTreeSet};

use wcet_flow::context::{Expanded, LoopId};
use wcet_hardware::machine::Machine;
use wcet_paths::ipet::{Constraints, Limit, Options, Prepared};
use wcet_values::Values;

use crate::entry::{known, values, Entry};
use crate::error::Error;
use crate::expected::{self, Expected};
use crate::just_before::{before_handler, before_region};
use crate::kernel::Kernel;
use crate::line_names::Named;
use crate::regions::{Kind, Region};
use crate::stack::HANDLER;

/// One of the graphs through which a path leads: an entry, then its handler on another stack.
#[derive(Debug)]
pub struct Part<'g> {
    pub expanded: Expanded<'g>,
    /// How often the header of each loop is executed for one entry of it, at most.
    pub rounds: BTreeMap<LoopId, u64>,
    /// The same in all, for loops that are entered more than once.
    pub totals: BTreeMap<LoopId, u64>,
}

/// Bounds a path through a region. Every part but the last ends where the next begins.
pub fn along(kernel: &Kernel<'_>, region: &Region, machine: &Machine, parts: &[Part<'_>]) -> Result<u64, Vec<Error>> {
    let program = kernel.lifter.program();
    let fault = |errors: Vec<wcet_paths::ipet::Error>| -> Vec<Error> {
        errors.iter().map(|error| Error::Flow(error.to_string())).collect()
    };
    // An interrupt comes wherever the stack is: each place in a line is a case of its own.
    let rests: Vec<Option<(u64, u64)>> = match (region.kind, region.below) {
        (Kind::Inside, None) => (0..machine.line()).step_by(8).map(|rest| Some((machine.line(), rest))).collect(),
        _ => vec![None],
    };
    let mut most = 0;
    for rest in rests {
        let mut entry = first(kernel, region, parts, rest);
        let mut before = before_region(kernel, region);
        let mut cycles = 0u64;
        for part @ Part { expanded, rounds, totals } in parts {
            let values = values(kernel, expanded, &entry);
            let targets = Named::new(kernel, expanded, &values, machine, &before);
            // What the values exclude was executed: no edge of a path is dead.
            let prepared =
                Prepared::new(program, expanded, machine, rounds, &targets, &BTreeSet::new()).map_err(fault)?;
            let limits = totals.iter().map(|(one, total)| limit(expanded, *one, *total)).collect();
            let constraints = Constraints { limits, ..Constraints::default() };
            let bound = prepared.bound(&constraints, &Options::default()).map_err(fault)?;
            cycles = cycles.saturating_add(bound.wcet_cycles);
            entry = next(kernel, part, &values);
            before = expanded.exits.first().map(|handler| before_handler(expanded, *handler)).unwrap_or_default();
        }
        most = cycles.max(most);
    }
    Ok(most)
}

/// What the bound of a path rests on, of each of its graphs. Where the region's stack is not known, `stack` says where it began.
pub fn expected_along(
    kernel: &Kernel<'_>,
    region: &Region,
    machine: &Machine,
    parts: &[Part<'_>],
    stack: Option<u64>,
) -> Vec<Expected> {
    let unknown = region.kind == Kind::Inside && region.below.is_none();
    let rest = stack.filter(|_| unknown).map(|stack| (machine.line(), stack % machine.line()));
    let mut entry = first(kernel, region, parts, rest);
    let mut all = Vec::new();
    for part in parts {
        let values = values(kernel, &part.expanded, &entry);
        all.push(expected::of(kernel, &part.expanded, &values, machine));
        entry = next(kernel, part, &values);
    }
    all
}

/// What is known at the beginning of a path.
fn first(kernel: &Kernel<'_>, region: &Region, parts: &[Part<'_>], rest: Option<(u64, u64)>) -> Entry {
    let enters = matches!(region.kind, Kind::SystemCall | Kind::Exception | Kind::Interrupt);
    Entry {
        below: region.below,
        handlers: enters && parts.len() == 1,
        frame: parts.first().and_then(|part| kernel.frame(region, &part.expanded)),
        rest,
        ..Entry::default()
    }
}

/// The same behind a part.
fn next(kernel: &Kernel<'_>, part: &Part<'_>, values: &Values) -> Entry {
    let last = part.expanded.exits.first().copied().filter(|node| values.reached(*node));
    let registers = last.map(|node| known(kernel, values, node)).unwrap_or_default();
    Entry { below: Some(HANDLER), registers, ..Entry::default() }
}

/// The header of a loop is executed so often in all, at most.
fn limit(expanded: &Expanded<'_>, one: LoopId, total: u64) -> Limit {
    let one = &expanded.loops[one];
    let starts = i64::from(one.header == expanded.entry);
    let terms = one.entries.iter().chain(&one.back).map(|edge| (*edge, 1)).collect();
    Limit { terms, at_most: i64::try_from(total).unwrap_or(i64::MAX).saturating_sub(starts) }
}
