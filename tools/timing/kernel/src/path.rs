//! The bound of a path that was taken: a region's graph with the edges of that path alone.
//!
//! It holds for every passage that takes no other edges and repeats no loop more often, whatever memory, registers and
//! caches held before. Beside an observation of the path it says how much the model of the machine and what is known of
//! addresses cost; the bound of the whole region says besides how much dearer the worst path is.

use std::collections::{BTreeMap, BTreeSet};

use timing_context::{Expanded, LoopId};
use timing_machine::Machine;
use timing_solve::{Constraints, Options, Prepared};

use crate::bound::{known, values, Entry};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::names::Named;
use crate::regions::{Kind, Region};
use crate::stack::HANDLER;

/// One of the graphs through which a path leads: an entry, then its handler on another stack.
#[derive(Debug)]
pub struct Part<'g> {
    pub expanded: Expanded<'g>,
    /// How often the header of each loop is executed for one entry of it, at most.
    pub rounds: BTreeMap<LoopId, u64>,
}

/// Bounds a path through a region. Every part but the last ends where the next begins.
pub fn along(kernel: &Kernel<'_>, region: &Region, machine: &Machine, parts: &[Part<'_>]) -> Result<u64, Vec<Error>> {
    let program = kernel.lifter.program();
    let fault = |errors: Vec<timing_solve::Error>| -> Vec<Error> {
        errors.iter().map(|error| Error::Flow(error.to_string())).collect()
    };
    let enters = matches!(region.kind, Kind::SystemCall | Kind::Exception | Kind::Interrupt);
    let mut entry = Entry {
        below: region.below,
        handlers: enters && parts.len() == 1,
        frame: kernel.frame(region),
        ..Entry::default()
    };
    let mut cycles = 0u64;
    for Part { expanded, rounds } in parts {
        let values = values(kernel, expanded, &entry);
        let targets = Named::new(kernel, expanded, &values, machine);
        // What the values exclude was executed: no edge of a path is dead.
        let prepared = Prepared::new(program, expanded, machine, rounds, &targets, &BTreeSet::new()).map_err(fault)?;
        let bound = prepared.bound(&Constraints::default(), &Options::default()).map_err(fault)?;
        cycles = cycles.saturating_add(bound.wcet_cycles);
        let last = expanded.exits.first().copied().filter(|node| values.reached(*node));
        entry = Entry { below: Some(HANDLER), ..Entry::default() };
        entry.registers = last.map(|node| known(kernel, &values, node)).unwrap_or_default();
    }
    Ok(cycles)
}
