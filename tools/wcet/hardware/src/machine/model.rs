//! A machine as the analysis and the simulator see it: plain numbers. What they mean is the contract's.

use crate::machine::{Branch, Class};
use std::collections::BTreeMap;

/// A machine without faults, if [`crate::machine::load`] made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    pub name: String,
    pub about: String,
    /// Conditions on the real machine and its software under which the numbers hold.
    pub assumes: Vec<String>,
    /// Cycles per second; 0 if unknown.
    pub clock: u64,
    pub pipeline: Pipeline,
    pub branch: Branch,
    pub memory: Memory,
    /// By level, then in the order of the text.
    pub caches: Vec<Cache>,
    pub regions: Vec<Region>,
    pub classes: BTreeMap<Class, ClassCost>,
    /// Titles of the sources, by the name under which the numbers cite them.
    pub sources: BTreeMap<String, String>,
    /// Every number of the file with its source, for reports.
    pub numbers: Vec<Number>,
}

/// Where a number comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// Table and key, such as `cache.l1i.ways`.
    pub place: String,
    /// As it was written.
    pub value: String,
    /// Name of the source, then where in it.
    pub source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Issue {
    Single,
    Dual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipeline {
    pub issue: Issue,
    pub front: u64,
    pub queue: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub latency: u64,
    /// Of a write that no cache takes.
    pub write: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Instructions,
    Data,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    Lru,
    Fifo,
    Plru,
    RoundRobin,
    Random,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    pub name: String,
    pub level: u64,
    pub holds: Holds,
    pub sets: u64,
    /// All of them, locked ones included.
    pub ways: u64,
    pub line: u64,
    pub policy: Policy,
    /// The analysis may count on an LRU cache of at most this many ways.
    pub taken_as: u64,
    pub locked_ways: u64,
    /// First and last address of each pinned range.
    pub pinned: Vec<(u64, u64)>,
    pub latency: u64,
    pub write_back: u64,
    pub allocate_on_write: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    pub name: String,
    /// First and last address.
    pub range: (u64, u64),
    pub latency: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassCost {
    pub occupies: u64,
    /// In addition, where one of the two instructions before is a store to the same line.
    pub behind_store: u64,
    pub latency: u64,
    pub pairs_first: bool,
    pub pairs_second: bool,
}

impl Policy {
    /// Ways of an LRU cache that holds no line which this policy with `ways` ways might not hold too, so that a hit
    /// there is a hit here. The line accessed last is always there, hence at least 1; tree PLRU needs log2(ways) + 1
    /// different accesses to evict a line (Reineke, Grund, Berg, Wilhelm: Timing predictability of cache replacement
    /// policies, 2007).
    pub fn lru_ways(self, ways: u64) -> u64 {
        match self {
            Policy::Lru => ways,
            Policy::Plru if ways > 0 => u64::from(ways.ilog2()) + 1,
            Policy::Plru => 0,
            Policy::Fifo | Policy::RoundRobin | Policy::Random => ways.min(1),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Policy::Lru => "lru",
            Policy::Fifo => "fifo",
            Policy::Plru => "plru",
            Policy::RoundRobin => "round-robin",
            Policy::Random => "random",
        }
    }
}

impl Cache {
    /// Ways that are filled and evicted.
    pub fn free_ways(&self) -> u64 {
        self.ways - self.locked_ways
    }

    /// Number of the line that holds `address`.
    pub fn line_of(&self, address: u64) -> u64 {
        address / self.line
    }

    /// The set in which line number `line` stands.
    pub fn set_of(&self, line: u64) -> u64 {
        line % self.sets
    }

    /// Whether line number `line` is pinned.
    pub fn is_pinned(&self, line: u64) -> bool {
        self.pinned.iter().any(|&(first, last)| (first / self.line..=last / self.line).contains(&line))
    }

    pub fn holds_instructions(&self) -> bool {
        self.holds != Holds::Data
    }

    pub fn holds_data(&self) -> bool {
        self.holds != Holds::Instructions
    }
}

impl Machine {
    /// Bytes of a line, one size for all caches; 64 where there is none.
    pub fn line(&self) -> u64 {
        self.caches.first().map_or(64, |cache| cache.line)
    }

    /// The region that holds `address`.
    pub fn region_at(&self, address: u64) -> Option<&Region> {
        self.regions.iter().find(|region| (region.range.0..=region.range.1).contains(&address))
    }

    /// Cycles that a fetch takes when it hits the first level.
    pub fn fetch_hit(&self) -> u64 {
        self.caches.iter().find(|cache| cache.holds_instructions()).map_or(self.memory.latency, |cache| cache.latency)
    }
}
