//! A part of a graph: certain edges alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::error::Error;
use crate::context::expanded::{Edge, EdgeId, Expanded, NodeId};
use crate::context::loops;

impl<'g> Expanded<'g> {
    /// The entry and all that it reaches by these edges, ending where the whole ends at one of `exits`. Contexts keep their
    /// numbers; nodes, edges and loops get new ones. What is left of a loop is a loop if it can be repeated. Every walk of
    /// the part is a walk of the whole; the converse holds of the walks that take no other edges and end there.
    pub fn part(&self, edges: &BTreeSet<EdgeId>, exits: &BTreeSet<NodeId>) -> Result<Expanded<'g>, Vec<Error>> {
        let mut reached = BTreeSet::from([self.entry]);
        let mut open = vec![self.entry];
        while let Some(node) = open.pop() {
            let kept = self.successors(node).iter().filter(|edge| edges.contains(edge));
            open.extend(kept.map(|edge| self.edges[*edge].to).filter(|to| reached.insert(*to)));
        }
        // Ascending, so that an edge which led to a larger number still does.
        let number: BTreeMap<NodeId, NodeId> = reached.iter().enumerate().map(|(new, old)| (*old, new)).collect();
        let mut part = Expanded {
            graph: self.graph,
            contexts: self.contexts.clone(),
            nodes: reached.iter().map(|node| self.nodes[*node]).collect(),
            edges: Vec::new(),
            loops: Vec::new(),
            entry: number[&self.entry],
            exits: self
                .exits
                .iter()
                .filter(|node| exits.contains(node))
                .filter_map(|node| number.get(node))
                .copied()
                .collect(),
            cuts: Vec::new(),
            stops: self.stops.iter().filter_map(|(node, count)| Some((*number.get(node)?, *count))).collect(),
            successors: vec![Vec::new(); reached.len()],
            predecessors: vec![Vec::new(); reached.len()],
            innermost: vec![None; reached.len()],
            by_place: BTreeMap::new(),
        };
        part.by_place = part.nodes.iter().enumerate().map(|(new, node)| ((node.context, node.block), new)).collect();
        for edge in edges {
            let Edge { from, to, kind } = self.edges[*edge];
            let (Some(&from), Some(&to)) = (number.get(&from), number.get(&to)) else { continue };
            part.successors[from].push(part.edges.len());
            part.predecessors[to].push(part.edges.len());
            part.edges.push(Edge { from, to, kind });
        }
        loops::find(&mut part)?;
        Ok(part)
    }
}
