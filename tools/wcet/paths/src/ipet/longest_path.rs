//! The longest walk for given weights, exactly: region by region, innermost loops first.
//!
//! In an acyclic region the longest path to each way out is found by one pass over its vertices. A loop that is entered
//! once takes its longest iteration as often as its bound allows and leaves by the longest path to the exit chosen, so
//! in the region around it, it is a vertex whose ways out have these costs. Weights may be negative: an iteration that
//! does not pay is not taken.
//!
//! Edges that conflict in a region are kept apart by branching: a path to a way out that takes all of them is replaced
//! by the best of those that miss the first, the second and so on. What cannot be finished within [`BRANCHES`] keeps
//! the value of the best branch, which is an upper bound.

use std::collections::{BTreeSet, BinaryHeap};
use std::rc::Rc;

use crate::ipet::problem::{Counts, Problem};
use crate::ipet::region::{regions, Goal, Region};

/// Branches tried for each way out of a region.
const BRANCHES: usize = 300;

/// The regions of a problem: they follow from its nodes, edges, exits and loops, and are the same under all constraints.
#[derive(Debug)]
pub struct Shape {
    regions: Vec<Region>,
    /// The region of which each edge leaves a vertex to another or back.
    region_of: Vec<usize>,
}

impl Shape {
    pub fn new(problem: &Problem) -> Shape {
        let regions = regions(problem);
        let mut region_of = vec![regions.len() - 1; problem.edges.len()];
        for (number, region) in regions.iter().enumerate() {
            for (edge, goal) in region.vertices.iter().flat_map(|vertex| &vertex.out) {
                if !matches!(goal, Goal::Exit(_)) && *edge < region_of.len() {
                    region_of[*edge] = number;
                }
            }
        }
        Shape { regions, region_of }
    }
}

/// A problem made ready for many weights.
pub struct Decomposed {
    shape: Rc<Shape>,
    /// Numbers of conflicts by region, as edge sets.
    conflicts: Vec<Vec<Vec<usize>>>,
    edges: usize,
    /// By edge, ends of walks among them.
    dead: Vec<bool>,
}

/// The longest walk.
#[derive(Debug, Clone)]
pub struct LongestPath {
    /// Its weight, or a bound of it.
    pub weight: i128,
    pub counts: Counts,
    /// Whether the walk has this weight and violates no conflict.
    pub exact: bool,
}

/// The best way to leave a region by one edge.
#[derive(Debug, Clone)]
struct Way {
    /// The weight up to the edge, and of the edge itself if it leads back.
    weight: i128,
    exact: bool,
    edge: usize,
    vertex: usize,
    search: Rc<Search>,
}

/// A region's ways out. Those of a loop include all iterations.
#[derive(Debug)]
struct Summary {
    iteration: Option<Way>,
    iterations: u64,
    exits: Vec<Option<Way>>,
}

/// One pass over a region.
#[derive(Debug)]
struct Search {
    /// Of each vertex, the weight at most of a path to it, and the edge by which it comes from which vertex.
    reached: Vec<Option<(i128, usize, usize)>>,
    inner: Vec<Option<Rc<Summary>>>,
    /// By goal: back, then the exits.
    back: Option<(i128, usize, usize)>,
    exits: Vec<Option<(i128, usize, usize)>>,
}

const START: usize = usize::MAX;

impl Decomposed {
    /// Of the shape of this problem.
    pub fn new(problem: &Problem, shape: Rc<Shape>) -> Decomposed {
        let whole = shape.regions.len() - 1;
        let mut conflicts = vec![Vec::new(); shape.regions.len()];
        for conflict in &problem.conflicts {
            conflicts[conflict.scope.unwrap_or(whole)].push(conflict.edges.clone());
        }
        let mut dead = vec![false; problem.edges.len() + problem.exits.len()];
        problem.dead.iter().for_each(|edge| dead[*edge] = true);
        Decomposed { shape, conflicts, edges: problem.edges.len(), dead }
    }

