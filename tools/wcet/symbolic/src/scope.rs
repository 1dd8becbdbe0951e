//! Parts of the graph without cycles: one iteration of a loop, or one execution of the region, inner loops taken whole.

use wcet_flow::context::{EdgeId, Expanded, LoopId, NodeId};

/// One iteration of a loop; or, with no loop, one execution of the region.
pub type Scope = Option<LoopId>;

/// A node, or a whole loop directly inside the scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    Node(NodeId),
    Loop(LoopId),
}

/// Of which part of the scope a node is; none if it is outside.
pub fn part(graph: &Expanded<'_>, scope: Scope, node: NodeId) -> Option<Part> {
    let mut inner = None;
    for one in graph.around(node) {
        if Some(one) == scope {
            return Some(inner.map_or(Part::Node(node), Part::Loop));
        }
        inner = Some(one);
    }
    match scope {
        None => Some(inner.map_or(Part::Node(node), Part::Loop)),
        Some(_) => None,
    }
}

/// The node at which a part is entered. Parts in the order of these are in topological order.
pub fn first(graph: &Expanded<'_>, part: Part) -> NodeId {
    match part {
        Part::Node(node) => node,
        Part::Loop(one) => graph.loops[one].header,
    }
}

/// The node at which the scope begins.
pub fn header(graph: &Expanded<'_>, scope: Scope) -> NodeId {
    scope.map_or(graph.entry, |one| graph.loops[one].header)
}

/// The nodes of a part.
pub fn nodes(graph: &Expanded<'_>, part: Part) -> Vec<NodeId> {
    match part {
        Part::Node(node) => vec![node],
        Part::Loop(one) => graph.loops[one].nodes.clone(),
    }
}

/// Edges out of a part.
pub fn exits(graph: &Expanded<'_>, part: Part) -> Vec<EdgeId> {
    match part {
        Part::Node(node) => graph.successors(node).to_vec(),
        Part::Loop(one) => {
            let edges = graph.loops[one].nodes.iter().flat_map(|node| graph.successors(*node));
            edges.copied().filter(|edge| !graph.inside(graph.edges[*edge].to, one)).collect()
        }
    }
}

/// Edges into a part, other than back edges of the scope's own header.
pub fn entries(graph: &Expanded<'_>, scope: Scope, part: Part) -> Vec<EdgeId> {
    let node = first(graph, part);
    if node == header(graph, scope) {
        return Vec::new();
    }
    match part {
        Part::Node(node) => graph.predecessors(node).to_vec(),
        Part::Loop(one) => graph.loops[one].entries.clone(),
    }
}
