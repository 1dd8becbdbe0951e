//! From functions to contexts: what the entry reaches, by a depth-first walk that makes contexts as it meets calls.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::{Block, Graph};
use wcet_binary::lift::Instruction;

use crate::context::error::{Error, Problem};
use crate::context::expanded::{call_chain, Context, ContextId, Edge, EdgeKind, Expanded, Node, NodeId};
use crate::context::loops;
use crate::context::start::Started;

/// What bounds the expansion.
#[derive(Debug, Clone)]
pub struct Options {
    /// Addresses of instructions with which the region ends; each still belongs to it.
    pub stops: BTreeSet<u64>,
    /// How often a function calls itself inside its first call, by address; of a cycle of functions one is enough.
    pub recursion: BTreeMap<u64, u32>,
    /// Where these are given, a function calls itself inside its first call only by these calls, as [`Expanded::call_chain`]
    /// has them: others are cut, as those are that go deeper.
    pub followed: Option<BTreeSet<Vec<(u64, usize)>>>,
    /// Most nodes.
    pub limit: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { stops: BTreeSet::new(), recursion: BTreeMap::new(), followed: None, limit: 2_000_000 }
    }
}

/// Chains of calls longer than this are taken for recursion without a stated depth.
const DEEPEST: u32 = 4096;

/// The flow of the function at `entry` with all that it calls.
pub fn expand<'g>(graph: &'g Graph, entry: u64, options: &Options) -> Result<Expanded<'g>, Vec<Error>> {
    expand_inside(graph, &[(entry, 0)], options)
}

/// The flow from a place inside a chain of calls on: `chain` names functions and blocks, the outermost caller and the block
/// that calls first, the function and the block at which the region begins last. Where that is inside a loop, the rest of
/// the iteration is apart from the loop (`start.rs`): what bounds the loop bounds what is left of it.
pub fn expand_inside<'g>(
    graph: &'g Graph,
    chain: &[(u64, usize)],
    options: &Options,
) -> Result<Expanded<'g>, Vec<Error>> {
    let mut walk = Walk {
        graph,
        options,
        contexts: Vec::new(),
        children: BTreeMap::new(),
        cuts: Vec::new(),
        started: Started::default(),
    };
    let entry = walk.begin(chain).map_err(|error| vec![error])?;
    let met = walk.run(entry).map_err(|error| vec![error])?;
    let mut expanded = walk.number(met);
    loops::find(&mut expanded)?;
    Ok(expanded)
}

pub(crate) struct Walk<'g, 'o> {
    pub graph: &'g Graph,
    options: &'o Options,
    pub contexts: Vec<Context>,
    pub started: Started,
    /// Contexts by caller, calling block, callee, and whether for good.
    children: BTreeMap<(ContextId, usize, u64, bool), ContextId>,
    cuts: Vec<(Node, u64)>,
}

/// Where control goes from a node.
#[derive(Debug, Default)]
struct Ways {
    edges: Vec<(Node, EdgeKind)>,
    ends: bool,
    /// Instructions up to the stop.
    stop: Option<usize>,
}

/// Nodes in postorder, and the ways out of each.
struct Met {
    finished: Vec<Node>,
    ways: BTreeMap<Node, Ways>,
}

