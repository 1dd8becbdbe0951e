//! Charges made ready: where each is certainly due, where it is due at each execution, and which depend on the walk.
//!
//! A charge is due once for each entry of its scope in which one of its nodes is executed. Nodes that come only after
//! another of them on every walk add nothing, nor do, where the scope is everything, those that are always followed by
//! another. A node inside an inner loop counts when that loop is entered, which is no less often. What remains are the
//! charge's *points*. If a scope's header is one, the charge is due at each entry. If no walk passes two points in one
//! entry of the scope, it is due at each execution of a point. Otherwise it costs, for any number *s* from 0 to the
//! charge's cycles, at most *s* at each execution of a point and the rest at each entry of the scope: which *s* is best
//! is for the dual to find (`dual.rs`).

use std::collections::{BTreeMap, BTreeSet};

use crate::ipet::problem::{Charge, Counts, Problem};

/// A charge that depends on the walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    pub scope: Option<usize>,
    pub cycles: u64,
    pub points: BTreeSet<Point>,
}

/// Where a charge may become due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// At each execution of a node.
    Node(usize),
    /// At each entry of a loop.
    Loop(usize),
}

/// All charges of a problem.
#[derive(Debug, Clone, Default)]
pub struct Charges {
    /// Cycles to be paid at the start and on each edge.
    pub start: u64,
    pub edges: Vec<u64>,
    pub open: Vec<Open>,
    /// The points of each charge of the problem; none of one that costs nothing.
    points: Vec<BTreeSet<Point>>,
}

impl Charges {
    /// How often each charge is due at most in a walk with these counts: the least of what its scope's entries, its nodes
    /// and its points say. Nodes alone say too much where one comes behind another in each entry of the scope, points
    /// alone where a loop is entered whose node is not executed.
    pub fn due(&self, problem: &Problem, counts: &Counts) -> Vec<u64> {
        let (rounds, executions) = (problem.rounds(counts), problem.executions(counts));
        let of = |point: &Point| match *point {
            Point::Node(node) => executions[node],
            Point::Loop(number) => rounds[number].0,
        };
        let due = |(charge, points): (&Charge, &BTreeSet<Point>)| {
            let reached = points.iter().map(of).fold(0, u64::saturating_add);
            let executed = charge.nodes.iter().map(|node| executions[*node]).fold(0, u64::saturating_add);
            reached.min(executed).min(charge.scope.map_or(1, |scope| rounds[scope].0))
        };
        problem.charges.iter().zip(&self.points).map(due).collect()
    }

    /// What a walk with these counts costs at most.
    pub fn cost(&self, problem: &Problem, counts: &Counts) -> u128 {
        let wide = u128::from;
        let edges = counts.iter().map(|(edge, count)| wide(*count) * wide(problem.costs[*edge]));
        let due = self.due(problem, counts);
        let charges = problem.charges.iter().zip(due).map(|(charge, due)| wide(charge.cycles) * wide(due));
        let all = wide(problem.start) + edges.sum::<u128>() + charges.sum::<u128>();
        let taken = |edge: &usize| wide(counts.get(edge).copied().unwrap_or(0));
        all.saturating_sub(problem.credits.iter().map(|(edge, credit)| wide(*credit) * taken(edge)).sum())
    }
}

impl Point {
    /// The edges that reach it, and whether the start does.
    pub fn edges(self, problem: &Problem, into: &[Vec<usize>]) -> (Vec<usize>, bool) {
        match self {
            Point::Node(node) => (into[node].clone(), node == 0),
            Point::Loop(number) => {
                let header = problem.loops[number].header;
                let enters = |edge: &&usize| problem.edges[**edge].0 < header;
                (into[header].iter().filter(enters).copied().collect(), header == 0)
            }
        }
    }

    fn node(self, problem: &Problem) -> usize {
        match self {
            Point::Node(node) => node,
            Point::Loop(number) => problem.loops[number].header,
        }
    }
}

/// Edges into each node.
pub fn into(problem: &Problem) -> Vec<Vec<usize>> {
    let mut into = vec![Vec::new(); problem.nodes];
    problem.edges.iter().enumerate().for_each(|(edge, (_, to))| into[*to].push(edge));
    into
}

