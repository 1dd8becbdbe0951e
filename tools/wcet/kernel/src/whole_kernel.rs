//! The whole kernel: all regions, the response time that follows from them, the depth of its stacks.

use std::collections::{BTreeMap, BTreeSet};

use wcet_binary::lift::il::Flow;
use wcet_hardware::machine::Machine;

use crate::analysed::Analysed;
use crate::bound::{begin, finish};
use crate::by_vector::{by_vector, ByVector};
use crate::context_free::with_loops;
use crate::equivalent_entries::Alike;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::lock_waits::{locking, Locking};
use crate::parallel::{spread, Task};
use crate::regions::{Kind, Region};
use crate::response::{response, Response};

/// What is known of a kernel.
#[derive(Debug, Clone, Default)]
pub struct Whole {
    /// Of each region, by its index in the kernel.
    pub regions: Vec<Analysed>,
    pub response: Option<Response>,
    /// The same of each interrupt.
    pub by_vector: Vec<ByVector>,
    pub stack: Option<Stack>,
    pub waiting: Option<Waiting>,
    /// Of a kernel whose description says where locks are: how long they are waited for, or why that is not known.
    pub locking: Option<Result<Locking, Vec<String>>>,
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

/// Bounds all regions, on so many processors at once; `progress` is called when a part begins.
pub fn whole(
    kernel: &Kernel<'_>,
    machine: &Machine,
    processors: usize,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> Result<Whole, Vec<Error>> {
    let mut found = Whole { stack: stack(kernel), ..Whole::default() };
    let mut alike = Alike::default();
    // Regions that are bounded in two parts: the first, and the numbers of parts that stand for the second.
    let mut begun: BTreeMap<usize, (Analysed, Vec<usize>)> = BTreeMap::new();
    let mut entries: BTreeMap<u64, (Analysed, Vec<crate::bound::Rest>)> = BTreeMap::new();
    for (number, region) in kernel.regions.iter().enumerate() {
        if !matches!(region.kind, Kind::SystemCall | Kind::Exception | Kind::Interrupt) {
            continue;
        }
        if kernel.is_late() {
            return Err(vec![Error::Late { left: kernel.regions.len() - number, of: kernel.regions.len() }]);
        }
        // All system calls enter alike.
        if let std::collections::btree_map::Entry::Vacant(entry) = entries.entry(region.start) {
            entry.insert(begin(kernel, region, machine, None)?);
        }
        let (first, rests) = &entries[&region.start];
        let parts: Result<Vec<usize>, _> = rests
            .iter()
            .cloned()
            .map(|mut rest| {
                rest.entry.numbers = region.numbers;
                alike.add(kernel, number, rest)
            })
            .collect();
        begun.insert(number, (first.clone(), parts?));
    }
    let functions = with_loops(kernel);
    let mut tasks: Vec<Task> =
        (0..kernel.regions.len()).filter(|one| !begun.contains_key(one)).map(Task::Region).collect();
    tasks.extend(alike.parts.into_iter().map(|(region, rest)| Task::Handler(region, rest)));
    let mut parts: Vec<Analysed> = Vec::new();
    for (task, analysed) in spread(kernel, machine, processors, functions, tasks, progress)? {
        match task {
            Task::Region(number) => drop(begun.insert(number, (analysed, Vec::new()))),
            Task::Handler(..) => parts.push(analysed),
        }
    }
    found.regions = begun
        .into_values()
        .map(|(first, rests)| finish(first, rests.iter().map(|part| parts[*part].clone()).collect()))
        .collect();
    found.response = response(kernel, &found.regions);
    found.by_vector = by_vector(kernel, &found.regions);
    found.waiting = waiting(&found.regions);
    found.locking = locking(kernel, &found.regions);
    Ok(found)
}

/// None if a region has no bound.
pub fn waiting(regions: &[Analysed]) -> Option<Waiting> {
    let most =
        |of: &dyn Fn(&Analysed) -> Option<u64>| regions.iter().map(of).collect::<Option<Vec<_>>>()?.into_iter().max();
    Some(Waiting { acquisitions: most(&|one| one.locks)?, section_cycles: most(&|one| one.wcet_cycles)? })
}

/// The deepest stack of all entries.
fn stack(kernel: &Kernel<'_>) -> Option<Stack> {
    let program = kernel.lifter.program();
    let starts = kernel.description.switch.starts.iter().filter_map(|start| program.symbol(start));
    deepest(kernel, kernel.handlers.iter().copied().chain(starts.map(|start| start.address)))
}

/// The deepest stack of a region that an entry begins; None for others, whose stacks are part of those.
pub fn stack_of(kernel: &Kernel<'_>, region: &Region) -> Option<Stack> {
    match region.kind {
        Kind::SystemCall | Kind::Exception | Kind::Interrupt => {
            let reached = reached(kernel, region.start);
            deepest(kernel, kernel.handlers.iter().copied().filter(|handler| reached.contains(handler)))
        }
        Kind::ThreadStart => deepest(kernel, std::iter::once(region.start)),
        _ => None,
    }
}

/// Handlers, and what comes before them.
fn reached(kernel: &Kernel<'_>, entry: u64) -> BTreeSet<u64> {
    let (mut reached, mut open) = (BTreeSet::from([entry]), vec![entry]);
    while let Some(function) = open.pop() {
        let callees = kernel.graph.callees(function).into_iter().filter(|_| !kernel.handlers.contains(&function));
        open.extend(callees.filter(|callee| reached.insert(*callee)));
    }
    reached
}

fn deepest(kernel: &Kernel<'_>, functions: impl Iterator<Item = u64>) -> Option<Stack> {
    let program = kernel.lifter.program();
    let depths = kernel.depths();
    let all: Option<Vec<_>> = functions.map(|function| depths.get(&function).cloned().flatten()).collect();
    let deepest = all?.into_iter().max_by_key(|depth| depth.bytes)?;
    let chain = deepest.chain.iter().map(|function| program.describe(*function)).collect();
    Some(Stack { bytes: deepest.bytes + CALL_BYTES + WINDOW_BYTES, chain })
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
