//! Traces of the booted kernel, replayed on the machine that the analysis bounds.
//!
//! **Takes** a [`Kernel`], a machine, and what to boot ([`Run`]). **Returns** for each passage of the trace through a
//! region of the kernel how many cycles it takes on the simulated machine ([`Observed`]), once with the caches as the
//! passages before left them, once with caches full of other, written lines. [`Comparison`] holds that against bounds.
//!
//! # What it shows
//! A bound below a passage would be wrong: the analysis, the simulator, or the description of the kernel. That none is
//! found says nothing about passages that did not occur; how close the largest come says how tight the bounds are.
//! Besides, what bounds rest on is held against each instruction ([`Statement`]): what `kernel/timing.toml` states, and what the
//! analysis of the passage's region says of its accesses, branches and loops. That is a test of them, no proof.
//!
//! The image that boots is the one that was analysed, byte for byte: nothing in it serves the observation. QEMU runs it
//! with a plugin (`plugin/trace.c`) that writes which instructions of the kernel are executed and what they access.
//!
//! # What it leaves out
//! Accesses that the processor makes on its own in guests are not traced; those with which it takes an interrupt are traced with
//! the instruction before, where they do not count. Programs are not traced, so they leave the caches of a warm passage alone.

mod accesses;
mod code;
mod compare;
mod emulator;
mod error;
mod follow;
mod ledger;
mod memory;
mod order;
mod own;
mod passage;
mod path;
mod record;
mod replay;
mod sets;

use std::collections::BTreeMap;
use std::path::Path;

use wcet_binary::lift::il::Flow;
use wcet_hardware::machine::Machine;
use wcet_kernel::{Kernel, Kind};

pub use compare::{compare, Comparison, Entry, Ratios};
pub use emulator::{trace, Run};
pub use error::Error;
pub use ledger::Statement;
pub use replay::Cycles;

use code::Code;
use ledger::Ledger;
use memory::Memories;
use order::Order;
use own::OwnObjects;
use passage::{Cutter, Passage};
use path::Paths;
use record::Records;
use replay::Replay;
use sets::Sets;

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
    /// What bounds rest on, each held against what happened.
    pub statements: Vec<Statement>,
    /// Accesses that may go to any memory, as far as the analysis knows.
    pub anywhere: u64,
    /// Instructions outside all regions: start-up.
    pub strays: u64,
}

/// Collects passages of any number of runs.
pub struct Observer<'k, 'p> {
    kernel: &'k Kernel<'p>,
    machine: &'k Machine,
    code: Code<'k, 'p>,
    paths: Paths<'k, 'p>,
    ledger: Ledger,
    own: Option<OwnObjects>,
    memories: Memories<'k, 'p>,
    order: Order<'k, 'p>,
    sets: Sets<'k, 'p>,
    /// Traces taken in; each is one processor's.
    traces: usize,
    found: Observations,
}

impl<'k, 'p> Observer<'k, 'p> {
    /// `calls` names system calls by their number, as regions do; `loops` bounds loops by the addresses of their headers.
    pub fn new(
        kernel: &'k Kernel<'p>,
        machine: &'k Machine,
        calls: BTreeMap<u64, String>,
        loops: BTreeMap<u64, u64>,
    ) -> Observer<'k, 'p> {
        let mut ledger = Ledger::default();
        for statement in kernel.description.tested() {
            ledger.row(statement);
        }
        Observer {
            kernel,
            machine,
            code: Code::new(kernel, machine, calls),
            paths: Paths::new(kernel),
            own: None,
            memories: Memories::new(kernel, machine, &mut ledger),
            order: Order::new(kernel, &mut ledger),
            sets: Sets::new(kernel, machine, loops, &mut ledger),
            ledger,
            traces: 0,
            found: Observations::default(),
        }
    }

