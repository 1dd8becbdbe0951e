//! The whole kernel: all regions, the response time that follows from them, the depth of its stacks.

use std::collections::BTreeMap;

use timing_lift::il::Flow;
use timing_machine::Machine;

use crate::alike::{Alike, Shape};
use crate::bound::{analyse, begin, finish, Analysed};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::regions::Kind;
use crate::stack::depths;

/// What is known of a kernel.
#[derive(Debug, Clone, Default)]
pub struct Whole {
    /// Of each region, by its index in the kernel.
    pub regions: Vec<Analysed>,
    pub response: Option<Response>,
    pub stack: Option<Stack>,
    pub waiting: Option<Waiting>,
}

/// From the arrival of an interrupt to the first user instruction of its handler, without waits for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Until interrupts are taken: a region, and those of threads that get the processor within.
    pub closed_cycles: u64,
    /// The interrupt itself, until the handler's thread is switched to.
    pub interrupt_cycles: u64,
    /// The handler's thread, until it is in its program.
    pub handler_cycles: u64,
    /// The longest region, and the longest of a thread that goes on.
    pub longest: usize,
    pub resumed: usize,
}

impl Response {
    pub fn cycles(&self) -> u64 {
        self.closed_cycles + self.interrupt_cycles + self.handler_cycles
    }
}

/// What waits for locks may add to a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Most locks that a region takes.
    pub acquisitions: u64,
    /// No section that a lock guards takes longer, waits for locks that are taken in it apart: the longest region, as no
    /// lock is held from one to the next.
    pub section_cycles: u64,
}

impl Waiting {
    /// The term with so many processors, if no lock is taken while another is held: locks are handed on in turn, so that
    /// each other processor comes first once.
    pub fn cycles(&self, processors: u64) -> u64 {
        self.acquisitions.saturating_mul(processors.saturating_sub(1)).saturating_mul(self.section_cycles)
    }
}

/// The deepest stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    pub bytes: u64,
    pub chain: Vec<String>,
}

/// What a processor pushes on an interrupt in a window (5 words and up to 8 bytes to align them), the entry's words, and the
/// call of the handler.
const WINDOW_BYTES: u64 = 8 * (5 + 1 + 3);
const CALL_BYTES: u64 = 8;

/// Bounds all regions; `progress` is told the number of each before it begins.
pub fn whole(kernel: &Kernel<'_>, machine: &Machine, progress: &mut dyn FnMut(usize)) -> Result<Whole, Vec<Error>> {
    let mut found = Whole { stack: stack(kernel), ..Whole::default() };
    let mut alike = Alike::default();
    let mut begun = Vec::new();
    for region in &kernel.regions {
        if !matches!(region.kind, Kind::SystemCall | Kind::Exception | Kind::Interrupt) {
            begun.push(None);
            continue;
        }
        let (first, rests) = begin(kernel, region, machine)?;
        let shapes: Vec<Shape> = rests.into_iter().map(|rest| alike.add(region, rest)).collect();
        begun.push(Some((first, shapes)));
    }
    for (number, (region, begun)) in kernel.regions.iter().zip(begun).enumerate() {
        progress(number);
        found.regions.push(match begun {
            Some((first, shapes)) => {
                let rests = shapes.iter().filter_map(|shape| alike.bound(kernel, shape, machine)).collect();
                finish(first, rests)
            }
            None => analyse(kernel, region, machine)?,
        });
    }
    found.response = response(kernel, &found.regions);
    found.waiting = waiting(&found.regions);
    Ok(found)
}

/// None if a region has no bound.
pub fn waiting(regions: &[Analysed]) -> Option<Waiting> {
    let most =
        |of: &dyn Fn(&Analysed) -> Option<u64>| regions.iter().map(of).collect::<Option<Vec<_>>>()?.into_iter().max();
    Some(Waiting { acquisitions: most(&|one| one.locks)?, section_cycles: most(&|one| one.wcet_cycles)? })
}

/// None if a region that counts has no bound.
pub fn response(kernel: &Kernel<'_>, regions: &[Analysed]) -> Option<Response> {
    let longest = |fits: &dyn Fn(Kind) -> bool| {
        let all: Option<Vec<(u64, usize)>> = kernel
            .regions
            .iter()
            .zip(regions)
            .enumerate()
            .filter(|(_, (region, _))| fits(region.kind))
            .map(|(number, (_, analysed))| analysed.wcet_cycles.map(|cycles| (cycles, number)))
            .collect();
        all?.into_iter().max()
    };
    let (region, longest_region) = longest(&|_| true)?;
    let (resumed_cycles, resumed) = longest(&|kind| matches!(kind, Kind::Resumed | Kind::ThreadStart))?;
    let (interrupt_cycles, _) = longest(&|kind| kind == Kind::Interrupt)?;
    let closed_cycles = region + kernel.description.switch.most * resumed_cycles;
    let handler_cycles = kernel.description.switch.most * resumed_cycles;
    Some(Response { closed_cycles, interrupt_cycles, handler_cycles, longest: longest_region, resumed })
}

fn stack(kernel: &Kernel<'_>) -> Option<Stack> {
    let program = kernel.lifter.program();
    let depths = depths(&kernel.graph, kernel.lifter.registers().stack_pointer());
    let entered = kernel.handlers.iter().copied().chain(kernel.graph.functions.keys().copied().filter(|function| {
        // Threads begin in what their start calls.
        kernel
            .description
            .switch
            .starts
            .iter()
            .any(|start| program.symbol(start).is_some_and(|one| one.address == *function))
    }));
    let all: Option<Vec<_>> = entered.map(|function| depths.get(&function).cloned().flatten()).collect();
    let deepest = all?.into_iter().max_by_key(|depth| depth.bytes)?;
    let chain = deepest.chain.iter().map(|function| program.describe(*function)).collect();
    Some(Stack { bytes: deepest.bytes + CALL_BYTES + WINDOW_BYTES, chain })
}

impl Analysed {
    /// The function with the largest share of the worst path, and its cycles.
    pub fn dominated_by(&self) -> Option<(&str, u64)> {
        self.functions.iter().max_by_key(|(_, cycles)| **cycles).map(|(name, cycles)| (name.as_str(), *cycles))
    }
}

/// How often each function that is a wait is called for on any path: the places where a region may wait.
pub fn waits(kernel: &Kernel<'_>) -> BTreeMap<String, usize> {
    let program = kernel.lifter.program();
    let blocks = || kernel.graph.functions.values().flat_map(|function| &function.blocks);
    let calls = |function: u64| {
        blocks()
            .filter(|block| matches!(block.last().flow, Flow::Call { .. } | Flow::Jump { .. }))
            .filter(|block| block.calls.contains(&function) || block.tail_calls.contains(&function))
            .count()
    };
    kernel.waits.keys().map(|function| (program.describe(*function), calls(*function))).collect()
}
