//! The result: functions, their basic blocks, and the edges between them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wcet_binary::lift::Instruction;

use crate::loops::Loop;

/// Control flow of everything that the entry points reach.
#[derive(Debug)]
pub struct Graph {
    /// By the address of their first instruction.
    pub functions: BTreeMap<u64, Function>,
    /// What is taken for granted, in sentences for the report.
    pub assumptions: Vec<String>,
    /// Indirect jumps and calls whose targets hold if memory is the same when it is read again, and the instructions that read it.
    pub rereads: BTreeMap<u64, BTreeSet<u64>>,
}

#[derive(Debug)]
pub struct Function {
    pub entry: u64,
    pub name: String,
    /// In reverse postorder: the entry comes first.
    pub blocks: Vec<Block>,
    /// For each block its immediate dominator; the entry is its own.
    pub dominators: Vec<usize>,
    /// Outer loops before those inside them.
    pub loops: Vec<Loop>,
    /// Whether it comes back to its caller.
    pub returns: bool,
    /// Registers, by their number, that hold what they held at the entry when it comes back. Empty if it does not.
    pub preserved: Vec<bool>,
}

/// Instructions that run one after the other. A call ends a block. Several blocks may stand for the same instructions,
/// if loops with several entries are split.
#[derive(Debug, Clone)]
pub struct Block {
    pub instructions: Vec<Rc<Instruction>>,
    pub edges: Vec<Edge>,
    /// Functions that the last instruction may call before an edge of kind [`EdgeKind::Back`] is taken.
    pub calls: BTreeSet<u64>,
    /// Functions to which it may hand over for good: their return is this function's.
    pub tail_calls: BTreeSet<u64>,
    /// Whether it may return to the caller.
    pub returns: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Index of the block.
    pub to: usize,
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
    /// After a call.
    Back,
}

impl Block {
    pub fn start(&self) -> u64 {
        self.instructions[0].address
    }

    pub fn last(&self) -> &Rc<Instruction> {
        &self.instructions[self.instructions.len() - 1]
    }
}

impl Graph {
    /// Functions that a function calls or hands over to.
    pub fn callees(&self, function: u64) -> BTreeSet<u64> {
        let blocks = self.functions.get(&function).map(|function| function.blocks.as_slice()).unwrap_or_default();
        blocks.iter().flat_map(|block| block.calls.union(&block.tail_calls)).copied().collect()
    }
}
