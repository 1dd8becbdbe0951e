//! Entries that differ in their vector alone: the handlers of equivalent entries are bounded once, for up to [`NEAR`] vectors.

use std::collections::{BTreeMap, BTreeSet};

use wcet_binary::lift::il::Register;
use wcet_flow::context::EdgeKind;

use crate::bound::Rest;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::regions::{Kind, Region};

/// So many vectors, from a multiple of it on, are taken together: what the kernel keeps of them in a table is in few lines then.
const NEAR: u64 = 4;

/// What two parts have in common that have the same instructions on the same paths: the instructions of each node, and the
/// edges; and what the entries are called without their numbers, and which entry of the description theirs is, so that only
/// those are taken together that belong together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    kind: Kind,
    name: String,
    interrupt: Option<usize>,
    /// Of an interrupt.
    vectors: Option<u64>,
    nodes: Vec<(u64, u64)>,
    edges: Vec<(usize, usize, EdgeKind)>,
}

impl Shape {
    pub fn of(kernel: &Kernel<'_>, region: &Region, rest: &Rest) -> Result<Shape, Vec<Error>> {
        let expanded = region.expand(&kernel.graph, &kernel.points, &rest.chain, &BTreeSet::new())?;
        let block = |node| (expanded.block(node).start(), expanded.block(node).last().address);
        Ok(Shape {
            kind: region.kind,
            name: region.name.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_string(),
            interrupt: region.interrupt,
            vectors: region.interrupt.and_then(|_| kernel.vector(region)).map(|vector| vector / NEAR),
            nodes: expanded.order().map(block).collect(),
            edges: expanded.edges.iter().map(|edge| (edge.from, edge.to, edge.kind)).collect(),
        })
    }
}

/// Parts by their shape: one that stands for all, with registers that may be as in any of them.
#[derive(Default)]
pub struct Alike {
    shapes: BTreeMap<Shape, usize>,
    /// A region with its part, for all that have the shape.
    pub parts: Vec<(usize, Rest)>,
}

impl Alike {
    /// Takes a part of a region in, and returns the number of the part that stands for it.
    pub fn add(&mut self, kernel: &Kernel<'_>, number: usize, rest: Rest) -> Result<usize, Vec<Error>> {
        let region = &kernel.regions[number];
        // System calls differ in what is done for their number.
        if rest.entry.numbers.is_none() {
            let shape = Shape::of(kernel, region, &rest)?;
            if let Some(known) = self.shapes.get(&shape) {
                let all = &mut self.parts[*known].1;
                all.entry.registers = either(&all.entry.registers, &rest.entry.registers);
                if all.before != rest.before {
                    all.before.clear();
                }
                return Ok(*known);
            }
            self.shapes.insert(shape, self.parts.len());
        }
        self.parts.push((number, rest));
        Ok(self.parts.len() - 1)
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
