//! The loops of all contexts, with the nodes of their callees.

use std::collections::BTreeSet;

use crate::context::error::{Error, Problem};
use crate::context::expanded::{Edge, EdgeId, Expanded, Loop, NodeId};

/// Fills in the loops. Edges must be complete, and nodes in reverse postorder.
pub(crate) fn find(expanded: &mut Expanded<'_>) -> Result<(), Vec<Error>> {
    let mut found: Vec<Loop> = Vec::new();
    let mut closed: BTreeSet<EdgeId> = BTreeSet::new();
    for (context, content) in expanded.contexts.iter().enumerate() {
        for (index, one) in expanded.graph.functions[&content.function].loops.iter().enumerate() {
            let Some(header) = expanded.node(context, one.header) else { continue };
            let (back, entries): (Vec<EdgeId>, Vec<EdgeId>) =
                expanded.predecessors(header).iter().partition(|edge| expanded.is_back(**edge));
            // A stop or a callee that does not come back may leave nothing of the loop.
            if back.is_empty() {
                continue;
            }
            closed.extend(back.iter());
            let nodes = body(expanded, header, &back);
            found.push(Loop { context, index, header, nodes, entries, back, parent: None });
        }
    }
    let open = (0..expanded.edges.len()).filter(|edge| expanded.is_back(*edge) && !closed.contains(edge));
    let mut errors: BTreeSet<Error> = open.map(|edge| irreducible(expanded, expanded.edges[edge])).collect();
    // The outermost first, so that the last loop to claim a node is the innermost around it.
    found.sort_by_key(|one| (std::cmp::Reverse(one.nodes.len()), one.header));
    for (number, one) in found.iter_mut().enumerate() {
        one.parent = expanded.innermost[one.header];
        for &node in &one.nodes {
            // A node below the header is not dominated by it.
            if node < one.header {
                errors.insert(irreducible(expanded, Edge { from: node, ..expanded.edges[one.back[0]] }));
            }
            expanded.innermost[node] = Some(number);
        }
    }
    expanded.loops = found;
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors.into_iter().collect())
    }
}

/// The nodes from which a back edge is reached without passing the header, ascending.
fn body(expanded: &Expanded<'_>, header: NodeId, back: &[EdgeId]) -> Vec<NodeId> {
    let mut nodes = BTreeSet::from([header]);
    let mut open: Vec<NodeId> = back.iter().map(|edge| expanded.edges[*edge].from).collect();
    while let Some(node) = open.pop() {
        if nodes.insert(node) {
            open.extend(expanded.predecessors(node).iter().map(|edge| expanded.edges[*edge].from));
        }
    }
    nodes.into_iter().collect()
}

fn irreducible(expanded: &Expanded<'_>, edge: Edge) -> Error {
    let from = expanded.block(edge.from).last().address;
    Error {
        address: expanded.block(edge.to).start(),
        place: expanded.place(edge.to),
        problem: Problem::Irreducible { from },
    }
}
