//! The question that is solved: the longest walk through a graph with bounded loops.

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
    /// Cycles that are paid elsewhere each time an edge is taken: the longest walk is sought without them.
    pub credits: BTreeMap<usize, u64>,
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

    /// How often each loop is entered, and how often its back edges are taken.
    pub fn rounds(&self, counts: &Counts) -> Vec<(u64, u64)> {
        let of: BTreeMap<usize, usize> =
            self.loops.iter().enumerate().map(|(number, one)| (one.header, number)).collect();
        let mut rounds = vec![(0, 0); self.loops.len()];
        if let Some(first) = of.get(&0) {
            rounds[*first].0 = 1;
        }
        for (edge, count) in counts {
            let (from, to) = self.edges[*edge];
            match of.get(&to) {
                Some(entered) if from < to => rounds[*entered].0 += count,
                Some(closed) => rounds[*closed].1 += count,
                None => {}
            }
        }
        rounds
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

    /// Whether counts respect all limits, and the bounds of loops.
    pub fn allows(&self, counts: &Counts) -> bool {
        let of = |edge: &usize| i128::from(counts.get(edge).copied().unwrap_or(0));
        let within = |limit: &Limit| {
            limit.terms.iter().map(|(edge, factor)| of(edge) * i128::from(*factor)).sum::<i128>()
                <= i128::from(limit.at_most)
        };
        let rounds = self.rounds(counts);
        let loops = self
            .loops
            .iter()
            .zip(&rounds)
            .all(|(one, (entries, back))| u128::from(*back) <= u128::from(one.bound - 1) * u128::from(*entries));
        let dead = self.dead.iter().any(|edge| counts.contains_key(edge));
        loops && !dead && self.limits.iter().all(within)
    }
}
