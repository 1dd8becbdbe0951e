//! Executed instructions, as an emulator records them.

use crate::simulate::hierarchy::{Answer, Hierarchy, Use};
use std::collections::BTreeSet;
use wcet_hardware::machine::{Class, Transfer};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Control {
    /// No control transfer.
    #[default]
    None,
    NotTaken,
    Taken,
}

/// A data access, within one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataAccess {
    pub address: u64,
    pub write: bool,
}

/// An instruction that was executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub address: u64,
    pub length: u64,
    pub class: Class,
    /// Registers it reads, a bit each; flags have a bit too.
    pub reads: u64,
    /// Registers it writes.
    pub writes: u64,
    pub transfer: Transfer,
    /// What it did.
    pub control: Control,
    pub memory: Vec<DataAccess>,
    /// It empties the caches, after its accesses.
    pub forgets: bool,
}

impl Step {
    /// All its accesses, as the caches answer: fetches, data. What is fetched ahead takes what a miss takes longer than a hit.
    pub(crate) fn touch(&self, hierarchy: &mut Hierarchy) -> (Vec<Answer>, Vec<Answer>) {
        let size = hierarchy.line();
        let (first, last) = (self.address / size, (self.address + self.length.max(1) - 1) / size);
        let mut fetches: Vec<Answer> = (first..=last).map(|line| hierarchy.access(Use::Fetch, line * size)).collect();
        let ahead = hierarchy.machine().branch.fetches_ahead(self.transfer, self.address, self.length);
        let lines: BTreeSet<u64> = ahead.into_iter().flat_map(|(from, to)| from / size..=to / size).collect();
        for line in lines.into_iter().filter(|line| !(first..=last).contains(line)) {
            if hierarchy.fetches_ahead() {
                let mut answer = hierarchy.access(Use::Fetch, line * size);
                answer.cycles = answer.cycles.saturating_sub(hierarchy.machine().fetch_hit());
                fetches.extend((answer.cycles > 0).then_some(answer));
            }
        }
        let of = |access: &DataAccess| if access.write { Use::Write } else { Use::Read };
        let data = self.memory.iter().map(|access| hierarchy.access(of(access), access.address)).collect();
        if self.forgets {
            hierarchy.forget();
        }
        (fetches, data)
    }
}
