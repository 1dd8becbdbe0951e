//! Control flow takes an index that is checked in memory and read again to be the same, where it does not know the address. The
//! analysis of values may: others must not write there.

use std::collections::BTreeSet;

use wcet_binary::load::{Lines, Program};
use wcet_flow::context::Expanded;
use wcet_flow::{Graph, Shared};
use wcet_hardware::cache::Target;
use wcet_report::Error;
use wcet_values::Values;

use crate::analysis::code::Code;
use crate::analysis::faults::{fault_at, hex};

/// Jumps and calls whose targets rest on what others may have changed in between.
pub fn check(
    program: &Program,
    lines: &Lines,
    graph: &Graph,
    expanded: &Expanded<'_>,
    values: &Values,
    shared: &Shared,
) -> Vec<Error> {
    if graph.rereads.is_empty() {
        return Vec::new();
    }
    let mut changing = BTreeSet::new();
    for node in expanded.order().filter(|node| values.reached(*node)) {
        let mut targets = values.targets(node).iter();
        for instruction in &expanded.block(node).instructions {
            for (access, target) in instruction.accesses.iter().zip(targets.by_ref()) {
                let meets = match *target {
                    Target::At(at) => shared.meets(at, at.saturating_add(u64::from(access.size.max(1)) - 1)),
                    Target::Within(first, last) => shared.meets(first, last),
                    Target::Anywhere => shared.unknown && !shared.places.is_empty(),
                    _ => false,
                };
                if meets {
                    changing.insert(instruction.address);
                }
            }
        }
    }
    let one = |(jump, reads): (&u64, &BTreeSet<u64>)| {
        let read = reads.iter().find(|read| changing.contains(*read))?;
        let problem = format!("what bounds this jump is read at {}, and others may change it in between", hex(*read));
        let remedy = format!("read it once, or state its targets: --targets {}=SYMBOL,...", hex(*jump));
        Some(fault_at(Code::Unresolved, program, lines, *jump, problem, remedy))
    };
    graph.rereads.iter().filter_map(one).collect()
}
