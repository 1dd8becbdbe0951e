//! Natural loops and how they nest; loops without a single header are found and refused.

use std::collections::{BTreeMap, BTreeSet};

use crate::dominators::dominates;

/// A loop with one header, which dominates all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Index of the block at which it is entered.
    pub header: usize,
    /// Its blocks, those of inner loops among them.
    pub blocks: BTreeSet<usize>,
    /// Blocks with an edge back to the header.
    pub latches: Vec<usize>,
    /// Index of the smallest loop around it.
    pub parent: Option<usize>,
    /// 1 for a loop inside none.
    pub depth: usize,
}

/// A loop without a single header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tangle {
    pub blocks: BTreeSet<usize>,
    /// Where it is entered.
    pub entries: BTreeSet<usize>,
}

/// The loops of a graph in reverse postorder, outer ones first; or those without a single header.
pub(crate) fn loops(successors: &[Vec<usize>], dominator: &[usize]) -> Result<Vec<Loop>, Vec<Tangle>> {
    let mut predecessors = vec![Vec::new(); successors.len()];
    let mut latches: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut forward = vec![Vec::new(); successors.len()];
    for (from, targets) in successors.iter().enumerate() {
        for to in targets {
            predecessors[*to].push(from);
            if dominates(dominator, *to, from) {
                latches.entry(*to).or_default().push(from);
            } else {
                forward[from].push(*to);
            }
        }
    }
    // Without the edges back to headers, a graph with headers only has no cycle left.
    let irreducible: Vec<BTreeSet<usize>> =
        components(&forward).into_iter().filter(|component| component.len() > 1).collect();
    if !irreducible.is_empty() {
        let outside =
            |component: &BTreeSet<usize>, node: usize| predecessors[node].iter().any(|from| !component.contains(from));
        let tangle = |blocks: BTreeSet<usize>| {
            let entries = blocks.iter().copied().filter(|node| outside(&blocks, *node)).collect();
            Tangle { blocks, entries }
        };
        return Err(irreducible.into_iter().map(tangle).collect());
    }
    let mut found: Vec<Loop> = latches
        .into_iter()
        .map(|(header, latches)| {
            let blocks = body(header, &latches, &predecessors);
            Loop { header, blocks, latches, parent: None, depth: 1 }
        })
        .collect();
    // A loop inside another is smaller, and its header comes later.
    for index in 0..found.len() {
        let header = found[index].header;
        let around = (0..index).filter(|other| found[*other].blocks.contains(&header));
        let parent = around.min_by_key(|other| found[*other].blocks.len());
        found[index].parent = parent;
        found[index].depth = parent.map_or(1, |parent| found[parent].depth + 1);
    }
    Ok(found)
}

/// The blocks from which a latch is reached without passing the header.
fn body(header: usize, latches: &[usize], predecessors: &[Vec<usize>]) -> BTreeSet<usize> {
    let mut blocks = BTreeSet::from([header]);
    let mut open = latches.to_vec();
    while let Some(block) = open.pop() {
        if blocks.insert(block) {
            open.extend(&predecessors[block]);
        }
    }
    blocks
}

/// Strongly connected components (Tarjan), without recursion.
pub(crate) fn components(successors: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
    const NEW: usize = usize::MAX;
    let mut index = vec![NEW; successors.len()];
    let mut low = vec![0; successors.len()];
    let mut on_stack = vec![false; successors.len()];
    let (mut stack, mut next, mut found) = (Vec::new(), 0, Vec::new());
    for root in 0..successors.len() {
        let mut calls = if index[root] == NEW { vec![(root, 0)] } else { vec![] };
        while let Some((node, edge)) = calls.pop() {
            if edge == 0 {
                index[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            } else {
                let child = successors[node][edge - 1];
                if on_stack[child] {
                    low[node] = low[node].min(low[child]);
                }
            }
            if let Some(child) = successors[node].get(edge) {
                calls.push((node, edge + 1));
                if index[*child] == NEW {
                    calls.push((*child, 0));
                }
            } else if low[node] == index[node] {
                let mut component = BTreeSet::new();
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    component.insert(member);
                    if member == node {
                        break;
                    }
                }
                found.push(component);
            }
        }
    }
    found
}