    /// The longest walk without some edges, if the start weighs `start` and each edge what `weights` says; none if no walk
    /// ends.
    pub fn longest_path(&self, start: i128, weights: &[i128], without: &BTreeSet<usize>) -> Option<LongestPath> {
        let mut known: Vec<Option<Rc<Summary>>> = vec![None; self.shape.regions.len()];
        // Inner loops come later, the whole last of all.
        let whole = self.shape.regions.len() - 1;
        for region in (0..whole).rev().chain([whole]) {
            let summary = self.summary(region, weights, &known, without);
            known[region] = Some(Rc::new(summary));
        }
        let summary = known[whole].clone()?;
        let best = summary.exits.iter().flatten().max_by_key(|way| way.weight)?;
        let mut counts = Counts::new();
        self.collect(best, 1, &mut counts);
        Some(LongestPath { weight: start + best.weight, counts, exact: best.exact })
    }

    fn weight(&self, weights: &[i128], edge: usize) -> i128 {
        if edge < self.edges {
            weights[edge]
        } else {
            0
        }
    }

    /// Whether a forbidden edge is in a region or a region inside it.
    fn touches(&self, region: usize, forbidden: &BTreeSet<usize>) -> bool {
        let inside = |edge: &usize| self.shape.regions[region].within.contains(&self.shape.region_of[*edge]);
        forbidden.iter().any(inside)
    }

    fn summary(
        &self,
        region: usize,
        weights: &[i128],
        known: &[Option<Rc<Summary>>],
        forbidden: &BTreeSet<usize>,
    ) -> Summary {
        let content = &self.shape.regions[region];
        let first = Rc::new(self.search(region, weights, known, forbidden));
        let iteration = self.way(region, None, &first, weights, known, forbidden);
        let iteration = iteration.filter(|way| way.weight > 0);
        let iterations = if iteration.is_some() { content.bound - 1 } else { 0 };
        let before = iteration.as_ref().map_or(0, |way| way.weight) * i128::from(iterations);
        let exact = iterations == 0 || iteration.as_ref().is_none_or(|way| way.exact);
        let exits = (0..content.exits.len()).map(|exit| {
            let mut way = self.way(region, Some(exit), &first, weights, known, forbidden)?;
            way.weight += before;
            way.exact &= exact;
            Some(way)
        });
        let exits = exits.collect();
        Summary { iteration, iterations, exits }
    }

    fn search(
        &self,
        region: usize,
        weights: &[i128],
        known: &[Option<Rc<Summary>>],
        forbidden: &BTreeSet<usize>,
    ) -> Search {
        let content = &self.shape.regions[region];
        let count = content.vertices.len();
        let mut search = Search {
            reached: vec![None; count],
            inner: vec![None; count],
            back: None,
            exits: vec![None; content.exits.len()],
        };
        search.reached[0] = Some((0, START, START));
        for (number, vertex) in content.vertices.iter().enumerate() {
            let Some((before, _, _)) = search.reached[number] else { continue };
            if let Some(inner) = vertex.inner {
                search.inner[number] = if self.touches(inner, forbidden) {
                    Some(Rc::new(self.summary(inner, weights, known, forbidden)))
                } else {
                    known[inner].clone()
                };
            }
            let inner = search.inner[number].clone();
            for (place, (edge, goal)) in vertex.out.iter().enumerate() {
                if forbidden.contains(edge) || self.dead[*edge] {
                    continue;
                }
                let through = match &inner {
                    None => 0,
                    Some(inner) => match &inner.exits[place] {
                        Some(way) => way.weight,
                        None => continue,
                    },
                };
                let at = before + through;
                let arrived = at + self.weight(weights, *edge);
                let (slot, weight) = match goal {
                    Goal::Vertex(to) => (&mut search.reached[*to], arrived),
                    Goal::Back => (&mut search.back, arrived),
                    // Where it leads costs in the region around.
                    Goal::Exit(exit) => (&mut search.exits[*exit], at),
                };
                if slot.is_none_or(|(best, _, _)| best < weight) {
                    *slot = Some((weight, *edge, number));
                }
            }
        }
        search
    }

