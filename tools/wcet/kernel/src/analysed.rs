//! What is known of a region, and what two parts of one are together.

use std::collections::{BTreeMap, BTreeSet};

use crate::continuations::Continuation;
use crate::critical_sections::{Holding, Taken};
use crate::lock_paths::Paths;
use crate::loops::LoopFound;

/// What is known of a region.
#[derive(Debug, Clone, Default)]
pub struct Analysed {
    pub nodes: usize,
    pub wcet_cycles: Option<u64>,
    /// Cycles of the worst path by function, callees apart.
    pub functions: BTreeMap<String, u64>,
    /// The same by chain of calls, the outermost function first, with how often the last of them is called.
    pub calls: BTreeMap<Vec<u64>, Call>,
    /// The instructions of the worst path: first address and the one behind of each.
    pub code: BTreeSet<(u64, u64)>,
    pub loops: Vec<LoopFound>,
    pub errors: Vec<String>,
    /// What the analysis of values takes for granted.
    pub assumptions: BTreeSet<String>,
    /// Most locks taken on any path, for each of which there may be a wait.
    pub locks: Option<u64>,
    /// What it does with locks; None if that is not known, for these reasons.
    pub holding: Option<Holding>,
    pub unknown_locks: Vec<String>,
    /// Where it goes on.
    pub ways: BTreeSet<Continuation>,
    /// What it takes at most to where it asks whether an interrupt waits; 0 if it does not ask.
    pub asking_cycles: u64,
    /// The same to where it enters a guest.
    pub entering_cycles: u64,
    /// Of a region behind such a question: what it is if the answer was that one waits.
    pub told: Option<Told>,
    /// Whether an interrupt is served.
    pub serves: bool,
    /// Where interrupts are let in behind one that was served, before it is decided who runs.
    pub undecided: BTreeSet<Continuation>,
    /// Of a region in which interrupts that came in a window are served: what it is if there was none.
    pub unserved: Option<Unserved>,
    /// By the number of the interrupts in the description: what a region costs if it serves one of these, for a handler that has
    /// time left. Empty if nothing is known of them apart.
    pub serving: BTreeMap<usize, Serving>,
    pub times: Times,
}

/// A region when it serves certain interrupts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Serving {
    pub wcet_cycles: u64,
    /// The instructions of the worst path.
    pub code: BTreeSet<(u64, u64)>,
    /// Where other interrupts are let in behind it, before it is decided who runs.
    pub undecided: BTreeSet<Continuation>,
    /// How often it takes locks at most.
    pub taken: Taken,
    /// Which of them on one path.
    pub paths: Paths,
}

/// A region that begins with the answer that an interrupt waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    pub wcet_cycles: u64,
    /// How often it takes locks at most.
    pub taken: Taken,
    /// Which of them on one path.
    pub paths: Paths,
    /// Where it goes on.
    pub ways: BTreeSet<Continuation>,
}

/// A region behind a window in which no interrupt came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unserved {
    pub wcet_cycles: u64,
    /// Up to where another thread is switched to; None if that does not happen.
    pub switch_cycles: Option<u64>,
    /// How often it takes locks at most.
    pub taken: Taken,
    /// Which of them on one path.
    pub paths: Paths,
    /// Where it goes on.
    pub ways: BTreeSet<Continuation>,
    /// Where interrupts are let in before it is decided who runs.
    pub undecided: BTreeSet<Continuation>,
}

/// A function as it is called by one chain of calls, on a worst path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Call {
    /// Executions of its first block, or of the one where the region begins.
    pub times: u64,
    /// Callees apart.
    pub cycles: u64,
}

/// Seconds that stages took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub values: f64,
    pub costs: f64,
    pub path: f64,
}

impl Analysed {
    /// One way or the other.
    pub(crate) fn longer(mut self, mut other: Analysed) -> Analysed {
        let cycles = self.wcet_cycles.zip(other.wcet_cycles);
        let theirs = cycles.is_none() || cycles.is_some_and(|(mine, theirs)| theirs > mine);
        if theirs {
            std::mem::swap(&mut self.functions, &mut other.functions);
            std::mem::swap(&mut self.calls, &mut other.calls);
            std::mem::swap(&mut self.code, &mut other.code);
        }
        let shorter = if theirs { &mut self.loops } else { &mut other.loops };
        shorter.iter_mut().for_each(|one| (one.times, one.cycles) = (0, 0));
        self.wcet_cycles = cycles.map(|(mine, theirs)| mine.max(theirs));
        self.asking_cycles = self.asking_cycles.max(other.asking_cycles);
        self.entering_cycles = self.entering_cycles.max(other.entering_cycles);
        self.locks = self.locks.zip(other.locks).map(|(mine, theirs)| mine.max(theirs));
        self.holding = self.holding.take().zip(other.holding.take()).map(|(mine, theirs)| mine.or(theirs));
        // Of two ways no more is known than all they cost.
        self.serving.clear();
        other.serving.clear();
        self.with(other)
    }

    /// One after the other.
    pub(crate) fn then(mut self, mut other: Analysed) -> Analysed {
        self.serving.clear();
        for serving in other.serving.values_mut() {
            serving.wcet_cycles = serving.wcet_cycles.saturating_add(self.wcet_cycles.unwrap_or(u64::MAX));
            serving.code.extend(&self.code);
        }
        let before = self.wcet_cycles.unwrap_or(u64::MAX);
        if other.asking_cycles > 0 {
            self.asking_cycles = self.asking_cycles.max(other.asking_cycles.saturating_add(before));
        }
        if other.entering_cycles > 0 {
            self.entering_cycles = self.entering_cycles.max(other.entering_cycles.saturating_add(before));
        }
        self.wcet_cycles = self.wcet_cycles.zip(other.wcet_cycles).map(|(mine, theirs)| mine + theirs);
        self.locks = self.locks.zip(other.locks).map(|(mine, theirs)| mine + theirs);
        self.holding = self.holding.take().zip(other.holding.take()).map(|(mine, theirs)| mine.then(theirs));
        for (name, cycles) in std::mem::take(&mut other.functions) {
            *self.functions.entry(name).or_default() += cycles;
        }
        self.code.append(&mut other.code);
        for (chain, call) in std::mem::take(&mut other.calls) {
            let one = self.calls.entry(chain).or_default();
            (one.times, one.cycles) = (one.times + call.times, one.cycles + call.cycles);
        }
        self.with(other)
    }

    fn with(mut self, other: Analysed) -> Analysed {
        self.nodes += other.nodes;
        self.loops.extend(other.loops);
        self.ways.extend(other.ways);
        self.undecided.extend(other.undecided);
        self.told = self.told.take().or(other.told);
        self.serves |= other.serves;
        self.serving.extend(other.serving);
        self.unserved = self.unserved.take().or(other.unserved);
        self.errors.extend(other.errors);
        self.unknown_locks.extend(other.unknown_locks);
        self.assumptions.extend(other.assumptions);
        self.times.values += other.times.values;
        self.times.costs += other.times.costs;
        self.times.path += other.times.path;
        self
    }
}
