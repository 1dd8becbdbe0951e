//! Passages on the simulated machine.

use crate::simulate::{Control, DataAccess, Pointer, SimulateError, Simulator, Step};
use wcet_hardware::machine::{Class, Machine, Transfer};

/// A simulated machine that sees all passages of one processor in order.
pub struct Replay {
    warm: Simulator,
    /// Caches full of written lines that no kernel uses.
    polluted: Simulator,
    /// The end of the last passage: what follows its last transfer of control but one.
    last: Vec<Step>,
}

/// Cycles of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cycles {
    /// With the caches as the passages before left them.
    pub warm: u64,
    /// With caches full of other lines, all written. Where a thread goes on, the end of the switch to it has been executed since:
    /// bounds count on that.
    pub polluted: u64,
}

impl Replay {
    pub fn new(machine: &Machine) -> Replay {
        let warm = Simulator::new(machine, Pointer::OfEachSet, 1);
        let mut polluted = warm.clone();
        polluted.pass(&pollution(machine));
        Replay { warm, polluted, last: Vec::new() }
    }

    /// `resumed`: a thread goes on that has been switched to.
    pub fn cycles(&mut self, steps: &[Step], resumed: bool) -> Result<Cycles, SimulateError> {
        let mut polluted = self.polluted.clone();
        if resumed {
            polluted.pass(&self.last);
        }
        let before = steps.len().saturating_sub(1);
        let transfer = steps[..before].iter().rposition(|step| step.control != Control::None);
        self.last = steps[transfer.map_or(0, |last| last + 1)..].to_vec();
        Ok(Cycles { warm: self.warm.run(steps)?, polluted: polluted.run(steps)? })
    }
}

/// Steps that fill every cache with lines beyond all memory the kernel knows, and write those that can be written.
fn pollution(machine: &Machine) -> Vec<Step> {
    let line = machine.line();
    let bytes = machine.caches.iter().map(|cache| cache.sets * cache.ways * cache.line).max().unwrap_or(0);
    let base = 1 << 40;
    // Twice, since some policies need more than one round to fill all ways.
    let lines = (0..2 * bytes / line).map(|number| number % (bytes / line));
    lines
        .map(|number| Step {
            address: base + bytes,
            length: 1,
            class: Class::Store,
            reads: 0,
            writes: 0,
            transfer: Transfer::None,
            control: Control::None,
            memory: vec![DataAccess { address: base + number * line, write: true }],
            forgets: false,
        })
        .collect()
}
