//! What the analysis has found out of a graph, to be held against an execution of it.

use std::collections::BTreeSet;

use wcet_flow::context::{EdgeId, Expanded, NodeId};
use wcet_hardware::cache::Target;
use wcet_hardware::machine::Machine;
use wcet_paths::ipet::Targets;
use wcet_values::Values;

use crate::entry::{known, values, Entry};
use crate::kernel::Kernel;
use crate::line_names::Named;
use crate::loops::loops;
use crate::regions::Region;
use crate::stack::HANDLER;

/// Where an access goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its bytes by virtual addresses, as far as values are known; those on the stack as [`crate::stack_offset`] has them.
    pub bytes: Target,
    /// What the caches are told.
    pub line: Target,
}

/// Of one graph.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// Of each node the accesses of its instructions, one after the other.
    pub accesses: Vec<Vec<Place>>,
    /// Names of lines ([`Target::Line`]) that may stand for others behind a node.
    pub renewed: Vec<Vec<u64>>,
    /// Edges that no execution takes.
    pub dead: BTreeSet<EdgeId>,
    /// Of each loop how often its header executes for each entry, at most, as far as this graph alone says it.
    pub bounds: Vec<Option<u64>>,
}

/// What is expected where a region begins, and then in its handlers. Each graph but the last goes to the next from the node beside it.
pub fn expected(
    kernel: &Kernel<'_>,
    region: &Region,
    machine: &Machine,
    graphs: &[(&Expanded<'_>, Option<NodeId>)],
) -> Vec<Expected> {
    let mut entry = Entry { below: region.below, ..Entry::default() };
    let mut all = Vec::new();
    for (expanded, last) in graphs {
        let values = values(kernel, expanded, &entry);
        all.push(of(kernel, expanded, &values, machine));
        entry = Entry { below: Some(HANDLER), numbers: region.numbers, ..Entry::default() };
        let last = last.filter(|node| values.reached(*node));
        entry.registers = last.map(|node| known(kernel, &values, node)).unwrap_or_default();
    }
    all
}

pub(crate) fn of(kernel: &Kernel<'_>, expanded: &Expanded<'_>, values: &Values, machine: &Machine) -> Expected {
    let named = Named::new(kernel, expanded, values, machine, &[]);
    let in_node = |node: NodeId| -> Vec<Place> {
        let instructions = expanded.block(node).instructions.iter().enumerate();
        let all = instructions.flat_map(|(number, one)| (0..one.accesses.len()).map(move |access| (number, access)));
        let bytes = values.targets(node).iter().copied().chain(std::iter::repeat(Target::Anywhere));
        all.zip(bytes)
            .map(|((number, access), bytes)| Place { bytes, line: named.target(node, number, access) })
            .collect()
    };
    let accesses = expanded.order().map(in_node).collect();
    Expected {
        accesses,
        // When all lines have their names.
        renewed: expanded.order().map(|node| named.renewed(node)).collect(),
        dead: values.dead().clone(),
        bounds: loops(kernel, expanded, values, values.dead()).iter().map(|one| one.bound).collect(),
    }
}
