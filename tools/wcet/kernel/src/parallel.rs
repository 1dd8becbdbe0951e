//! The work of bounding a kernel, spread over processors.
//!
//! Graphs are shared by counted references that only one thread may hold: each worker but the first reads the kernel for itself,
//! which gives the same regions in the same order. Results do not depend on which worker finds them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Instant;

use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_hardware::machine::Machine;

use crate::analysed::Analysed;
use crate::bound::{analyse, handler, Rest};
use crate::context_free::{alone, Apart};
use crate::description::Description;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::service::{never_taken, Branch};

/// A part of the work that needs no other.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    /// A region that is one graph.
    Region(usize),
    /// What is behind a handler's first instruction, of a region.
    Handler(usize, Rest),
}

type Found = Result<Analysed, Vec<Error>>;

/// What all workers share.
struct Shared<'a> {
    functions: Vec<u64>,
    tasks: &'a [Task],
    next_function: AtomicUsize,
    next_task: AtomicUsize,
    apart: Mutex<BTreeMap<(u64, usize), Apart>>,
    next_interrupt: AtomicUsize,
    services: Mutex<BTreeMap<usize, BTreeSet<Branch>>>,
    /// By the number of the task.
    found: Mutex<Vec<Option<Found>>>,
    /// Regions use what all functions have given.
    between: Barrier,
    progress: &'a (dyn Fn(usize, usize, &str) + Sync),
    deadline: Option<Instant>,
}

/// Bounds the loops of functions and looks what each interrupt's service leaves out, then does the tasks; returns them in their
/// order.
pub(crate) fn spread(
    kernel: &Kernel<'_>,
    machine: &Machine,
    processors: usize,
    functions: Vec<u64>,
    tasks: Vec<Task>,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> Result<Vec<(Task, Analysed)>, Vec<Error>> {
    let workers = processors.max(1);
    let shared = Shared {
        functions,
        tasks: &tasks,
        next_function: AtomicUsize::new(0),
        next_task: AtomicUsize::new(0),
        apart: Mutex::default(),
        next_interrupt: AtomicUsize::new(0),
        services: Mutex::default(),
        found: Mutex::new(tasks.iter().map(|_| None).collect()),
        between: Barrier::new(workers),
        progress,
        deadline: kernel.deadline,
    };
    let (program, description) = (kernel.lifter.program(), kernel.description);
    std::thread::scope(|scope| {
        let others: Vec<_> =
            (1..workers).map(|_| scope.spawn(|| other(program, description, machine, &shared))).collect();
        let first = worker(Ok(kernel.clone()), machine, &shared);
        let joined = others.into_iter().map(|other| other.join());
        let ended = joined.map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(first).chain(ended).collect::<Result<(), Vec<Error>>>()
    })?;
    let found = shared.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let left = found.iter().filter(|one| one.is_none()).count();
    if left > 0 {
        return Err(vec![Error::Late { left, of: tasks.len() }]);
    }
    let done: Result<Vec<Analysed>, Vec<Error>> = found.into_iter().flatten().collect();
    Ok(tasks.into_iter().zip(done?).collect())
}

/// A worker that reads the kernel.
fn other(
    program: &Program,
    description: &Description,
    machine: &Machine,
    shared: &Shared<'_>,
) -> Result<(), Vec<Error>> {
    let lifter = Lifter::new(program).map_err(|cause| vec![Error::Flow(cause.to_string())]);
    let kernel = lifter.as_ref().map_err(Clone::clone).and_then(|lifter| Kernel::new(lifter, description));
    let timed = kernel.map(|mut kernel| {
        kernel.deadline = shared.deadline;
        kernel
    });
    worker(timed, machine, shared)
}

fn worker(kernel: Result<Kernel<'_>, Vec<Error>>, machine: &Machine, shared: &Shared<'_>) -> Result<(), Vec<Error>> {
    let count = shared.functions.len() + shared.tasks.len();
    if let Ok(kernel) = &kernel {
        let (program, description) = (kernel.lifter.program(), kernel.description);
        while let Some((number, function)) = next(&shared.next_function, &shared.functions) {
            if kernel.is_late() {
                break;
            }
            let name = program.describe(*function);
            (shared.progress)(number + 1, count, &format!("the loops of {name}"));
            let found = alone(kernel, *function);
            shared.apart.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        }
        while let Some((number, interrupt)) = next(&shared.next_interrupt, &description.vectors.interrupts) {
            let found = never_taken(kernel, interrupt);
            shared.services.lock().unwrap_or_else(PoisonError::into_inner).insert(number, found);
        }
    }
    // A worker that failed gets here as well: the others wait.
    shared.between.wait();
    let mut kernel = kernel?;
    kernel.apart = shared.apart.lock().unwrap_or_else(PoisonError::into_inner).clone();
    kernel.services = shared.services.lock().unwrap_or_else(PoisonError::into_inner).clone();
    while let Some((number, task)) = next(&shared.next_task, shared.tasks) {
        if kernel.is_late() {
            break;
        }
        let (Task::Region(region) | Task::Handler(region, _)) = task;
        let region = &kernel.regions[*region];
        (shared.progress)(shared.functions.len() + number + 1, count, &region.name);
        let analysed = match task {
            Task::Region(_) => analyse(&kernel, region, machine),
            Task::Handler(_, rest) => handler(&kernel, region, rest, machine),
        };
        shared.found.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some(analysed);
    }
    Ok(())
}

fn next<'t, T>(counter: &AtomicUsize, all: &'t [T]) -> Option<(usize, &'t T)> {
    let number = counter.fetch_add(1, Ordering::Relaxed);
    all.get(number).map(|one| (number, one))
}
