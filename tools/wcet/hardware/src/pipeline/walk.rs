//! The bound of one path, as tight as the costs allow.

use crate::pipeline::block::Program;
use crate::pipeline::cost::Costs;
use std::collections::BTreeSet;

impl Costs {
    /// Bound of the path that takes `edges` from the entry on. First misses are paid only where one of their blocks
    /// is executed, so this is at most the sum of the costs of edges and scope entries.
    pub fn path(&self, program: &Program, edges: &[usize]) -> u64 {
        let inside = |scope: usize, block: usize| program.scopes[scope].nodes.contains(&block);
        let mut at = vec![Vec::new(); program.blocks.len()];
        for (number, first) in self.firsts.iter().enumerate() {
            first.blocks.iter().for_each(|block| at[*block].push(number));
        }
        let mut paid = BTreeSet::new();
        let mut pay = |from: Option<usize>, block: usize| {
            let left = |scope: usize| from.is_none_or(|from| !inside(scope, from));
            paid.retain(|first: &usize| {
                let scope = self.firsts[*first].scope;
                !(inside(scope, block) && left(scope))
            });
            let due = at[block].iter().filter(|first| paid.insert(**first));
            due.map(|first| self.firsts[*first].cycles).sum::<u64>()
        };
        let mut cycles = self.entry + pay(None, program.entry);
        for &number in edges {
            let edge = program.edges[number];
            cycles += self.edges[number] + pay(Some(edge.from), edge.to);
        }
        cycles
    }

    /// The same with every first miss of a scope paid at each of its entries, as a bound by edge counts has it.
    pub fn sum(&self, program: &Program, edges: &[usize]) -> u64 {
        let inside = |scope: usize, block: usize| program.scopes[scope].nodes.contains(&block);
        let scopes = |from: Option<usize>, to: usize| {
            let entered = |scope: &usize| inside(*scope, to) && from.is_none_or(|from| !inside(*scope, from));
            (0..self.scopes.len()).filter(entered).map(|scope| self.scopes[scope]).sum::<u64>()
        };
        let mut cycles = self.entry + scopes(None, program.entry);
        for &number in edges {
            let edge = program.edges[number];
            cycles += self.edges[number] + scopes(Some(edge.from), edge.to);
        }
        cycles
    }
}