    /// The best way to a goal that violates no conflict of the region.
    fn way(
        &self,
        region: usize,
        exit: Option<usize>,
        first: &Rc<Search>,
        weights: &[i128],
        known: &[Option<Rc<Summary>>],
        forbidden: &BTreeSet<usize>,
    ) -> Option<Way> {
        let way = |search: &Rc<Search>| {
            let (weight, edge, vertex) = match exit {
                Some(exit) => search.exits[exit],
                None => search.back,
            }?;
            let mut way = Way { weight, exact: true, edge, vertex, search: search.clone() };
            way.exact = self.is_exact(&way);
            Some(way)
        };
        let best = way(first)?;
        let conflicts = &self.conflicts[region];
        if conflicts.is_empty() {
            return Some(best);
        }
        let mut open = BinaryHeap::from([Branch { way: best, forbidden: forbidden.clone() }]);
        let mut tried = BTreeSet::new();
        while let Some(Branch { way: mut best, forbidden }) = open.pop() {
            let mut taken = Counts::new();
            self.collect(&best, 1, &mut taken);
            taken.insert(best.edge, 1);
            let Some(violated) = conflicts.iter().find(|edges| edges.iter().all(|edge| taken.contains_key(edge)))
            else {
                return Some(best);
            };
            if tried.len() >= BRANCHES {
                best.exact = false;
                return Some(best);
            }
            for edge in violated {
                let mut without = forbidden.clone();
                without.insert(*edge);
                if !tried.insert(without.clone()) {
                    continue;
                }
                let search = Rc::new(self.search(region, weights, known, &without));
                open.extend(way(&search).map(|way| Branch { way, forbidden: without }));
            }
        }
        None
    }

    fn is_exact(&self, way: &Way) -> bool {
        let (mut vertex, mut edge) = (way.vertex, way.edge);
        loop {
            if let Some(inner) = &way.search.inner[vertex] {
                let exit = exit_of(&way.search, vertex, edge);
                if inner.exits[exit].as_ref().is_some_and(|inner| !inner.exact) {
                    return false;
                }
            }
            match way.search.reached[vertex] {
                Some((_, by, from)) if by != START => (vertex, edge) = (from, by),
                _ => return true,
            }
        }
    }

    /// Adds the edges of a way, taken `times`, without the last one.
    fn collect(&self, way: &Way, times: u64, counts: &mut Counts) {
        let (mut vertex, mut edge) = (way.vertex, way.edge);
        loop {
            if let Some(inner) = &way.search.inner[vertex] {
                let exit = exit_of(&way.search, vertex, edge);
                if let Some(iteration) = inner.iteration.as_ref().filter(|_| inner.iterations > 0) {
                    let rounds = times * inner.iterations;
                    self.collect(iteration, rounds, counts);
                    *counts.entry(iteration.edge).or_default() += rounds;
                }
                if let Some(out) = &inner.exits[exit] {
                    self.collect(out, times, counts);
                }
            }
            match way.search.reached[vertex] {
                Some((_, by, from)) if by != START => {
                    *counts.entry(by).or_default() += times;
                    (vertex, edge) = (from, by);
                }
                _ => break,
            }
        }
    }
}

/// By which of its exits the inner loop at a vertex is left.
fn exit_of(search: &Search, vertex: usize, edge: usize) -> usize {
    let ways = search.inner[vertex].as_ref().map_or(&[][..], |inner| inner.exits.as_slice());
    let by = |way: &Option<Way>| way.as_ref().is_some_and(|way| way.edge == edge);
    ways.iter().position(by).unwrap_or_default()
}

/// A part of the ways: those without some edges.
struct Branch {
    way: Way,
    forbidden: BTreeSet<usize>,
}

impl PartialEq for Branch {
    fn eq(&self, other: &Self) -> bool {
        self.way.weight == other.way.weight
    }
}

impl Eq for Branch {}

impl PartialOrd for Branch {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Branch {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.way.weight.cmp(&other.way.weight)
    }
}
