//! The regions: stretches of the kernel in which no interrupt is taken.

use std::collections::{BTreeMap, BTreeSet};

use wcet_binary::lift::il::Register;
use wcet_binary::load::Program;
use wcet_flow::context::{ContextId, Edge, EdgeId, EdgeKind, Expanded};
use wcet_flow::Graph;

use crate::call_chains::{chains, Chain};
use crate::description::Description;
use crate::error::Error;
use crate::points::{lookup, End, Points};
use crate::returns::Returning;
use crate::stack::below;

/// How a region begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    SystemCall,
    Exception,
    Interrupt,
    /// An interrupt taken in a window or while the processor waited, until the window has closed.
    Inside,
    /// A thread runs for the first time.
    ThreadStart,
    /// The kernel has asked whether an interrupt waits, and goes on.
    Pending,
    /// An interrupt window has closed.
    Window,
    /// The processor has waited for an interrupt.
    Idle,
    /// A guest has been left.
    Guest,
    /// A thread goes on where it gave up the processor.
    Resumed,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::SystemCall => "system call",
            Kind::Exception => "exception",
            Kind::Interrupt => "interrupt",
            Kind::Inside => "interrupt in a window",
            Kind::ThreadStart => "thread start",
            Kind::Pending => "preemption point",
            Kind::Window => "interrupt window",
            Kind::Idle => "idle",
            Kind::Guest => "guest exit",
            Kind::Resumed => "resumed thread",
        }
    }
}

/// A stretch of the kernel from where it begins to every place where an interrupt can be taken, or another thread goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// No other region has it.
    pub name: String,
    pub kind: Kind,
    /// Where it begins.
    pub chain: Chain,
    /// The first instruction.
    pub start: u64,
    /// How far below the end of the kernel stack the stack pointer is there, if that is known.
    pub below: Option<u64>,
    /// Instructions with which it ends, beyond the places where all regions do.
    pub stops: BTreeSet<u64>,
    /// Of a system call its number, or several that stand for no call.
    pub numbers: Option<(u64, u64)>,
    /// Of an interrupt the number of its vectors' entry in the description.
    pub interrupt: Option<usize>,
}

/// All regions of the kernel.
pub fn regions(
    program: &Program,
    description: &Description,
    graph: &Graph,
    points: &Points,
    stack_pointer: Register,
    handlers: &BTreeSet<u64>,
) -> Result<Vec<Region>, Vec<Error>> {
    let mut found = Vec::new();
    let look = |symbol: &str, part| lookup(program, symbol, part).map_err(|error| vec![error]);
    let call = look(&description.entries.system_call, "the entry of system calls")?;
    let thread = look(&description.entries.thread_start, "the start of threads")?;
    let idle = look(&description.entries.idle, "the idle loop")?;
    let stubs = look(&description.vectors.symbol, "the entries of interrupts")?;
    let stub = |vector: u64| stubs + vector * description.vectors.bytes;
    let mut interrupts: BTreeMap<u64, usize> = BTreeMap::new();
    let mut enter = |name: String, kind, entry, numbers| {
        let stops = BTreeSet::new();
        found.push(Region {
            name,
            kind,
            chain: vec![(entry, 0)],
            start: entry,
            below: None,
            stops,
            numbers,
            interrupt: None,
        });
    };
    match &description.calls {
        Some(calls) => {
            for (name, number) in &calls.numbers {
                enter(format!("system call {name}"), Kind::SystemCall, call, Some((*number, *number)));
            }
            for others in calls.others() {
                enter("system call with another number".to_string(), Kind::SystemCall, call, Some(others));
            }
        }
        None => enter("system call".to_string(), Kind::SystemCall, call, None),
    }
    enter("thread start".to_string(), Kind::ThreadStart, thread, None);
    for vector in &description.vectors.exceptions {
        enter(format!("exception {vector}"), Kind::Exception, stub(*vector), None);
    }
    for (number, one) in description.vectors.interrupts.iter().enumerate() {
        for vector in one.vectors() {
            enter(format!("interrupt {}", one.name_of(vector)), Kind::Interrupt, stub(vector), None);
            interrupts.insert(stub(vector), number);
        }
    }
    let user = entered_from_user(graph, stubs);
    if user.is_empty() {
        return Err(vec![Error::NotSo {
            function: description.vectors.symbol.clone(),
            what: "exchange GS".to_string(),
        }]);
    }
    if let Some(first) = description.vectors.interrupts.first() {
        let start = stub(first.first);
        let name = Kind::Inside.name().to_string();
        let chain = vec![(start, 0)];
        found.push(Region {
            name,
            kind: Kind::Inside,
            chain,
            start,
            below: None,
            stops: user,
            numbers: None,
            interrupt: None,
        });
    }

    let returning = Returning::new(graph, points);
    // What follows a place in the kernel does not depend on the vector by which it was entered.
    let mut seen: BTreeMap<Chain, usize> = BTreeMap::new();
    let vectors = description
        .vectors
        .exceptions
        .first()
        .copied()
        .into_iter()
        .chain(description.vectors.interrupts.first().map(|one| one.first));
    let entries: Vec<u64> = [call, thread, idle].into_iter().chain(vectors.map(stub)).collect();
    for entry in entries {
        for (chain, end) in chains(graph, points, entry).map_err(|error| vec![error])? {
            let kind = match end {
                End::Pending => Kind::Pending,
                End::Window => Kind::Window,
                End::Idle => Kind::Idle,
                End::Guest => Kind::Guest,
                End::Switch => Kind::Resumed,
                End::Run => continue,
            };
            let below = below(graph, stack_pointer, handlers, &chain);
            let chain = returning.shorten(&chain);
            let (function, block) = chain[chain.len() - 1];
            let start = graph.functions[&function].blocks[block].start();
            if let Some(known) = seen.get(&chain) {
                let known: &mut Region = &mut found[*known];
                known.below = known.below.filter(|known| Some(*known) == below);
                continue;
            }
            seen.insert(chain.clone(), found.len());
            let names: Vec<String> = chain.iter().map(|(function, _)| program.describe(*function)).collect();
            let name = format!("{} {}", kind.name(), names.join(" > "));
            found.push(Region {
                name,
                kind,
                chain,
                start,
                below,
                stops: BTreeSet::new(),
                numbers: None,
                interrupt: None,
            });
        }
    }
    number(&mut found);
    for region in found.iter_mut().filter(|region| region.kind == Kind::Interrupt) {
        region.interrupt = interrupts.get(&region.start).copied();
    }
    Ok(found)
}

