//! Call chains that lead to the places where regions begin.

use std::collections::{BTreeMap, BTreeSet};

use wcet_flow::{EdgeKind, Graph};

use crate::error::Error;
use crate::points::{End, Points};

/// A chain of calls: functions with the block that calls, and last the block at which a region begins.
pub type Chain = Vec<(u64, usize)>;

/// More chains than this are not followed.
const MOST: usize = 100_000;

/// All chains from an entry to places where regions begin.
pub fn chains(graph: &Graph, points: &Points, entry: u64) -> Result<BTreeMap<Chain, End>, Error> {
    let leading = leading(graph, points);
    let mut found = BTreeMap::new();
    let mut open: Vec<Chain> = vec![vec![(entry, 0)]];
    while let Some(chain) = open.pop() {
        let (function, _) = chain[chain.len() - 1];
        let with = |block: usize| {
            let mut longer = chain.clone();
            longer[chain.len() - 1].1 = block;
            longer
        };
        for (number, block) in graph.functions[&function].blocks.iter().enumerate() {
            if let Some(end) = points.behind.get(&block.start()) {
                found.insert(with(number), *end);
            }
            for callee in block.calls.iter().chain(&block.tail_calls) {
                // A thread that has ended does not go on, nor does a run.
                if points.ends.get(callee) == Some(&End::Run) || *callee == points.ended {
                    continue;
                }
                if let Some(end) = points.called.get(callee) {
                    found.extend(behind(graph, &with(number), *callee).map(|chain| (chain, *end)));
                } else if leading.contains(callee) {
                    let mut deeper = with(number);
                    deeper.push((*callee, 0));
                    open.push(deeper);
                }
            }
        }
        if found.len() > MOST {
            return Err(Error::TooMany(MOST));
        }
    }
    Ok(found)
}

/// Where control comes when what the last link of a chain calls returns. None if the chain ends there.
pub(crate) fn behind(graph: &Graph, chain: &[(u64, usize)], callee: u64) -> Option<Chain> {
    let mut chain = chain.to_vec();
    let mut callee = callee;
    while let Some((function, block)) = chain.pop() {
        let content = &graph.functions[&function].blocks[block];
        if content.calls.contains(&callee) {
            let back = content.edges.iter().find(|edge| edge.kind == EdgeKind::Back)?;
            chain.push((function, back.to));
            return Some(chain);
        }
        callee = function;
    }
    None
}

/// Functions from which such a place is reached.
fn leading(graph: &Graph, points: &Points) -> BTreeSet<u64> {
    let mut leading: BTreeSet<u64> = graph
        .functions
        .iter()
        .filter(|(_, function)| function.blocks.iter().any(|block| points.behind.contains_key(&block.start())))
        .map(|(address, _)| *address)
        .chain(points.called.keys().copied())
        .collect();
    loop {
        let more: Vec<u64> = graph
            .functions
            .keys()
            .filter(|function| !leading.contains(function) && !graph.callees(**function).is_disjoint(&leading))
            .copied()
            .collect();
        if more.is_empty() {
            return leading;
        }
        leading.extend(more);
    }
}
