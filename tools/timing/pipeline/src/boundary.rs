//! What is in flight between blocks, relative to the reference.

use crate::block::{Block, Left};
use timing_machine::{Issue, Machine};

/// Cycles after the reference at which each register is ready at the latest.
pub type Pending = [u64; 64];

/// How a block is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// The region starts with it.
    Start,
    Edge(Left),
}

/// Earliest start of the first fetch that can be relied on, and what constrains the queue.
pub fn fetch_start(machine: &Machine, entered: Entered) -> i64 {
    let front = machine.pipeline.front as i64;
    let refill = |total: u64| total as i64 - 1 - machine.fetch_hit() as i64 - front;
    match entered {
        Entered::Start => 0,
        // The instruction before was fetched `front` cycles before its issue, which is a cycle before it leaves.
        Entered::Edge(Left::Fall) => -front - 1,
        Entered::Edge(Left::Taken) => refill(machine.branch.taken),
        Entered::Edge(Left::NotTaken) => refill(machine.branch.not_taken),
    }
}

/// Latest issue of the `before`-th instruction before the block, 1 being the last one.
pub fn issued(machine: &Machine, before: u64) -> i64 {
    let cycles = match machine.pipeline.issue {
        Issue::Single => before,
        Issue::Dual => before.div_ceil(2),
    };
    -(cycles as i64)
}

/// What is pending after `block`, if `pending` is before it. Without the block's data accesses: they only make time
/// pass.
pub fn after(machine: &Machine, block: &Block, pending: &Pending) -> Pending {
    let durations = block
        .instructions
        .iter()
        .map(|instruction| machine.classes.get(&instruction.class).map_or(1, |cost| cost.occupies.max(1)));
    let durations: Vec<u64> = durations.collect();
    // Cycles between the leaving of two instructions at least, by number of those that leave after the first.
    let passed = |from: usize| match machine.pipeline.issue {
        Issue::Single => durations[from..].iter().sum(),
        Issue::Dual => (durations.len() - from) as u64 / 2,
    };
    let mut after = pending.map(|cycles| cycles.saturating_sub(passed(0)));
    for (number, instruction) in block.instructions.iter().enumerate() {
        let latency = machine.classes.get(&instruction.class).map_or(0, |cost| cost.latency);
        let left = latency.saturating_sub(passed(number + 1));
        for (register, cycles) in after.iter_mut().enumerate() {
            if instruction.surely_writes >> register & 1 == 1 {
                *cycles = left;
            } else if instruction.writes >> register & 1 == 1 {
                *cycles = left.max(*cycles);
            }
        }
    }
    after
}