impl<'g> Walk<'g, '_> {
    fn run(&mut self, entry: Node) -> Result<Met, Error> {
        let mut met = Met { finished: Vec::new(), ways: BTreeMap::new() };
        let first = self.ways(entry)?;
        met.ways.insert(entry, first);
        let mut open = vec![(entry, 0)];
        while let Some((node, next)) = open.pop() {
            let Some(&(to, _)) = met.ways[&node].edges.get(next) else {
                met.finished.push(node);
                continue;
            };
            open.push((node, next + 1));
            if !met.ways.contains_key(&to) {
                if met.ways.len() >= self.options.limit {
                    return Err(self.too_large());
                }
                let ways = self.ways(to)?;
                met.ways.insert(to, ways);
                open.push((to, 0));
            }
        }
        Ok(met)
    }

    fn block(&self, node: Node) -> &'g Block {
        &self.graph.functions[&self.contexts[node.context].function].blocks[node.block]
    }

    fn ways(&mut self, node: Node) -> Result<Ways, Error> {
        let block = self.block(node);
        let mut ways = Ways::default();
        let stops = |instruction: &Rc<Instruction>| self.options.stops.contains(&instruction.address);
        if let Some(last) = block.instructions.iter().position(stops) {
            (ways.ends, ways.stop) = (true, Some(last + 1));
            return Ok(ways);
        }
        let mut cut = false;
        for edge in &block.edges {
            let kind = match edge.kind {
                crate::EdgeKind::Next => EdgeKind::Next,
                crate::EdgeKind::Taken => EdgeKind::Taken,
                crate::EdgeKind::Case => EdgeKind::Case,
                // Through the callee instead.
                crate::EdgeKind::Back => continue,
            };
            ways.edges.push((self.going_on(Node { block: edge.to, ..node }), kind));
        }
        for (callees, tail) in [(&block.calls, false), (&block.tail_calls, true)] {
            for callee in callees {
                match self.call(node, *callee, tail)? {
                    Some(context) => ways.edges.push((Node { context, block: 0 }, EdgeKind::Call)),
                    None => {
                        self.cuts.push((node, *callee));
                        cut = true;
                    }
                }
            }
        }
        if block.returns {
            match self.after(node.context) {
                Some(behind) => ways.edges.push((self.going_on(behind), EdgeKind::Return)),
                None => ways.ends = true,
            }
        }
        // Control leaves for another privilege, or an exception is raised.
        ways.ends |= ways.edges.is_empty() && !cut;
        Ok(ways)
    }

    /// The context of a call, unless it is deeper than stated.
    fn call(&mut self, node: Node, callee: u64, tail: bool) -> Result<Option<ContextId>, Error> {
        let key = (node.context, node.block, callee, tail);
        if let Some(known) = self.children.get(&key) {
            return Ok(Some(*known));
        }
        self.check(callee)?;
        let caller = (node.context, node.block);
        if let Some(depth) = self.options.recursion.get(&callee) {
            let chain = call_chain(&self.contexts, node, callee);
            let active = chain.iter().rev().skip(1).filter(|(function, _)| *function == callee).count();
            let is_followed = || self.options.followed.as_ref().is_none_or(|followed| followed.contains(&chain));
            if active > *depth as usize || active > 0 && !is_followed() {
                return Ok(None);
            }
        }
        let depth = self.contexts[node.context].depth + 1;
        if depth > DEEPEST {
            let function = self.name(callee);
            return Err(self.error(callee, Problem::Recursion { function }));
        }
        let context = self.contexts.len();
        self.contexts.push(Context { function: callee, caller: Some(caller), tail, depth });
        self.children.insert(key, context);
        Ok(Some(context))
    }

    /// Where control goes when a context returns; none if the region ends.
    fn after(&self, mut context: ContextId) -> Option<Node> {
        loop {
            let Context { caller, tail, .. } = &self.contexts[context];
            let (caller, block) = (*caller)?;
            context = caller;
            if !tail {
                let edges = &self.block(Node { context, block }).edges;
                let behind = edges.iter().find(|edge| edge.kind == crate::EdgeKind::Back)?;
                return Some(Node { context, block: behind.to });
            }
        }
    }

    /// Gives nodes their numbers.
    fn number(self, met: Met) -> Expanded<'g> {
        let nodes: Vec<Node> = met.finished.into_iter().rev().collect();
        let by_place: BTreeMap<(ContextId, usize), NodeId> =
            nodes.iter().enumerate().map(|(number, node)| ((node.context, node.block), number)).collect();
        let number = |node: &Node| by_place[&(node.context, node.block)];
        let (mut edges, mut exits, mut stops) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut successors = vec![Vec::new(); nodes.len()];
        let mut predecessors = vec![Vec::new(); nodes.len()];
        for (from, node) in nodes.iter().enumerate() {
            let ways = &met.ways[node];
            for (to, kind) in &ways.edges {
                let edge = Edge { from, to: number(to), kind: *kind };
                successors[from].push(edges.len());
                predecessors[edge.to].push(edges.len());
                edges.push(edge);
            }
            if ways.ends {
                exits.push(from);
            }
            stops.extend(ways.stop.map(|count| (from, count)));
        }
        let cuts = self.cuts.iter().map(|(node, callee)| (number(node), *callee)).collect();
        Expanded {
            graph: self.graph,
            contexts: self.contexts,
            entry: 0,
            exits,
            edges,
            cuts,
            stops,
            loops: Vec::new(),
            innermost: vec![None; nodes.len()],
            nodes,
            successors,
            predecessors,
            by_place,
        }
    }

    pub fn check(&self, function: u64) -> Result<(), Error> {
        let known = self.graph.functions.get(&function).is_some_and(|function| !function.blocks.is_empty());
        if known {
            Ok(())
        } else {
            Err(self.error(function, Problem::NoFunction))
        }
    }

    fn name(&self, function: u64) -> String {
        self.graph.functions.get(&function).map_or_else(|| format!("{function:#x}"), |function| function.name.clone())
    }

    pub fn error(&self, function: u64, problem: Problem) -> Error {
        Error { address: function, place: self.name(function), problem }
    }

    fn too_large(&self) -> Error {
        let mut copies: BTreeMap<u64, usize> = BTreeMap::new();
        self.contexts.iter().for_each(|context| *copies.entry(context.function).or_default() += 1);
        let weight = |function: u64, copies: usize| copies * self.graph.functions[&function].blocks.len();
        let most = copies.into_iter().max_by_key(|(function, copies)| weight(*function, *copies));
        let most = most.map_or_else(String::new, |(function, _)| self.name(function));
        self.error(self.contexts[0].function, Problem::TooLarge { limit: self.options.limit, most })
    }
}
