//! A stretch inside a graph: from a node on, by certain edges, to where it ends.
//!
//! Its walks are parts of walks of the whole, and cost no more than their nodes do there. What a walk of the whole pays once
//! for a scope, a stretch pays when it comes to one of the scope's nodes: once if it never leaves the scope, for each entry
//! if it repeats the scope's loop as a whole, and otherwise at each execution of such a node.

use std::collections::{BTreeMap, BTreeSet};

use wcet_flow::context::{EdgeId, NodeId};

use crate::ipet::bound::{Prepared, Total};
use crate::ipet::dual::solve;
use crate::ipet::problem::{Charge, Limit, Loop, Problem};

/// Walks from one node to others, ready to be solved.
pub struct Stretch {
    problem: Problem,
    /// The node of each number.
    nodes: Vec<NodeId>,
}

impl Prepared<'_, '_> {
    /// The walks that begin with `from`, take only these edges, and end with one of `ends`. None if they come into a loop that
    /// they repeat other than by its header, or cannot begin.
    pub fn stretch(
        &self,
        from: NodeId,
        edges: &BTreeSet<EdgeId>,
        ends: &BTreeSet<NodeId>,
        totals: &[Total],
    ) -> Option<Stretch> {
        let (model, whole) = (&self.model, &self.problem);
        let first = *model.blocks.get(&from)?;
        let allowed: Vec<usize> = edges.iter().filter_map(|edge| model.edges.binary_search(edge).ok()).collect();
        let mut ways: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        allowed.iter().for_each(|edge| ways.entry(whole.edges[*edge].0).or_default().push(*edge));
        let mut reached = BTreeSet::from([first]);
        let mut open = vec![first];
        while let Some(node) = open.pop() {
            let to = ways.get(&node).into_iter().flatten().map(|edge| whole.edges[*edge].1);
            open.extend(to.filter(|to| reached.insert(*to)));
        }
        if reached.first() != Some(&first) {
            return None;
        }
        let number: BTreeMap<usize, usize> = reached.iter().enumerate().map(|(new, old)| (*old, new)).collect();
        let taken: Vec<usize> = allowed.into_iter().filter(|edge| reached.contains(&whole.edges[*edge].0)).collect();
        // Loops that can be repeated, by their numbers in the whole.
        let headers: BTreeSet<usize> =
            taken.iter().map(|edge| whole.edges[*edge]).filter(|(from, to)| to <= from).map(|(_, to)| to).collect();
        let kept: BTreeMap<usize, usize> = (0..whole.loops.len())
            .filter(|one| headers.contains(&whole.loops[*one].header))
            .enumerate()
            .map(|(new, old)| (old, new))
            .collect();
        if kept.keys().any(|one| whole.loops[*one].header != first && whole.contains(*one, first)) {
            return None;
        }
        let loops = kept.keys().map(|one| {
            let one = &whole.loops[*one];
            let around = std::iter::successors(one.parent, |outer| whole.loops[*outer].parent);
            Loop {
                header: number[&one.header],
                nodes: one.nodes.iter().filter_map(|node| number.get(node).copied()).collect(),
                parent: around.filter_map(|outer| kept.get(&outer).copied()).next(),
                bound: one.bound,
            }
        });
        let into = whole.edges.iter().zip(&whole.costs).filter(|((_, to), _)| *to == first).map(|(_, cost)| *cost);
        let start = if first == 0 { Some(whole.start) } else { None };
        let mut problem = Problem {
            nodes: reached.len(),
            edges: taken.iter().map(|edge| whole.edges[*edge]).map(|(from, to)| (number[&from], number[&to])).collect(),
            exits: ends.iter().filter_map(|node| number.get(model.blocks.get(node)?).copied()).collect(),
            loops: loops.collect(),
            start: into.chain(start).max()?,
            costs: taken.iter().map(|edge| whole.costs[*edge]).collect(),
            ..Problem::default()
        };
        for charge in &whole.charges {
            let nodes: Vec<usize> = charge.nodes.iter().filter_map(|node| number.get(node).copied()).collect();
            let left = |scope: usize| reached.iter().any(|node| !whole.contains(scope, *node));
            match charge.scope {
                _ if nodes.is_empty() => {}
                Some(scope) if kept.contains_key(&scope) => {
                    problem.charges.push(Charge { scope: Some(kept[&scope]), cycles: charge.cycles, nodes });
                }
                Some(scope) if left(scope) => {
                    let of = nodes.into_iter().collect::<BTreeSet<_>>();
                    for (cost, (_, to)) in problem.costs.iter_mut().zip(&problem.edges) {
                        *cost = cost.saturating_add(if of.contains(to) { charge.cycles } else { 0 });
                    }
                    problem.start = problem.start.saturating_add(if of.contains(&0) { charge.cycles } else { 0 });
                }
                _ => problem.charges.push(Charge { scope: None, cycles: charge.cycles, nodes }),
            }
        }
        let new: BTreeMap<EdgeId, usize> =
            taken.iter().enumerate().map(|(new, edge)| (model.edges[*edge], new)).collect();
        problem.limits = totals.iter().filter_map(|total| self.limit(total, first, &kept, &new)).collect();
        Some(Stretch { problem, nodes: reached.iter().map(|block| model.nodes[*block]).collect() })
    }

    /// What a total says of a stretch that repeats the outer loop from its entry on.
    fn limit(
        &self,
        total: &Total,
        first: usize,
        kept: &BTreeMap<usize, usize>,
        new: &BTreeMap<EdgeId, usize>,
    ) -> Option<Limit> {
        let number = self.live.loops.binary_search(&total.outer).ok()?;
        if !kept.contains_key(&number) || self.problem.loops[number].header == first {
            return None;
        }
        let (inner, outer) = (&self.expanded.loops[total.inner], &self.expanded.loops[total.outer]);
        let headers = i64::try_from(total.headers).ok()?;
        let mut limit = Limit { terms: BTreeMap::new(), at_most: 0 };
        for (edges, factor) in [(&inner.entries, 1), (&inner.back, 1), (&outer.entries, -headers)] {
            for edge in edges.iter().filter_map(|edge| new.get(edge)) {
                *limit.terms.entry(*edge).or_default() += factor;
            }
        }
        Some(limit)
    }
}

impl Stretch {
    /// A bound of all its walks, each with its first and its last node as a whole; None if none ends.
    pub fn cycles(&self) -> Option<u64> {
        u64::try_from(solve(&self.problem, None)?.bound).ok()
    }

    /// The most that nodes weigh on any walk, each as often as it is executed.
    pub fn heaviest(&self, weight: impl Fn(NodeId) -> u64) -> Option<u64> {
        let of = |node: usize| weight(self.nodes[node]);
        let mut problem = self.problem.clone();
        problem.start = of(0);
        problem.costs = problem.edges.iter().map(|(_, to)| of(*to)).collect();
        problem.charges.clear();
        u64::try_from(solve(&problem, None)?.bound).ok()
    }
}
