//! The graph decomposed: the whole walk and each loop's iteration become acyclic graphs, in which inner loops stand as
//! single vertices.

use std::collections::HashMap;

use crate::ipet::problem::Problem;

/// Where an edge goes, as a region sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// To a vertex of the region.
    Vertex(usize),
    /// To the header: the next iteration.
    Back,
    /// Out of the region, by its exit of this number.
    Exit(usize),
}

/// A node, or an inner loop.
#[derive(Debug, Clone)]
pub struct Vertex {
    pub inner: Option<usize>,
    /// Edges that leave it. Those of an inner loop are in the order of its exits.
    pub out: Vec<(usize, Goal)>,
}

/// An iteration of a loop, or the whole walk.
#[derive(Debug, Clone)]
pub struct Region {
    /// Topologically; the header, or the entry, comes first.
    pub vertices: Vec<Vertex>,
    /// Edges out of it.
    pub exits: Vec<usize>,
    pub bound: u64,
    /// Regions inside it, at any depth, and itself.
    pub within: Vec<usize>,
}

/// All regions: one for each loop, and the whole as the last. Ends of walks are edges too, numbered after the others in
/// the order of [`Problem::exits`].
pub fn regions(problem: &Problem) -> Vec<Region> {
    let innermost = problem.innermost();
    let whole = problem.loops.len();
    let parent = |region: usize| problem.loops[region].parent.unwrap_or(whole);
    let of = |node: usize| innermost[node].unwrap_or(whole);
    let mut regions: Vec<Region> = (0..=whole)
        .map(|number| Region {
            vertices: Vec::new(),
            exits: Vec::new(),
            bound: problem.loops.get(number).map_or(1, |one| one.bound),
            within: vec![number],
        })
        .collect();
    for number in 0..whole {
        let mut around = number;
        while around != whole {
            around = parent(around);
            regions[around].within.push(number);
        }
    }
    // A loop stands in its parent where its header is.
    let mut vertex_of: HashMap<(usize, usize), usize> = HashMap::new();
    for (node, inner) in innermost.iter().enumerate() {
        let mut region = of(node);
        let mut stands_for = None;
        if let Some(inner) = inner {
            // The header of several loops is only in the innermost; loops with one header are one loop.
            if problem.loops[*inner].header == node {
                vertex_of.insert((region, node), regions[region].vertices.len());
                regions[region].vertices.push(Vertex { inner: None, out: Vec::new() });
                stands_for = Some(*inner);
                region = parent(*inner);
            }
        }
        vertex_of.insert((region, node), regions[region].vertices.len());
        regions[region].vertices.push(Vertex { inner: stands_for, out: Vec::new() });
    }
    let ends = problem.exits.iter().map(|node| (*node, None));
    let edges = problem.edges.iter().map(|(from, to)| (*from, Some(*to))).chain(ends);
    for (edge, (from, to)) in edges.enumerate() {
        let (mut region, mut vertex) = (of(from), from);
        loop {
            let inside = to.is_some_and(|to| region == whole || problem.contains(region, to));
            let index = vertex_of[&(region, vertex)];
            if let (true, Some(to)) = (inside, to) {
                let is_header = region != whole && problem.loops[region].header == to;
                let goal = if is_header { Goal::Back } else { Goal::Vertex(vertex_of[&(region, to)]) };
                regions[region].vertices[index].out.push((edge, goal));
                break;
            }
            let exit = regions[region].exits.len();
            regions[region].exits.push(edge);
            regions[region].vertices[index].out.push((edge, Goal::Exit(exit)));
            if region == whole {
                break;
            }
            vertex = problem.loops[region].header;
            region = parent(region);
        }
    }
    regions
}
