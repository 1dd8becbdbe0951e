//! Makes a loop with several entries one with a single header: what is entered elsewhere is copied.
//!
//! One entry is kept as the header. From each other one, the blocks up to the header are copied, and what came from
//! outside goes to the copy. An execution does the same instructions as before, at the same addresses; only the blocks
//! that stand for them differ, and how many of its rounds count as before the first execution of the header.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::{Block, Edge};
use crate::loops::Tangle;

/// The blocks with a single way into the tangle, in reverse postorder; None if more than `room` copies are needed.
pub(crate) fn split(blocks: &[Block], tangle: &Tangle, room: usize) -> Option<Vec<Block>> {
    let costs = tangle.entries.iter().map(|header| (copied(blocks, tangle, *header), *header));
    let (copied, header) = costs.min_by_key(|(copied, _)| copied.len())?;
    if copied.len() > room {
        return None;
    }
    let copies: BTreeMap<usize, usize> = copied.into_iter().zip(blocks.len()..).collect();
    let follow = |edge: &Edge| Edge { to: copies.get(&edge.to).copied().unwrap_or(edge.to), kind: edge.kind };
    let mut wider = blocks.to_vec();
    for (number, block) in wider.iter_mut().enumerate() {
        if !tangle.blocks.contains(&number) {
            block.edges = block.edges.iter().map(follow).collect();
        }
    }
    // The header is none of the copied, so a copy that leads to it leads to the one there is.
    for original in copies.keys() {
        let edges = blocks[*original].edges.iter().map(follow).collect();
        wider.push(Block { edges, ..blocks[*original].clone() });
    }
    debug_assert!(!copies.contains_key(&header));
    Some(ordered(&wider))
}

/// The blocks of the tangle that are reached from its other entries before `header`.
fn copied(blocks: &[Block], tangle: &Tangle, header: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open: Vec<usize> = tangle.entries.iter().copied().filter(|entry| *entry != header).collect();
    while let Some(block) = open.pop() {
        if found.insert(block) {
            let next = blocks[block].edges.iter().map(|edge| edge.to);
            open.extend(next.filter(|next| *next != header && tangle.blocks.contains(next)));
        }
    }
    found
}

/// The blocks that are reached from the first, in reverse postorder.
fn ordered(blocks: &[Block]) -> Vec<Block> {
    let targets = |block: usize| blocks[block].edges.iter().map(|edge| edge.to).collect::<Vec<_>>();
    let mut seen = BTreeSet::from([0]);
    let mut finished = Vec::new();
    let mut open = vec![(0, targets(0))];
    while let Some((block, rest)) = open.last_mut() {
        match rest.pop() {
            Some(next) if seen.insert(next) => open.push((next, targets(next))),
            Some(_) => {}
            None => {
                finished.push(*block);
                open.pop();
            }
        }
    }
    finished.reverse();
    let place: BTreeMap<usize, usize> = finished.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    let moved = |old: &usize| {
        let edges = blocks[*old].edges.iter().map(|edge| Edge { to: place[&edge.to], kind: edge.kind }).collect();
        Block { edges, ..blocks[*old].clone() }
    };
    finished.iter().map(moved).collect()
}