pub fn charges(problem: &Problem) -> Charges {
    let due = |charge: &Charge| charge.cycles > 0 && !charge.nodes.is_empty();
    if !problem.charges.iter().any(due) {
        let points = vec![BTreeSet::new(); problem.charges.len()];
        return Charges { edges: vec![0; problem.edges.len()], points, ..Charges::default() };
    }
    let into = into(problem);
    let innermost = problem.innermost();
    let before = dominators(problem);
    let after = postdominators(problem);
    let mut forwards = Forwards::new(problem);
    let points_of = |charge: &Charge| {
        if !due(charge) {
            return BTreeSet::new();
        }
        let found = charge.nodes.iter().map(|node| point(problem, &innermost, charge.scope, *node)).collect();
        reduced(problem, charge.scope, found, &before, &after)
    };
    let points: Vec<BTreeSet<Point>> = problem.charges.iter().map(points_of).collect();
    let mut together: BTreeMap<(Option<usize>, &BTreeSet<Point>), u64> = BTreeMap::new();
    for (charge, points) in problem.charges.iter().zip(&points).filter(|(charge, _)| due(charge)) {
        *together.entry((charge.scope, points)).or_default() += charge.cycles;
    }
    let mut result = Charges { edges: vec![0; problem.edges.len()], ..Charges::default() };
    for ((scope, points), cycles) in together {
        let entry = scope.map_or(0, |scope| problem.loops[scope].header);
        let certain = points.iter().any(|point| match scope {
            None => *point == Point::Node(0) || after.always(point.node(problem)),
            Some(_) => point.node(problem) == entry,
        });
        let due: Vec<Point> = if certain {
            vec![scope.map_or(Point::Node(0), Point::Loop)]
        } else if forwards.exclusive(problem, scope, points) {
            points.iter().copied().collect()
        } else {
            result.open.push(Open { scope, cycles, points: points.clone() });
            continue;
        };
        // The start of everything is no execution of its first node: that may be the header of a loop.
        if certain && scope.is_none() {
            result.start += cycles;
            continue;
        }
        for point in due {
            let (edges, start) = point.edges(problem, &into);
            edges.into_iter().for_each(|edge| result.edges[edge] += cycles);
            result.start += if start { cycles } else { 0 };
        }
    }
    Charges { points, ..result }
}

/// The node, or the largest loop around it inside the scope.
fn point(problem: &Problem, innermost: &[Option<usize>], scope: Option<usize>, node: usize) -> Point {
    let around = std::iter::successors(innermost[node], |inner| problem.loops[*inner].parent);
    let inside = around.take_while(|inner| Some(*inner) != scope);
    inside.last().map_or(Point::Node(node), Point::Loop)
}

fn reduced(
    problem: &Problem,
    scope: Option<usize>,
    points: BTreeSet<Point>,
    before: &Dominators,
    after: &Dominators,
) -> BTreeSet<Point> {
    let mut kept = points.clone();
    for &point in &points {
        let node = point.node(problem);
        let others = || kept.iter().filter(|other| **other != point).map(|other| other.node(problem));
        let follows = others().any(|other| other != node && before.dominates(other, node));
        // Inside a loop the walk may leave the scope first.
        let followed = scope.is_none() && others().any(|other| other != node && after.dominates(other, node));
        if follows || followed {
            kept.remove(&point);
        }
    }
    kept
}

/// Searches the graph forwards, again and again.
struct Forwards {
    successors: Vec<Vec<usize>>,
    /// Number of the last search that came to each node.
    seen: Vec<usize>,
    searches: usize,
}

impl Forwards {
    fn new(problem: &Problem) -> Forwards {
        let mut successors = vec![Vec::new(); problem.nodes];
        problem.edges.iter().for_each(|(from, to)| successors[*from].push(*to));
        Forwards { successors, seen: vec![0; problem.nodes], searches: 0 }
    }

