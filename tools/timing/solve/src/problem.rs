//! The question that is solved: the dearest walk through a graph with bounded loops.

use std::collections::{BTreeMap, BTreeSet};

/// A graph with costs. Nodes are numbered in reverse postorder, node 0 is the entry: an edge that does not lead back to
/// the header of a loop leads to a larger number.
#[derive(Debug, Clone, Default)]
pub struct Problem {
    pub nodes: usize,
    /// From, to.
    pub edges: Vec<(usize, usize)>,
    /// Nodes after which a walk may end.
    pub exits: Vec<usize>,
    /// Outer loops before those inside them.
    pub loops: Vec<Loop>,
    /// What the start costs.
    pub start: u64,
    /// What each edge costs.
    pub costs: Vec<u64>,
    pub charges: Vec<Charge>,
    pub limits: Vec<Limit>,
    pub conflicts: Vec<Conflict>,
    /// Edges that are not taken.
    pub dead: BTreeSet<usize>,
}

/// A loop with one header.
#[derive(Debug, Clone)]
pub struct Loop {
    pub header: usize,
    /// Ascending, those of inner loops among them.
    pub nodes: Vec<usize>,
    pub parent: Option<usize>,
    /// Most executions of the header for each entry, at least 1.
    pub bound: u64,
}

/// Cycles to be paid once for each entry of a scope in which one of the nodes is executed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Charge {
    /// A loop, or everything.
    pub scope: Option<usize>,
    pub cycles: u64,
    pub nodes: Vec<usize>,
}

/// A sum of edge counts, each times its factor, is at most a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    pub terms: BTreeMap<usize, i64>,
    pub at_most: i64,
}

/// Edges that are not all taken in one iteration of a loop, or not all in the whole walk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    pub scope: Option<usize>,
    pub edges: Vec<usize>,
}

/// How often each edge is taken; edges that are not are left out.
pub type Counts = BTreeMap<usize, u64>;

impl Problem {
    /// The smallest loop around each node.
    pub fn innermost(&self) -> Vec<Option<usize>> {
        let mut innermost = vec![None; self.nodes];
        for (number, one) in self.loops.iter().enumerate() {
            one.nodes.iter().for_each(|node| innermost[*node] = Some(number));
        }
        innermost
    }

    pub fn contains(&self, within: usize, node: usize) -> bool {
        self.loops[within].nodes.binary_search(&node).is_ok()
    }

    /// Edges by which a loop is entered.
    pub fn entries(&self, of: usize) -> Vec<usize> {
        let header = self.loops[of].header;
        let enters = |(from, to): (usize, usize)| to == header && from < header;
        (0..self.edges.len()).filter(|edge| enters(self.edges[*edge])).collect()
    }

    /// Edges back to its header.
    pub fn back(&self, of: usize) -> Vec<usize> {
        let header = self.loops[of].header;
        let closes = |(from, to): (usize, usize)| to == header && from >= header;
        (0..self.edges.len()).filter(|edge| closes(self.edges[*edge])).collect()
    }

    /// How often a scope is entered.
    pub fn entered(&self, scope: Option<usize>, counts: &Counts) -> u64 {
        let Some(scope) = scope else { return 1 };
        let header = self.loops[scope].header;
        let taken = counts.iter().filter(|(edge, _)| self.edges[**edge].1 == header && self.edges[**edge].0 < header);
        taken.map(|(_, count)| *count).sum::<u64>() + u64::from(header == 0)
    }

    /// How often each node is executed.
    pub fn executions(&self, counts: &Counts) -> Vec<u64> {
        let mut executions = vec![0; self.nodes];
        if let Some(entry) = executions.first_mut() {
            *entry = 1;
        }
        counts.iter().for_each(|(edge, count)| executions[self.edges[*edge].1] += count);
        executions
    }

    /// What a walk with these counts costs at most.
    pub fn cost(&self, counts: &Counts) -> u128 {
        let executions = self.executions(counts);
        let edges = counts.iter().map(|(edge, count)| u128::from(*count) * u128::from(self.costs[*edge]));
        let charges = self.charges.iter().map(|charge| {
            let executed: u128 = charge.nodes.iter().map(|node| u128::from(executions[*node])).sum();
            u128::from(charge.cycles) * executed.min(u128::from(self.entered(charge.scope, counts)))
        });
        u128::from(self.start) + edges.sum::<u128>() + charges.sum::<u128>()
    }

    /// Whether counts respect all limits, and the bounds of loops.
    pub fn allows(&self, counts: &Counts) -> bool {
        let of = |edge: &usize| i128::from(counts.get(edge).copied().unwrap_or(0));
        let within = |limit: &Limit| {
            limit.terms.iter().map(|(edge, factor)| of(edge) * i128::from(*factor)).sum::<i128>()
                <= i128::from(limit.at_most)
        };
        let loops = (0..self.loops.len()).all(|number| {
            let back: i128 = self.back(number).iter().map(of).sum();
            back <= i128::from(self.loops[number].bound - 1) * i128::from(self.entered(Some(number), counts))
        });
        let dead = self.dead.iter().any(|edge| counts.contains_key(edge));
        loops && !dead && self.limits.iter().all(within)
    }
}
