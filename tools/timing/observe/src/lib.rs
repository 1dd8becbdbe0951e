//! Traces of the booted kernel, replayed on the machine that the analysis bounds.
//!
//! **Takes** a [`Kernel`], a machine, and what to boot ([`Run`]). **Returns** for each passage of the trace through a
//! region of the kernel how many cycles it takes on the simulated machine ([`Observed`]), once with the caches as the
//! passages before left them, once with caches full of other, written lines. [`Comparison`] holds that against bounds.
//!
//! # What it shows
//! A bound below a passage would be wrong: the analysis, the simulator, or the description of the kernel. That none is
//! found says nothing about passages that did not occur; how close the largest come says how tight the bounds are.
//! Besides, each access is held against `kernel/timing.toml`: memory that it does not name, or a device touched by a
//! function that it does not name, is told ([`Observations::surprises`]).
//!
//! The image that boots is the one that was analysed, byte for byte: nothing in it serves the observation. QEMU runs it
//! with a plugin (`plugin/trace.c`) that writes which instructions of the kernel are executed and what they access.
//!
//! # What it does not know
//! Accesses that the processor makes on its own, on exceptions and in guests, are not traced. Programs are not traced,
//! so they leave the caches of a warm passage alone.

mod code;
mod compare;
mod emulator;
mod error;
mod passage;
mod record;
mod replay;

use std::collections::BTreeMap;
use std::path::Path;

use timing_kernel::Kernel;
use timing_machine::Machine;

pub use compare::{compare, Comparison, Entry};
pub use emulator::{trace, Run};
pub use error::Error;
pub use replay::Cycles;

use code::Code;
use passage::{Cutter, Passage};
use record::Records;
use replay::Replay;

/// A passage through a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Indices of the kernel's regions of which it may be one.
    pub regions: Vec<usize>,
    pub call: Option<u64>,
    pub cycles: Cycles,
    pub instructions: usize,
    pub accesses: usize,
}

#[derive(Debug, Clone, Default)]
pub struct Observations {
    pub passages: Vec<Observed>,
    /// What the traces show that the kernel's description rules out, and how often.
    pub surprises: BTreeMap<String, u64>,
    /// Instructions outside all regions: start-up.
    pub strays: u64,
}

/// The passages in the traces, one file a processor.
pub fn observe(kernel: &Kernel<'_>, machine: &Machine, files: &[impl AsRef<Path>]) -> Result<Observations, Error> {
    let mut code = Code::new(kernel, machine);
    let mut found = Observations::default();
    for file in files {
        let open = std::fs::File::open(file).map_err(|cause| Error::Trace(cause.to_string()))?;
        let mut records = Records::new(open);
        let mut cutter = Cutter::new(kernel);
        let mut replay = Replay::new(machine);
        while let Some(executed) = records.instruction()? {
            if let Some(passage) = cutter.take(executed, &mut code)? {
                found.passages.push(one(&passage, &mut code, &mut replay)?);
            }
        }
        found.strays += cutter.strays;
    }
    found.surprises = code.surprises;
    Ok(found)
}

fn one(passage: &Passage, code: &mut Code<'_, '_>, replay: &mut Replay) -> Result<Observed, Error> {
    let mut steps = Vec::with_capacity(passage.instructions.len());
    for (number, executed) in passage.instructions.iter().enumerate() {
        let next = passage.instructions.get(number + 1).map(|next| next.address).or(passage.next);
        steps.push(code.step(executed, next)?);
    }
    Ok(Observed {
        regions: code.regions(passage)?,
        call: passage.call,
        cycles: replay.cycles(&steps)?,
        instructions: steps.len(),
        accesses: steps.iter().map(|step| step.memory.len()).sum(),
    })
}