    /// Whether no walk passes two points, or one twice, in one entry of the scope.
    fn exclusive(&mut self, problem: &Problem, scope: Option<usize>, points: &BTreeSet<Point>) -> bool {
        let inside = |node: usize| scope.is_none_or(|scope| problem.contains(scope, node));
        let targets: BTreeSet<usize> = points.iter().map(|point| point.node(problem)).collect();
        self.searches += 1;
        let mut open = Vec::new();
        for &point in points {
            match point {
                Point::Node(node) => open.extend(&self.successors[node]),
                // What the loop leads to: only its own back edges lead to its header, and do not enter it.
                Point::Loop(number) => {
                    let leaves = |node: &&usize| !problem.contains(number, **node);
                    let nodes = problem.loops[number].nodes.iter();
                    open.extend(nodes.flat_map(|node| self.successors[*node].iter().filter(leaves)));
                }
            }
        }
        // Through the header of the scope too: its next iteration is the same entry.
        while let Some(node) = open.pop() {
            if self.seen[node] == self.searches || !inside(node) {
                continue;
            }
            self.seen[node] = self.searches;
            if targets.contains(&node) {
                return false;
            }
            open.extend(&self.successors[node]);
        }
        true
    }
}

/// For each node the nearest one that is on all ways to it; a tree with preorder numbers.
struct Dominators {
    /// Nearest dominator; itself for the root.
    nearest: Vec<usize>,
    depth: Vec<usize>,
    root: usize,
}

impl Dominators {
    /// Vertices of `order` come after the root and in reverse postorder, but for edges back.
    fn of(root: usize, order: &[usize], predecessors: &[Vec<usize>]) -> Dominators {
        const NONE: usize = usize::MAX;
        let mut rank = vec![NONE; predecessors.len()];
        order.iter().enumerate().for_each(|(place, node)| rank[*node] = place);
        let mut nearest = vec![NONE; predecessors.len()];
        nearest[root] = root;
        let mut changed = true;
        while changed {
            changed = false;
            for &node in order.iter().filter(|node| **node != root) {
                let mut common = NONE;
                for &from in predecessors[node].iter().filter(|from| nearest[**from] != NONE) {
                    let (mut a, mut b) = (from, common);
                    if b == NONE {
                        common = a;
                        continue;
                    }
                    while a != b {
                        if rank[a] > rank[b] {
                            a = nearest[a];
                        } else {
                            b = nearest[b];
                        }
                    }
                    common = a;
                }
                if nearest[node] != common {
                    nearest[node] = common;
                    changed = true;
                }
            }
        }
        let mut depth = vec![0; predecessors.len()];
        for &node in order.iter().filter(|node| **node != root && nearest[**node] != NONE) {
            depth[node] = depth[nearest[node]] + 1;
        }
        Dominators { nearest, depth, root }
    }

    fn dominates(&self, by: usize, mut node: usize) -> bool {
        if self.nearest[node] == usize::MAX || self.nearest[by] == usize::MAX {
            return false;
        }
        while self.depth[node] > self.depth[by] {
            node = self.nearest[node];
        }
        node == by
    }

    /// Whether every walk passes the node.
    fn always(&self, node: usize) -> bool {
        self.nearest[0] != usize::MAX && self.root != 0 && self.dominates(node, 0)
    }
}

fn dominators(problem: &Problem) -> Dominators {
    let mut predecessors = vec![Vec::new(); problem.nodes];
    problem.edges.iter().for_each(|(from, to)| predecessors[*to].push(*from));
    Dominators::of(0, &(0..problem.nodes).collect::<Vec<_>>(), &predecessors)
}

/// The same from the end, which is a node of its own.
fn postdominators(problem: &Problem) -> Dominators {
    let end = problem.nodes;
    let mut successors = vec![Vec::new(); problem.nodes + 1];
    let mut backwards = vec![Vec::new(); problem.nodes + 1];
    let ends = problem.exits.iter().map(|node| (*node, end));
    for (from, to) in problem.edges.iter().copied().chain(ends) {
        successors[from].push(to);
        backwards[to].push(from);
    }
    // Reverse postorder from the end.
    let mut seen = vec![false; problem.nodes + 1];
    seen[end] = true;
    let (mut order, mut open) = (Vec::new(), vec![(end, 0)]);
    while let Some((node, next)) = open.pop() {
        match backwards[node].get(next) {
            None => order.push(node),
            Some(&to) => {
                open.push((node, next + 1));
                if !seen[to] {
                    seen[to] = true;
                    open.push((to, 0));
                }
            }
        }
    }
    order.reverse();
    Dominators::of(end, &order, &successors)
}
