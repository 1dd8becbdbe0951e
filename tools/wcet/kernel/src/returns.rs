//! Which functions come back within a region: not those that always switch to another thread, end the run, or end the
//! thread.

use std::collections::BTreeSet;

use wcet_flow::{Block, EdgeKind, Function, Graph};

use crate::call_chains::Chain;
use crate::points::{End, Points};

/// Functions that may return to their caller before the region ends.
pub struct Returning<'g> {
    graph: &'g Graph,
    points: &'g Points,
    found: BTreeSet<u64>,
}

impl<'g> Returning<'g> {
    pub fn new(graph: &'g Graph, points: &'g Points) -> Returning<'g> {
        let mut returning = Returning { graph, points, found: BTreeSet::new() };
        loop {
            let more: Vec<u64> = graph
                .functions
                .iter()
                .filter(|(address, function)| !returning.found.contains(address) && returning.comes_back(function))
                .map(|(address, _)| *address)
                .collect();
            if more.is_empty() {
                return returning;
            }
            returning.found.extend(more);
        }
    }

    /// Whether a function may return within a region.
    pub fn contains(&self, function: u64) -> bool {
        self.found.contains(&function)
    }

    /// Whether what a function calls may return to it within a region.
    pub fn returns_to(&self, caller: u64, callee: u64) -> bool {
        let (run, callers) = &self.points.run;
        self.contains(callee) && (callee != *run || callers.contains(&caller))
    }

    fn comes_back(&self, function: &Function) -> bool {
        self.points.ends.get(&function.entry) != Some(&End::Run) && self.goes_back(function, 0)
    }

    /// Whether a function may return within a region that is at one of its blocks.
    pub fn goes_back(&self, function: &Function, from: usize) -> bool {
        let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(index) = open.pop() {
            let block = &function.blocks[index];
            if self.leaves(function.entry, block) {
                return true;
            }
            open.extend(self.next(function.entry, block).into_iter().filter(|next| seen.insert(*next)));
        }
        false
    }

    /// The part of a chain that matters: callers of what does not come back do not.
    pub fn shorten(&self, chain: &[(u64, usize)]) -> Chain {
        for number in (0..chain.len()).rev() {
            let (address, block) = chain[number];
            let function = &self.graph.functions[&address];
            let here = match chain.get(number + 1) {
                None => Some(block),
                // Its return is the caller's.
                Some((callee, _)) if !function.blocks[block].calls.contains(callee) => None,
                Some(_) => {
                    let edges = &function.blocks[block].edges;
                    edges.iter().find(|edge| edge.kind == EdgeKind::Back).map(|edge| edge.to)
                }
            };
            if here.is_some_and(|here| !self.goes_back(function, here)) {
                return chain[number..].to_vec();
            }
        }
        chain.to_vec()
    }

    fn leaves(&self, function: u64, block: &Block) -> bool {
        block.returns && !self.stops(block) || block.tail_calls.iter().any(|callee| self.returns_to(function, *callee))
    }

    fn stops(&self, block: &Block) -> bool {
        block.instructions.iter().any(|one| self.points.ends.contains_key(&one.address))
    }

    /// Blocks that come next.
    fn next(&self, function: u64, block: &Block) -> Vec<usize> {
        if self.stops(block) {
            return Vec::new();
        }
        let back = block.calls.iter().any(|callee| self.returns_to(function, *callee));
        block.edges.iter().filter(|edge| edge.kind != EdgeKind::Back || back).map(|edge| edge.to).collect()
    }
}
