//! The machine of a machine file, run: cycles that a recorded stream of instructions takes.
//!
//! **Takes** a [`Machine`] and a trace: per instruction executed its address, length, class,
//! registers, whether it transferred control, and its data accesses ([`Step`]). Traces come from an emulator or a
//! generator.
//!
//! **Returns** cycles, of a whole trace ([`Simulator::run`]) or of each passage through named regions of it
//! ([`observe`]).
//!
//! **Assumes** nothing: it is the reference. It is written from the contract of the machine file alone and shares no
//! code with the analysis, which computes maxima over paths; this steps a clock, cycle by cycle, and asks of each
//! unit what it can do now. So a misreading of the contract shows as a bound below a run. Caches answer first, in
//! program order, as the contract's rule 1 says; the clock then only needs to know how long each access takes and
//! whether it needs the bus.
//!
//! `random` replacement draws from a generator seeded by the caller, `round-robin` has one pointer for the whole
//! cache or one for each set ([`Pointer`]): the contract leaves that open, and a bound must hold for all.

mod clock;
mod hierarchy;
mod observe;
mod set;
mod trace;

pub use clock::Times;
pub use hierarchy::{Answer, Hierarchy, Pointer, Use};
pub use observe::{observe, Observation, Region};
pub use trace::{Control, DataAccess, Step};

use wcet_hardware::machine::{Class, Machine};

/// A machine with the state of its caches.
#[derive(Debug, Clone)]
pub struct Simulator {
    machine: Machine,
    pub hierarchy: Hierarchy,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    #[error("step {step}, at {address:#x}: the machine {machine} gives no cost to class {class}")]
    NoClass { step: usize, address: u64, class: Class, machine: String },
}

impl Simulator {
    /// With empty caches.
    pub fn new(machine: &Machine, pointer: Pointer, seed: u64) -> Self {
        Simulator { machine: machine.clone(), hierarchy: Hierarchy::new(machine, pointer, seed) }
    }

    /// Runs `trace` from a standstill of the pipeline, with the caches as they are: cycles until its last instruction
    /// has left.
    pub fn run(&mut self, trace: &[Step]) -> Result<u64, SimulateError> {
        Ok(self.times(trace)?.last().map_or(0, |times| times.left))
    }

    /// The same, with the times of each instruction.
    pub fn times(&mut self, trace: &[Step]) -> Result<Vec<Times>, SimulateError> {
        let mut work = Vec::with_capacity(trace.len());
        for (step, instruction) in trace.iter().enumerate() {
            let (class, address) = (instruction.class, instruction.address);
            let Some(cost) = self.machine.classes.get(&class) else {
                return Err(SimulateError::NoClass { step, address, class, machine: self.machine.name.clone() });
            };
            let next = clock::Work::new(instruction, *cost, &work, &mut self.hierarchy);
            work.push(next);
        }
        Ok(clock::run(&self.machine, &work))
    }

    /// Lets the caches see `trace` without timing it.
    pub fn pass(&mut self, trace: &[Step]) {
        for step in trace {
            step.touch(&mut self.hierarchy);
        }
    }
}
