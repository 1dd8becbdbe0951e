//! All copies of a function as one.

use std::collections::BTreeMap;

use crate::context::expanded::{Context, ContextId, Edge, EdgeId, EdgeKind, Expanded, Node, NodeId};

/// A graph with one copy of each function for all of its callers.
#[derive(Debug, Clone)]
pub struct Merged<'g> {
    /// Numbered in the order in which nodes are met; it has no list of loops.
    pub graph: Expanded<'g>,
    /// For each node and each edge of the graph with all copies, which of these it is.
    pub nodes: Vec<NodeId>,
    pub edges: Vec<EdgeId>,
}

impl<'g> Expanded<'g> {
    /// Every walk of this graph is one of the merged one. The converse does not hold: there a function returns to any of its callers.
    pub fn merged(&self) -> Merged<'g> {
        let mut contexts: Vec<Context> = Vec::new();
        let mut of_function: BTreeMap<u64, ContextId> = BTreeMap::new();
        let mut by_place: BTreeMap<(ContextId, usize), NodeId> = BTreeMap::new();
        let mut all: Vec<Node> = Vec::new();
        let nodes: Vec<NodeId> = self
            .nodes
            .iter()
            .map(|node| {
                let function = self.contexts[node.context].function;
                let context = *of_function.entry(function).or_insert_with(|| {
                    contexts.push(Context { function, caller: None, tail: false, depth: 0 });
                    contexts.len() - 1
                });
                *by_place.entry((context, node.block)).or_insert_with(|| {
                    all.push(Node { context, block: node.block });
                    all.len() - 1
                })
            })
            .collect();
        let mut numbers: BTreeMap<(NodeId, NodeId, EdgeKind), EdgeId> = BTreeMap::new();
        let mut kept: Vec<Edge> = Vec::new();
        let edges: Vec<EdgeId> = self
            .edges
            .iter()
            .map(|edge| {
                let one = Edge { from: nodes[edge.from], to: nodes[edge.to], kind: edge.kind };
                *numbers.entry((one.from, one.to, one.kind)).or_insert_with(|| {
                    kept.push(one);
                    kept.len() - 1
                })
            })
            .collect();
        let mut successors = vec![Vec::new(); all.len()];
        let mut predecessors = vec![Vec::new(); all.len()];
        for (number, edge) in kept.iter().enumerate() {
            successors[edge.from].push(number);
            predecessors[edge.to].push(number);
        }
        let mut exits: Vec<NodeId> = self.exits.iter().map(|node| nodes[*node]).collect();
        exits.sort_unstable();
        exits.dedup();
        let graph = Expanded {
            graph: self.graph,
            contexts,
            entry: nodes[self.entry],
            edges: kept,
            loops: Vec::new(),
            exits,
            cuts: self.cuts.iter().map(|(node, callee)| (nodes[*node], *callee)).collect(),
            stops: self.stops.iter().map(|(node, count)| (nodes[*node], *count)).collect(),
            innermost: vec![None; all.len()],
            nodes: all,
            successors,
            predecessors,
            by_place,
        };
        Merged { graph, nodes, edges }
    }
}
