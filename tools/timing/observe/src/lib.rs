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
mod follow;
mod passage;
mod path;
mod record;
mod replay;

use std::collections::BTreeMap;
use std::path::Path;

use timing_kernel::Kernel;
use timing_machine::Machine;

pub use compare::{compare, Comparison, Entry, Ratios};
pub use emulator::{trace, Run};
pub use error::Error;
pub use replay::Cycles;

use code::Code;
use passage::{Cutter, Passage};
use path::Paths;
use record::Records;
use replay::Replay;

/// A passage through a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Indices of the kernel's regions of which it may be one.
    pub regions: Vec<usize>,
    pub call: Option<u64>,
    /// The path that it takes, by its number; none if the graphs have no such path.
    pub path: Option<usize>,
    pub cycles: Cycles,
    pub instructions: usize,
    pub accesses: usize,
}

#[derive(Debug, Clone, Default)]
pub struct Observations {
    pub passages: Vec<Observed>,
    /// Of each path the bound, or why it has none.
    pub paths: Vec<Result<u64, String>>,
    /// What the traces show that the analysis or the kernel's description rule out, and how often.
    pub surprises: BTreeMap<String, u64>,
    /// Instructions outside all regions: start-up.
    pub strays: u64,
}

/// Collects passages of any number of runs.
pub struct Observer<'k, 'p> {
    kernel: &'k Kernel<'p>,
    machine: &'k Machine,
    code: Code<'k, 'p>,
    paths: Paths<'k, 'p>,
    found: Observations,
}

impl<'k, 'p> Observer<'k, 'p> {
    /// `calls` names system calls by their number, as regions do.
    pub fn new(kernel: &'k Kernel<'p>, machine: &'k Machine, calls: BTreeMap<u64, String>) -> Observer<'k, 'p> {
        let code = Code::new(kernel, machine, calls);
        Observer { kernel, machine, code, paths: Paths::new(kernel), found: Observations::default() }
    }

    /// Takes in the traces of a run, one file a processor.
    pub fn take(&mut self, files: &[impl AsRef<Path>]) -> Result<(), Error> {
        for file in files {
            let open = std::fs::File::open(file).map_err(|cause| Error::Trace(cause.to_string()))?;
            let mut records = Records::new(open);
            let mut cutter = Cutter::new(self.kernel);
            let mut replay = Replay::new(self.machine);
            while let Some(executed) = records.instruction()? {
                if let Some(passage) = cutter.take(executed, &mut self.code)? {
                    let observed = self.one(passage, &mut replay)?;
                    self.found.passages.push(observed);
                }
            }
            self.found.strays += cutter.strays;
        }
        Ok(())
    }

    fn one(&mut self, mut passage: Passage, replay: &mut Replay) -> Result<Observed, Error> {
        passage.regions = self.code.regions(&passage)?;
        let mut path = None;
        match self.paths.follow(&passage) {
            Ok(followed) => {
                passage.regions = vec![followed.region];
                path = Some(followed.path);
                followed.surprises.into_iter().for_each(|text| self.code.surprise(text));
                let executed = followed.counted.iter().map(|number| std::mem::take(&mut passage.instructions[*number]));
                passage.instructions = executed.collect();
            }
            Err(why) => self.code.surprise(why),
        }
        let mut steps = Vec::with_capacity(passage.instructions.len());
        for (number, executed) in passage.instructions.iter().enumerate() {
            let next = passage.instructions.get(number + 1).map(|next| next.address).or(passage.next);
            steps.push(self.code.step(executed, next)?);
        }
        Ok(Observed {
            regions: passage.regions,
            call: passage.call,
            path,
            cycles: replay.cycles(&steps)?,
            instructions: steps.len(),
            accesses: steps.iter().map(|step| step.memory.len()).sum(),
        })
    }

    /// All of it, with the bound of each path.
    pub fn finish(mut self, progress: &mut dyn FnMut(usize, usize)) -> Observations {
        self.found.paths = self.paths.bounds(self.machine, progress);
        self.found.surprises = self.code.surprises;
        self.found
    }
}
