//! Entries that differ in their vector alone: what their handlers do is bounded once, for any of their vectors.

use std::collections::BTreeMap;

use timing_context::EdgeKind;
use timing_lift::il::Register;
use timing_machine::Machine;

use crate::bound::{handler, Analysed, Rest};
use crate::kernel::Kernel;
use crate::regions::{Kind, Region};

/// What two parts have in common that have the same instructions on the same paths: the instructions of each node, and the
/// edges; and what the entries are called without their numbers, so that only those are taken together that belong together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    kind: Kind,
    name: String,
    nodes: Vec<(u64, u64)>,
    edges: Vec<(usize, usize, EdgeKind)>,
}

impl Shape {
    pub fn of(region: &Region, rest: &Rest<'_>) -> Shape {
        let expanded = &rest.expanded;
        let block = |node| (expanded.block(node).start(), expanded.block(node).last().address);
        Shape {
            kind: region.kind,
            name: region.name.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_string(),
            nodes: expanded.order().map(block).collect(),
            edges: expanded.edges.iter().map(|edge| (edge.from, edge.to, edge.kind)).collect(),
        }
    }
}

/// Parts by their shape: one that stands for all, with registers that may be as in any of them.
#[derive(Default)]
pub struct Alike<'g> {
    parts: BTreeMap<Shape, (Rest<'g>, Option<Analysed>)>,
}

impl<'g> Alike<'g> {
    /// Takes a part in; what it is called has to be kept.
    pub fn add(&mut self, region: &Region, rest: Rest<'g>) -> Shape {
        let shape = Shape::of(region, &rest);
        match self.parts.get_mut(&shape) {
            Some((all, _)) => all.registers = either(&all.registers, &rest.registers),
            None => drop(self.parts.insert(shape.clone(), (rest, None))),
        }
        shape
    }

    /// The bound for all parts of a shape that were taken in.
    pub fn bound(&mut self, kernel: &Kernel<'_>, shape: &Shape, machine: &Machine) -> Option<Analysed> {
        let (rest, found) = self.parts.get_mut(shape)?;
        Some(found.get_or_insert_with(|| handler(kernel, rest, machine)).clone())
    }
}

/// Ranges that hold what either does; of registers that only one knows, nothing.
fn either(
    some: &BTreeMap<Register, (u64, u64)>,
    others: &BTreeMap<Register, (u64, u64)>,
) -> BTreeMap<Register, (u64, u64)> {
    let both = some.iter().filter_map(|(register, (low, high))| {
        let (other_low, other_high) = others.get(register)?;
        Some((*register, (*low.min(other_low), *high.max(other_high))))
    });
    both.collect()
}
