//! What of an expanded graph can be executed at all.

use std::collections::{BTreeMap, BTreeSet};

use wcet_flow::context::{EdgeId, Expanded, LoopId, NodeId};

use crate::ipet::error::{Error, Problem};
use crate::ipet::model::place;

/// The part that the entry reaches, all ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    pub nodes: Vec<NodeId>,
    pub edges: Vec<EdgeId>,
    /// Loops that can take another iteration.
    pub loops: Vec<LoopId>,
}

impl Live {
    /// Without `dead` edges, without entries of loops that are never reached (bound 0), and without back edges of loops
    /// that never take them (bound 1).
    pub fn new(
        expanded: &Expanded<'_>,
        dead: &BTreeSet<EdgeId>,
        bounds: &BTreeMap<LoopId, u64>,
    ) -> Result<Live, Vec<Error>> {
        let mut dead = dead.clone();
        for (number, bound) in bounds {
            let Some(one) = expanded.loops.get(*number) else { continue };
            match bound {
                0 if one.header == expanded.entry => {
                    let problem = Problem::Constraint("that the loop at the entry is never reached".to_string());
                    return Err(vec![error(expanded, one.header, problem)]);
                }
                0 => dead.extend(one.entries.iter().chain(&one.back)),
                1 => dead.extend(&one.back),
                _ => {}
            }
        }
        let mut alive = vec![false; expanded.nodes.len()];
        let mut open = vec![expanded.entry];
        alive[expanded.entry] = true;
        while let Some(node) = open.pop() {
            for edge in expanded.successors(node).iter().filter(|edge| !dead.contains(edge)) {
                let to = expanded.edges[*edge].to;
                if !std::mem::replace(&mut alive[to], true) {
                    open.push(to);
                }
            }
        }
        let takes = |edge: &EdgeId| alive[expanded.edges[*edge].from] && !dead.contains(edge);
        let turns = |number: &LoopId| expanded.loops[*number].back.iter().any(takes);
        Ok(Live {
            nodes: expanded.order().filter(|node| alive[*node]).collect(),
            edges: (0..expanded.edges.len()).filter(takes).collect(),
            loops: (0..expanded.loops.len()).filter(turns).collect(),
        })
    }
}

/// An error about a node.
pub fn error(expanded: &Expanded<'_>, node: NodeId, problem: Problem) -> Error {
    let address = expanded.block(node).start();
    Error { address, place: place(expanded, node, address), problem }
}