/// Numbers those of one name, from the second on, in the order of [`regions`]: a name stands for one region.
fn number(regions: &mut [Region]) {
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for region in regions {
        let times = times.entry(region.name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            region.name = format!("{} ({times})", region.name);
        }
    }
}

/// Instructions that interrupts execute only if they come from a program: the exchange of GS.
fn entered_from_user(graph: &Graph, stub: u64) -> BTreeSet<u64> {
    let blocks = graph.functions.get(&stub).map(|function| function.blocks.as_slice()).unwrap_or_default();
    let all = blocks.iter().flat_map(|block| &block.instructions);
    all.filter(|one| one.mnemonic == "swapgs").map(|one| one.address).collect()
}

/// Edges behind which a region cannot go on: from where the chosen thread is switched to, except to the callers that may
/// have chosen the running one.
pub fn dead(expanded: &Expanded<'_>, points: &Points) -> BTreeSet<EdgeId> {
    let switched = switched(expanded, points);
    let returns = |edge: &EdgeId| {
        let Edge { from, kind, .. } = expanded.edges[*edge];
        kind == EdgeKind::Return && switched.contains(&expanded.nodes[from].context)
    };
    (0..expanded.edges.len()).filter(returns).collect()
}

/// Contexts that switch to a chosen thread which is not the running one: they do not return within the region.
pub(crate) fn switched(expanded: &Expanded<'_>, points: &Points) -> BTreeSet<ContextId> {
    let (run, callers) = &points.run;
    // Where the region begins behind the switch, it has happened.
    let first = expanded.nodes[expanded.entry].context;
    let behind: BTreeSet<ContextId> =
        std::iter::successors(Some(first), |one| expanded.contexts[*one].caller.map(|(caller, _)| caller)).collect();
    let one = |id: &ContextId| {
        let context = &expanded.contexts[*id];
        let caller = context.caller.map(|(caller, _)| expanded.contexts[caller].function);
        let chosen = context.function == *run && caller.is_some_and(|caller| !callers.contains(&caller));
        chosen && !behind.contains(id)
    };
    (0..expanded.contexts.len()).filter(one).collect()
}

impl Region {
    /// Its paths, from a place in a chain of calls on, to where it ends or to one of `stops`.
    pub fn expand<'g>(
        &self,
        graph: &'g Graph,
        points: &Points,
        chain: &[(u64, usize)],
        stops: &BTreeSet<u64>,
    ) -> Result<Expanded<'g>, Vec<Error>> {
        let stops: BTreeSet<u64> = points.ends.keys().chain(&self.stops).chain(stops).copied().collect();
        let options = wcet_flow::context::Options { stops, ..wcet_flow::context::Options::default() };
        wcet_flow::context::expand_inside(graph, chain, &options)
            .map_err(|errors| errors.iter().map(|error| Error::Flow(error.to_string())).collect())
    }
}
