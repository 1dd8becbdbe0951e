//! Passages of a trace through the kernel's regions.

use std::collections::BTreeMap;

use wcet_binary::lift::il::Flow;
use wcet_kernel::{End, Kernel, Kind};

use crate::observe::code::Code;
use crate::observe::error::Error;
use crate::observe::record::Executed;

/// A passage through one region.
#[derive(Debug, Clone)]
pub struct Passage {
    /// Indices of the kernel's regions of which it may be one: their beginning is the same.
    pub regions: Vec<usize>,
    pub instructions: Vec<Executed>,
    /// The number of the system call, if it begins with one.
    pub call: Option<u64>,
    /// The instruction executed after it; none if it was left for a program.
    pub next: Option<u64>,
}

/// Where a trace stands between passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    /// The trace has only begun: a program may run, or the processor waits.
    Begun,
    /// A program runs.
    Outside,
    /// A region has ended this way.
    After(End),
    /// An interrupt taken in a window has been noted; the window closes next.
    Noted(End),
}

/// Cuts a trace into passages.
pub struct Cutter<'k, 'p> {
    kernel: &'k Kernel<'p>,
    /// Regions by first instruction.
    starts: BTreeMap<u64, Vec<usize>>,
    between: Between,
    /// The window or wait in which interrupts are taken now.
    open: Option<Passage>,
    /// Instructions that belong to no region.
    pub strays: u64,
}

impl<'k, 'p> Cutter<'k, 'p> {
    pub fn new(kernel: &'k Kernel<'p>) -> Cutter<'k, 'p> {
        let mut starts: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, region) in kernel.regions.iter().enumerate() {
            starts.entry(region.start).or_default().push(number);
        }
        Cutter { kernel, starts, between: Between::Begun, open: None, strays: 0 }
    }

    /// Takes the next instruction; a passage if it ends with the one before or with this one.
    pub fn take(&mut self, executed: Executed, code: &mut Code<'_, '_>) -> Result<Option<Passage>, Error> {
        let mut finished = None;
        if let Some(mut passage) = self.open.take() {
            let last = passage.instructions.last().map_or(0, |last| last.address);
            let known = code.known(last)?;
            let ends = self.kernel.points.ends.get(&last).copied();
            match (ends, known.flow) {
                (Some(end), _) => {
                    self.between = Between::After(end);
                    passage.next = Some(executed.address);
                    finished = Some(passage);
                }
                (None, Flow::Leave) => {
                    self.between = match self.between {
                        Between::After(end) if self.is(&passage, Kind::Inside) => Between::Noted(end),
                        // It may have been taken in a window, or while the processor waited.
                        Between::Begun if self.is(&passage, Kind::Inside) => Between::Begun,
                        _ => Between::Outside,
                    };
                    finished = Some(passage);
                }
                (None, _) => {
                    passage.call = passage.call.or(executed.call);
                    passage.instructions.push(executed);
                    self.open = Some(passage);
                    return Ok(None);
                }
            }
        }
        self.begin(executed);
        Ok(finished)
    }

    fn is(&self, passage: &Passage, kind: Kind) -> bool {
        passage.regions.iter().any(|number| self.kernel.regions[*number].kind == kind)
    }

    fn begin(&mut self, executed: Executed) {
        let fits = |kind: Kind| match self.between {
            Between::Begun => {
                matches!(kind, Kind::SystemCall | Kind::Exception | Kind::Interrupt | Kind::Inside)
                    || matches!(kind, Kind::Window | Kind::Idle)
            }
            Between::Outside => {
                matches!(kind, Kind::SystemCall | Kind::Exception | Kind::Interrupt)
            }
            Between::After(End::Switch) => matches!(kind, Kind::Resumed | Kind::ThreadStart),
            Between::After(End::Pending) => kind == Kind::Pending,
            Between::After(End::Guest) => kind == Kind::Guest,
            Between::After(End::Window) => matches!(kind, Kind::Window | Kind::Inside),
            Between::After(End::Idle) => matches!(kind, Kind::Idle | Kind::Inside),
            Between::Noted(End::Idle) => kind == Kind::Idle,
            Between::Noted(_) => kind == Kind::Window,
            Between::After(End::Run) => false,
        };
        let here = self.inside(executed.address).or_else(|| self.starts.get(&executed.address).cloned());
        let regions: Vec<usize> =
            here.unwrap_or_default().into_iter().filter(|number| fits(self.kernel.regions[*number].kind)).collect();
        if regions.is_empty() {
            self.strays += 1;
            return;
        }
        self.open = Some(Passage { regions, call: executed.call, instructions: vec![executed], next: None });
    }

    /// Interrupts in a window enter by any vector; one region stands for all. The first one of a trace may have been taken there.
    fn inside(&self, address: u64) -> Option<Vec<usize>> {
        let regions = &self.kernel.regions;
        let vector = regions.iter().any(|region| region.kind == Kind::Interrupt && region.start == address);
        let inside = regions.iter().position(|region| region.kind == Kind::Inside)?;
        match self.between {
            Between::After(End::Window | End::Idle) if vector => Some(vec![inside]),
            Between::Begun if vector => {
                Some([inside].into_iter().chain(self.starts[&address].iter().copied()).collect())
            }
            _ => None,
        }
    }
}
