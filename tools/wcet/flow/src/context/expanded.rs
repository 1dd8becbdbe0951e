//! The result, and questions about it.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::{Block, Function, Graph};
use wcet_binary::lift::Instruction;

pub type ContextId = usize;
pub type NodeId = usize;
pub type EdgeId = usize;
pub type LoopId = usize;

/// A flow graph with its calls inlined virtually.
#[derive(Debug, Clone)]
pub struct Expanded<'g> {
    pub graph: &'g Graph,
    /// Callers before their callees.
    pub contexts: Vec<Context>,
    /// In reverse postorder.
    pub nodes: Vec<Node>,
    /// By the node that they leave.
    pub edges: Vec<Edge>,
    /// Outer loops before those inside them.
    pub loops: Vec<Loop>,
    pub entry: NodeId,
    /// Nodes after which the region may end. Those that may also go on have edges.
    pub exits: Vec<NodeId>,
    /// Calls deeper than stated: the node that calls, and the function.
    pub cuts: Vec<(NodeId, u64)>,
    /// Nodes at which the region stops, and how many instructions of their blocks belong to it, the stop included.
    pub stops: BTreeMap<NodeId, usize>,
    pub(crate) successors: Vec<Vec<EdgeId>>,
    pub(crate) predecessors: Vec<Vec<EdgeId>>,
    pub(crate) innermost: Vec<Option<LoopId>>,
    pub(crate) by_place: BTreeMap<(ContextId, usize), NodeId>,
}

/// A function, and the chain of calls that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// Address of the function.
    pub function: u64,
    /// The context and block that call it; none for the entered function.
    pub caller: Option<(ContextId, usize)>,
    /// Whether it was called for good: its return is the caller's.
    pub tail: bool,
    /// Number of calls in the chain.
    pub depth: u32,
}

/// A basic block of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    pub context: ContextId,
    /// Index in the function's blocks.
    pub block: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: NodeId,
    pub to: NodeId,
    pub kind: EdgeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// To the next instruction, nothing having been taken.
    Next,
    /// By a direct jump.
    Taken,
    /// By an indirect jump.
    Case,
    /// To the start of another function, also for good.
    Call,
    /// To the place behind the call.
    Return,
}

/// A loop of a function in one of its contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    pub context: ContextId,
    /// Index in [`Function::loops`].
    pub index: usize,
    pub header: NodeId,
    /// All its nodes, ascending; those of callees and of inner loops among them. The header is the first.
    pub nodes: Vec<NodeId>,
    /// Edges to the header from outside.
    pub entries: Vec<EdgeId>,
    /// Edges to the header from inside.
    pub back: Vec<EdgeId>,
    /// The smallest loop around it, perhaps of a caller.
    pub parent: Option<LoopId>,
}

/// See [`Expanded::call_chain`].
pub(crate) fn call_chain(contexts: &[Context], node: Node, callee: u64) -> Vec<(u64, usize)> {
    let callers = std::iter::successors(Some((node.context, node.block)), |(context, _)| contexts[*context].caller);
    let mut chain: Vec<(u64, usize)> = callers.map(|(context, block)| (contexts[context].function, block)).collect();
    chain.reverse();
    chain.push((callee, 0));
    chain
}

impl<'g> Expanded<'g> {
    pub fn function(&self, context: ContextId) -> &'g Function {
        &self.graph.functions[&self.contexts[context].function]
    }

    pub fn block(&self, node: NodeId) -> &'g Block {
        let Node { context, block } = self.nodes[node];
        &self.function(context).blocks[block]
    }

    /// The instructions of a node: its block's, up to the stop if there is one.
    pub fn instructions(&self, node: NodeId) -> &'g [Rc<Instruction>] {
        let all = self.block(node).instructions.as_slice();
        &all[..self.stops.get(&node).map_or(all.len(), |count| *count)]
    }

    /// Edges that leave a node.
    pub fn successors(&self, node: NodeId) -> &[EdgeId] {
        &self.successors[node]
    }

    /// Edges that lead to a node.
    pub fn predecessors(&self, node: NodeId) -> &[EdgeId] {
        &self.predecessors[node]
    }

    /// All nodes, each before those to which it leads other than by back edges.
    pub fn order(&self) -> std::ops::Range<NodeId> {
        0..self.nodes.len()
    }

    /// Whether an edge leads back to the header of a loop.
    pub fn is_back(&self, edge: EdgeId) -> bool {
        self.edges[edge].to <= self.edges[edge].from
    }

    /// The node of a block in a context, if the entry reaches it.
    pub fn node(&self, context: ContextId, block: usize) -> Option<NodeId> {
        self.by_place.get(&(context, block)).copied()
    }

    /// The smallest loop around a node.
    pub fn innermost(&self, node: NodeId) -> Option<LoopId> {
        self.innermost[node]
    }

    /// Whether a node is in a loop.
    pub fn inside(&self, node: NodeId, within: LoopId) -> bool {
        self.loops[within].nodes.binary_search(&node).is_ok()
    }

    /// The loops around a node, innermost first.
    pub fn around(&self, node: NodeId) -> impl Iterator<Item = LoopId> + '_ {
        std::iter::successors(self.innermost[node], |inner| self.loops[*inner].parent)
    }

    /// Where a node is, for people: `memcpy+0x10`.
    pub fn place(&self, node: NodeId) -> String {
        let function = self.function(self.nodes[node].context);
        match self.block(node).start().wrapping_sub(function.entry) {
            0 => function.name.clone(),
            offset if (offset as i64) < 0 => format!("{}-{:#x}", function.name, offset.wrapping_neg()),
            offset => format!("{}+{offset:#x}", function.name),
        }
    }

    /// The calls that lead to the call of a function at a node: functions and blocks, the entered one first, the callee with
    /// its first block last.
    pub fn call_chain(&self, node: NodeId, callee: u64) -> Vec<(u64, usize)> {
        call_chain(&self.contexts, self.nodes[node], callee)
    }

    /// The functions of a context's chain of calls, the entered one first.
    pub fn chain(&self, context: ContextId) -> Vec<&'g str> {
        let callers =
            std::iter::successors(Some(context), |inner| self.contexts[*inner].caller.map(|(outer, _)| outer));
        let mut names: Vec<&str> = callers.map(|context| self.function(context).name.as_str()).collect();
        names.reverse();
        names
    }
}
