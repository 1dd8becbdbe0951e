//! What is in flight between blocks, relative to the reference.

use crate::cache::Access;
use crate::machine::{Class, Follow, Issue, Machine};
use crate::pipeline::block::{Block, Edge, Instruction, Program};

/// Cycles after the reference at which each register is ready at the latest.
pub type Pending = [u64; 64];

/// How a block is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entered {
    /// The region starts with it.
    Start,
    After(Follow),
}

/// Earliest start of the first fetch that can be relied on, and what constrains the queue.
pub fn fetch_start(machine: &Machine, entered: Entered) -> i64 {
    let front = machine.pipeline.front as i64;
    match entered {
        Entered::Start => 0,
        // The instruction before was fetched `front` cycles before its issue, which is a cycle before it leaves.
        Entered::After(Follow::Straight) => -front - 1,
        Entered::After(Follow::Foreseen(cycles)) => cycles as i64 - front - 1,
        Entered::After(Follow::Refill(total)) => total as i64 - 1 - machine.fetch_hit() as i64 - front,
    }
}

/// What an instruction before a block may have stored.
#[derive(Debug, Clone, Copy)]
pub enum Stored<'a> {
    Nothing,
    By(&'a [Access]),
    Anything,
}

/// By the last instruction before a block, and by the one before that.
pub type Stores<'a> = [Stored<'a>; 2];

/// What the block at the end of `edge` is behind.
pub fn stores<'a>(machine: &Machine, program: &'a Program, edge: &Edge) -> Stores<'a> {
    if machine.classes.values().all(|cost| cost.behind_store == 0) {
        return [Stored::Nothing; 2];
    }
    let stored = |instruction: &'a Instruction| match instruction.class {
        Class::Store => Stored::By(&instruction.data),
        _ => Stored::Nothing,
    };
    match program.blocks[edge.from].instructions.as_slice() {
        [.., before, last] => [stored(last), stored(before)],
        [last] => [stored(last), before(program, edge.from)],
        [] => [Stored::Anything; 2],
    }
}

/// What the last instruction before a block may have stored, whichever way leads to it.
fn before(program: &Program, block: usize) -> Stored<'static> {
    let stores = |one: &Block| one.instructions.last().is_none_or(|last| last.class == Class::Store);
    let mut ways = program.edges.iter().filter(|edge| edge.to == block);
    if block == program.entry || ways.any(|edge| stores(&program.blocks[edge.from])) {
        return Stored::Anything;
    }
    Stored::Nothing
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Transfer;
    use crate::pipeline::Instruction;

    fn machine() -> Machine {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../machines/timing/arm1136-kzm.toml");
        crate::machine::load(path.as_ref()).unwrap_or_else(|faults| panic!("{faults}"))
    }

    fn writer(class: Class, surely: bool) -> Instruction {
        let surely_writes = u64::from(surely);
        Instruction {
            address: 0,
            length: 4,
            class,
            reads: 0,
            writes: 1,
            surely_writes,
            transfer: Transfer::None,
            data: vec![],
        }
    }

    #[test]
    fn a_result_stays_pending_until_it_is_ready_or_surely_overwritten() {
        let machine = machine();
        let pending =
            |instructions: Vec<Instruction>| after(&machine, &Block { instructions, ..Block::default() }, &[0; 64])[0];
        let (load, alu) = (writer(Class::Load, true), |surely| writer(Class::Alu, surely));
        assert_eq!(pending(vec![load.clone()]), 2);
        assert_eq!(pending(vec![load.clone(), alu(false)]), 1);
        assert_eq!(pending(vec![load.clone(), alu(true)]), 0);
        assert_eq!(pending(vec![load, alu(false), alu(false)]), 0);
        let through = after(&machine, &Block { instructions: vec![alu(false)], ..Block::default() }, &[5; 64]);
        assert_eq!((through[0], through[1]), (4, 4));
    }

    #[test]
    fn pairs_leave_together_so_less_time_passes() {
        let mut machine = machine();
        machine.pipeline.issue = Issue::Dual;
        assert_eq!((1..=4).map(|before| issued(&machine, before)).collect::<Vec<_>>(), [-1, -1, -2, -2]);
        let block =
            Block { instructions: vec![writer(Class::Load, true), writer(Class::Alu, false)], ..Block::default() };
        assert_eq!(after(&machine, &block, &[0; 64])[0], 2);
    }
}