    /// Takes in the traces of a run, one file a processor.
    pub fn take(&mut self, files: &[impl AsRef<Path>]) -> Result<(), Error> {
        // Every run begins anew.
        self.own = OwnObjects::new(self.kernel, &mut self.ledger);
        self.memories.forget();
        for file in files {
            self.traces += 1;
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

    /// Who called is not seen in a passage that does not return to its callers, as before a switch: it may be of several regions,
    /// which differ in where their stack begins. It is one of those to which nothing in it is contrary, if there is one.
    fn agreeing_first(&mut self, passage: &mut Passage) {
        if passage.regions.len() < 2 {
            return;
        }
        let anywhere = self.sets.anywhere;
        let agrees = |region: &usize| {
            let mut ledger = self.ledger.clone();
            let followed = self.paths.check(*region, passage, self.machine, &mut self.sets, &mut ledger);
            followed.is_some() && ledger.contradictions() == self.ledger.contradictions()
        };
        let found = passage.regions.iter().position(agrees);
        self.sets.anywhere = anywhere;
        passage.regions.swap(0, found.unwrap_or(0));
    }

    fn one(&mut self, mut passage: Passage, replay: &mut Replay) -> Result<Observed, Error> {
        passage.regions = self.code.regions(&passage)?;
        self.agreeing_first(&mut passage);
        let mut path = None;
        self.hold(&passage)?;
        match self.paths.follow(&passage) {
            Ok(followed) => {
                self.paths.check(followed.region, &passage, self.machine, &mut self.sets, &mut self.ledger);
                let kind = self.kernel.regions[followed.region].kind;
                let (code, ledger) = (&mut self.code, &mut self.ledger);
                let mut known = |address: u64| code.known(address);
                self.order.take(self.traces, &passage, kind, &mut known, ledger)?;
                passage.regions = vec![followed.region];
                path = Some(followed.path);
                followed.surprises.into_iter().for_each(|text| self.code.surprise(text));
                let executed = followed.counted.iter().map(|number| std::mem::take(&mut passage.instructions[*number]));
                passage.instructions = executed.collect();
                let mut stack = None;
                if let Some(first) = passage.instructions.first() {
                    let pointer = self.kernel.lifter.registers().stack_pointer();
                    stack = own::stack(pointer, &*self.code.known(first.address)?, first).map(|(_, stack)| stack);
                }
                let (sets, ledger) = (&mut self.sets, &mut self.ledger);
                self.paths.check_path(followed.path, &passage.instructions, stack, self.machine, sets, ledger);
            }
            Err(why) => self.code.surprise(why),
        }
        let mut steps = Vec::with_capacity(passage.instructions.len());
        for (number, executed) in passage.instructions.iter().enumerate() {
            let next = passage.instructions.get(number + 1).map(|next| next.address).or(passage.next);
            steps.push(self.code.step(executed, next)?);
        }
        let resumed = passage.regions.first().is_some_and(|region| self.kernel.regions[*region].kind == Kind::Resumed);
        Ok(Observed {
            regions: passage.regions,
            call: passage.call,
            path,
            cycles: replay.cycles(&steps, resumed)?,
            instructions: steps.len(),
            accesses: steps.iter().map(|step| step.memory.len()).sum(),
        })
    }

    /// Holds a passage against what bounds rest on.
    fn hold(&mut self, passage: &Passage) -> Result<(), Error> {
        let (processor, ledger) = (self.traces, &mut self.ledger);
        if let (Some(own), [region], Some(first)) =
            (&mut self.own, passage.regions.as_slice(), passage.instructions.first())
        {
            let known = self.code.known(first.address)?;
            own.interrupted(self.kernel, &self.kernel.regions[*region], processor, &known, first, ledger);
        }
        for executed in &passage.instructions {
            let known = self.code.known(executed.address)?;
            if let Some(own) = &mut self.own {
                own.take(processor, &known, executed, ledger);
            }
            self.memories.take(&known, executed, ledger);
        }
        if let (Some(own), Some(last)) = (&mut self.own, passage.instructions.last()) {
            let known = self.code.known(last.address)?;
            let inside = passage.regions.iter().any(|region| self.kernel.regions[*region].kind == Kind::Inside);
            if known.flow == Flow::Leave && !inside {
                own.put(processor, &known, code::own(&known.instruction, last, true).1, ledger);
            }
        }
        Ok(())
    }

    /// All of it, with the bound of each path.
    pub fn finish(mut self, progress: &mut dyn FnMut(usize, usize)) -> Observations {
        self.found.paths = self.paths.bounds(self.machine, progress);
        self.found.surprises = self.code.surprises;
        self.found.statements = self.ledger.statements();
        self.found.anywhere = self.sets.anywhere;
        self.found
    }
}
