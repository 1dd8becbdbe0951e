//! The result, and questions about it.

use std::collections::BTreeSet;

use wcet_binary::lift::il::Register;
use wcet_flow::context::{EdgeId, LoopId, NodeId};
use wcet_hardware::cache::Target;

use crate::naming::Name;

/// What numbers are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// 0: they are plain numbers.
    Zero,
    /// The stack pointer at the entry of the region.
    Stack,
    /// Some number that is not known, always the same one.
    Unknown(u32),
}

/// Every value that something may have: `base + low`, and on by `stride` up to `base + high`. Wraps around at the
/// width of the value: where `high` is below `low`, the range goes through 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub base: Base,
    pub low: u64,
    pub high: u64,
    /// 0 for a single value.
    pub stride: u64,
    /// Size of the value in bytes, at most 8.
    pub size: u8,
}

/// How often a loop ran.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Run {
    /// The largest number of times that the header executes for each entry of the loop; None if that is not known.
    pub most: Option<u64>,
    /// The largest number of times that the header executes for each entry of the loop around it.
    pub total: Option<u64>,
    /// Edges by which the loop is left, with the first and the last iteration that may take them, counted from 1.
    pub exits: Vec<(EdgeId, u64, u64)>,
    /// What is known of the loop's variables.
    pub counters: Vec<Counter>,
    /// Why there is no bound.
    pub reason: Option<String>,
    /// The least fact that would give one.
    pub least: Option<String>,
}

/// Something that changes from one iteration to the next in a regular way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    /// A register's name, or a place in memory.
    pub place: String,
    /// Its values when the loop is entered.
    pub first: Range,
    /// Its values at the header.
    pub all: Range,
    pub step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A number is added, as a signed one.
    Add(i64),
    /// A number between these is added.
    Between(i64, i64),
    ShiftRight(u32),
    ShiftLeft(u32),
    DivideBy(u64),
    /// The lowest of the bits that are set is cleared.
    ClearLowest,
    Other,
}

/// What [`crate::analyse`] finds.
#[derive(Debug, Clone, Default)]
pub struct Values {
    pub(crate) targets: Vec<Vec<Target>>,
    pub(crate) aligned: Vec<Vec<bool>>,
    pub(crate) registers: Vec<Vec<Range>>,
    pub(crate) dead: BTreeSet<EdgeId>,
    pub(crate) reached: Vec<bool>,
    pub(crate) runs: Vec<Run>,
    pub(crate) assumptions: Vec<String>,
    pub(crate) names: Vec<Vec<Option<Name>>>,
    pub(crate) alike: Vec<Vec<Option<usize>>>,
    pub(crate) born: Vec<u64>,
}

impl Values {
    /// Where the accesses of a node's instructions go, in order: those of `Instruction::accesses`, one after the other.
    pub fn targets(&self, node: NodeId) -> &[Target] {
        &self.targets[node]
    }

    /// Whether the address of each of them is a multiple of the largest power of two in its size.
    pub fn aligned(&self, node: NodeId) -> &[bool] {
        &self.aligned[node]
    }

    /// Names of the addresses of accesses, as [`Values::targets`] has them: equal ones are the same address, as long as no
    /// loop is in between whose iterations change it ([`Values::born`]).
    pub fn names(&self, node: NodeId) -> &[Option<Name>] {
        &self.names[node]
    }

    /// Of each of these addresses, the number of one before it in the node that is in the same [`crate::LINE`] bytes in every
    /// execution of the node.
    pub fn alike(&self, node: NodeId) -> &[Option<usize>] {
        &self.alike[node]
    }

    /// Names whose newest symbol has a smaller number than this stand for one address while a loop is executed; others
    /// perhaps for another one in each iteration.
    pub fn born(&self, one: LoopId) -> u64 {
        self.born[one]
    }

    /// What a register may hold before the first instruction of a node.
    pub fn register(&self, node: NodeId, register: Register) -> Option<Range> {
        self.registers[node].get(usize::from(register.0)).copied()
    }

    /// Edges that are never taken.
    pub fn dead(&self) -> &BTreeSet<EdgeId> {
        &self.dead
    }

    /// Whether a node may be executed at all.
    pub fn reached(&self, node: NodeId) -> bool {
        self.reached[node]
    }

    /// How often a loop ran.
    pub fn run(&self, one: LoopId) -> &Run {
        &self.runs[one]
    }

    /// What is taken for granted, in sentences for the report.
    pub fn assumptions(&self) -> &[String] {
        &self.assumptions
    }
}
