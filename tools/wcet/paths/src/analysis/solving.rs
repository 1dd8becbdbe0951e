//! Costs, the worst path, and the refinement of paths: what comes after loop bounds.

use std::collections::BTreeMap;

use crate::ipet::{Constraints, Fault, Prepared, Targets, Total, Walked};
use crate::loop_bounds::LoopBound;
use wcet_binary::load::{Lines, Program};
use wcet_flow::context::{Expanded, LoopId, Merged, NodeId};
use wcet_hardware::cache::Target;
use wcet_hardware::machine::Machine;
use wcet_report::Error;
use wcet_values::{OneRun, Values};

use crate::analysis::code::Code;
use crate::analysis::faults::{fault, fault_at, parts, Found};

/// Where accesses go, from the analysis of values.
struct Known<'e, 'g> {
    expanded: &'e Expanded<'g>,
    values: &'e Values,
    devices: bool,
}

impl Targets for Known<'_, '_> {
    fn target(&self, node: NodeId, instruction: usize, access: usize) -> Target {
        let before = self.expanded.block(node).instructions[..instruction].iter();
        let first: usize = before.map(|one| one.accesses.len()).sum();
        match self.values.targets(node).get(first + access).copied().unwrap_or(Target::Anywhere) {
            Target::Anywhere if !self.devices => Target::Memory,
            target => target,
        }
    }

    fn aligned(&self, node: NodeId, instruction: usize, access: usize) -> bool {
        let before = self.expanded.block(node).instructions[..instruction].iter();
        let first: usize = before.map(|one| one.accesses.len()).sum();
        self.values.aligned(node).get(first + access).copied().unwrap_or(false)
    }
}

/// What is taken for granted of addresses that are not known, unless they may lead to devices.
pub const NO_DEVICES: &str = "an address that is not known leads to memory, not to the registers of a device";

/// The graph with its costs, ready to be solved. With `devices`, addresses that are not known may lead to devices.
pub fn prepare<'e, 'g>(
    program: &Program,
    lines: &Lines,
    expanded: &'e Expanded<'g>,
    machine: &Machine,
    values: &Values,
    bounds: &[LoopBound],
    devices: bool,
) -> Found<Prepared<'e, 'g>> {
    let bounds: BTreeMap<LoopId, u64> = bounds.iter().filter_map(|found| Some((found.loop_id, found.bound?))).collect();
    let targets = Known { expanded, values, devices };
    Prepared::new(program, expanded, machine, &bounds, &targets, values.dead())
        .map_err(|found| found.iter().map(|one| error(one, program, lines)).collect())
}

/// The time of the region's one run, in a graph with one copy of each function: there costs need little memory, and hold in all copies.
pub fn walk<'g>(
    program: &Program,
    lines: &Lines,
    expanded: &Expanded<'g>,
    machine: &Machine,
    known: &wcet_values::Options,
    run: &OneRun,
    devices: bool,
) -> Found<(Merged<'g>, Walked)> {
    let merged = expanded.merged();
    let run = run.merged(&merged);
    let values = wcet_values::of_one_run(&merged.graph, known, &run);
    let targets = Known { expanded: &merged.graph, values: &values, devices };
    let walked = crate::ipet::walked(program, &merged.graph, machine, &targets, &run.times)
        .map_err(|found| found.iter().map(|one| error(one, program, lines)).collect::<Vec<_>>())?;
    Ok((merged, walked))
}

/// What is known of paths before any is looked at.
pub fn constraints(values: &Values, bounds: &[LoopBound]) -> Constraints {
    let total = |found: &LoopBound| {
        let (outer, headers) = found.total?;
        Some(Total { inner: found.loop_id, outer, headers })
    };
    Constraints {
        dead: values.dead().clone(),
        totals: bounds.iter().filter_map(total).collect(),
        ..Constraints::default()
    }
}

/// An error of the solver as one of the report.
pub fn error(error: &crate::ipet::Error, program: &Program, lines: &Lines) -> Error {
    let (code, otherwise) = match &error.problem {
        Fault::Class(_) => (Code::NoCost, "keep it out of the region"),
        Fault::Machine(_) => (Code::NoCost, "add the class to the machine file"),
        Fault::Waits { .. } => (Code::Wait, "end the region there with --stop"),
        Fault::Unbounded { .. } => (Code::Unbounded, "state how often it runs"),
        Fault::NoEnd(_) => (Code::NoEnd, "state where the region ends with --stop"),
        Fault::Overflow => (Code::TooLarge, "bound a smaller region"),
        _ => (Code::Tool, "this is a fault of the analyser"),
    };
    let (message, remedy) = parts(&error.problem.to_string());
    let remedy = remedy.unwrap_or_else(|| otherwise.to_string());
    if error.place.is_empty() {
        fault(code, message, remedy)
    } else {
        fault_at(code, program, lines, error.address, message, remedy)
    }
}
