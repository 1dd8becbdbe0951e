//! What the analysis takes: instructions in blocks.

use crate::cache::{Access, Graph, Kind, Node, Scope};
use crate::machine::{Class, Machine, Transfer};

/// An instruction as far as its time is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    pub address: u64,
    pub length: u64,
    pub class: Class,
    /// Registers it may read, a bit each; flags have a bit too. All ones if unknown.
    pub reads: u64,
    /// Registers it may write.
    pub writes: u64,
    /// Those of them that it surely writes; none if it is conditional.
    pub surely_writes: u64,
    pub transfer: Transfer,
    /// Its data accesses in order, each within one line, and `Forget` after them if it maintains caches.
    pub data: Vec<Access>,
}

/// Instructions that are executed from the first to the last.
#[derive(Debug, Clone, Default)]
pub struct Block {
    pub instructions: Vec<Instruction>,
    /// Names of lines ([`crate::cache::Target::Line`]) that may stand for others behind the block.
    pub renews: Vec<u64>,
}

/// How the block before an edge was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Left {
    /// By an instruction that transfers no control.
    Fall,
    NotTaken,
    Taken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub left: Left,
}

/// A region of code with one entry.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub blocks: Vec<Block>,
    pub edges: Vec<Edge>,
    pub entry: usize,
    /// Sets of blocks, nested or disjoint, normally loops.
    pub scopes: Vec<Scope>,
    /// What was executed from some point on up to the entry; nothing if that is not known. It costs nothing here, but what it
    /// has loaded may still be there.
    pub before: Block,
}

/// Where an instruction's accesses stand among its node's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub first: usize,
    /// With those that are made ahead, which come last.
    pub fetches: usize,
    pub ahead: usize,
    pub data: usize,
}

impl Instruction {
    /// Numbers of the first and the last line that it lies in.
    pub fn lines(&self, size: u64) -> (u64, u64) {
        (self.address / size, (self.address + self.length.max(1) - 1) / size)
    }

    /// Numbers of other lines that may be fetched with it, each once.
    pub fn lines_ahead(&self, machine: &Machine) -> Vec<u64> {
        let size = machine.line();
        let (first, last) = self.lines(size);
        let mut lines: Vec<u64> = Vec::new();
        for (from, to) in machine.branch.fetches_ahead(self.transfer, self.address, self.length) {
            lines.extend((from / size..=to / size).filter(|line| !(first..=last).contains(line)));
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

impl Block {
    /// Its accesses as the caches see them: each instruction's fetches, then its data.
    pub fn node(&self, machine: &Machine) -> (Node, Vec<Place>) {
        let (mut accesses, mut places) = (Vec::new(), Vec::new());
        for instruction in &self.instructions {
            let (first, last) = instruction.lines(machine.line());
            let ahead = instruction.lines_ahead(machine);
            let place = Place {
                first: accesses.len(),
                fetches: (last - first + 1) as usize + ahead.len(),
                ahead: ahead.len(),
                data: instruction.data.len(),
            };
            accesses.extend((first..=last).map(|line| Access::at(Kind::Fetch, line * machine.line())));
            let perhaps = |line: &u64| Access { certain: false, ..Access::at(Kind::Fetch, line * machine.line()) };
            accesses.extend(ahead.iter().map(perhaps));
            accesses.extend(instruction.data.iter().copied());
            places.push(place);
        }
        (Node { accesses, renews: self.renews.clone() }, places)
    }
}

impl Program {
    /// What was before the entry is the last node.
    pub fn graph(&self, machine: &Machine) -> Graph {
        let mut graph = Graph {
            nodes: self.blocks.iter().map(|block| block.node(machine).0).collect(),
            edges: self.edges.iter().map(|edge| (edge.from, edge.to)).collect(),
            entry: self.entry,
            scopes: self.scopes.clone(),
        };
        if !self.before.instructions.is_empty() {
            graph.edges.push((graph.nodes.len(), self.entry));
            graph.entry = graph.nodes.len();
            graph.nodes.push(self.before.node(machine).0);
        }
        graph
    }
}
