//! A kernel's binary with what is said of it, and what follows: control flow, and its regions.

use timing_flow::{EdgeKind, Graph};
use timing_lift::Lifter;

use crate::description::Description;
use crate::error::Error;
use crate::points::{flow, lookup, Points};
use crate::regions::{regions, Region};

pub struct Kernel<'p> {
    pub lifter: &'p Lifter<'p>,
    pub description: &'p Description,
    pub graph: Graph,
    pub points: Points,
    pub regions: Vec<Region>,
    /// Where the frames of kernel stacks stand.
    pub stacks: u64,
}

impl<'p> Kernel<'p> {
    pub fn new(lifter: &'p Lifter<'p>, description: &'p Description) -> Result<Kernel<'p>, Vec<Error>> {
        let program = lifter.program();
        let stacks =
            lookup(program, &description.stacks.symbol, "the frames of stacks").map_err(|error| vec![error])?;
        let (graph, points) = flow(lifter, description)?;
        let regions = regions(program, description, &graph, &points)?;
        Ok(Kernel { lifter, description, graph, points, regions, stacks })
    }

    /// The physical address of a virtual one, if the description says it.
    pub fn physical(&self, address: u64) -> Option<u64> {
        self.description.physical(address, self.stacks)
    }

    /// Where a region returns to, one caller after the other, as far as calls (not jumps) led to it.
    pub fn returns(&self, region: &Region) -> Vec<u64> {
        let behind = |link: &[(u64, usize)]| {
            let ((caller, block), (callee, _)) = (link[0], link[1]);
            let function = &self.graph.functions[&caller];
            let content = &function.blocks[block];
            let back = content.edges.iter().find(|edge| edge.kind == EdgeKind::Back)?;
            content.calls.contains(&callee).then(|| function.blocks[back.to].start())
        };
        region.chain.windows(2).rev().filter_map(behind).collect()
    }
}
