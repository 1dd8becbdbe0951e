//! One region: its values, its loops, its bound.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use wcet_binary::lift::il::Register;
use wcet_binary::load::Program;
use wcet_flow::context::{EdgeId, EdgeKind, Expanded, LoopId, NodeId};
use wcet_hardware::machine::Machine;
use wcet_paths::ipet::{Bound, Constraints, Options, Prepared, Total};
use wcet_values::{Base, Values};

use crate::call_chains::Chain;
use crate::continuations::{elsewhere, undecided, undecided_from_start, ways, Continuation};
use crate::critical_sections::{holding, taken_without, Holding, Taken};
use crate::description::Whom;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::line_names::{stack_pointer, Named};
use crate::lock_paths::Paths;
use crate::loops::{loops, reached, Known, LoopFound};
use crate::points::End;
use crate::regions::{dead, Kind, Region};
use crate::service::{apart, contradicted, into_parking, into_service, left_out};
use crate::stack::HANDLER;

/// Instructions of a region that are executed one by one before loops are described as a whole: regions are many.
const STEPS: u64 = 200_000;

/// What a function returns.
const ANSWER: &str = "RAX";

/// What is known of a region.
#[derive(Debug, Clone, Default)]
pub struct Analysed {
    pub nodes: usize,
    pub wcet_cycles: Option<u64>,
    /// Cycles of the worst path by function, callees apart.
    pub functions: BTreeMap<String, u64>,
    /// The same by chain of calls, the outermost function first, with how often the last of them is called.
    pub calls: BTreeMap<Vec<u64>, Call>,
    pub loops: Vec<LoopFound>,
    pub errors: Vec<String>,
    /// What the analysis of values takes for granted.
    pub assumptions: BTreeSet<String>,
    /// Most locks taken on any path, for each of which there may be a wait.
    pub locks: Option<u64>,
    /// What it does with locks; None if that is not known, for these reasons.
    pub holding: Option<Holding>,
    pub unknown_locks: Vec<String>,
    /// Where it goes on.
    pub ways: BTreeSet<Continuation>,
    /// What it takes at most to where it asks whether an interrupt waits; 0 if it does not ask.
    pub asking_cycles: u64,
    /// Of a region behind such a question: what it is if the answer was that one waits.
    pub told: Option<Told>,
    /// Whether an interrupt is served.
    pub serves: bool,
    /// Where interrupts are let in behind one that was served, before it is decided who runs.
    pub undecided: BTreeSet<Continuation>,
    /// Of a region in which interrupts that came in a window are served: what it is if there was none.
    pub unserved: Option<Unserved>,
    /// By the number of the interrupts in the description: what a region costs if it serves one of these, for a handler that has
    /// time left. Empty if nothing is known of them apart.
    pub serving: BTreeMap<usize, Serving>,
    pub times: Times,
}

/// A region when it serves certain interrupts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Serving {
    pub wcet_cycles: u64,
    /// Where other interrupts are let in behind it, before it is decided who runs.
    pub undecided: BTreeSet<Continuation>,
    /// How often it takes locks at most.
    pub taken: Taken,
    /// Which of them on one path.
    pub paths: Paths,
}

/// A region that begins with the answer that an interrupt waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    pub wcet_cycles: u64,
    /// How often it takes locks at most.
    pub taken: Taken,
    /// Which of them on one path.
    pub paths: Paths,
    /// Where it goes on.
    pub ways: BTreeSet<Continuation>,
}

/// A region behind a window in which no interrupt came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unserved {
    pub wcet_cycles: u64,
    /// Up to where another thread is switched to; None if that does not happen.
    pub switch_cycles: Option<u64>,
    /// How often it takes locks at most.
    pub taken: Taken,
    /// Which of them on one path.
    pub paths: Paths,
    /// Where it goes on.
    pub ways: BTreeSet<Continuation>,
    /// Where interrupts are let in before it is decided who runs.
    pub undecided: BTreeSet<Continuation>,
}

/// A function as it is called by one chain of calls, on a worst path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Call {
    /// Executions of its first block, or of the one where the region begins.
    pub times: u64,
    /// Callees apart.
    pub cycles: u64,
}

/// Seconds that stages took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub values: f64,
    pub costs: f64,
    pub path: f64,
}

/// What is known where a graph is entered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub registers: BTreeMap<Register, (u64, u64)>,
    /// How far below the end of its stack the stack pointer is, if that is known.
    pub below: Option<u64>,
    /// The number of the system call.
    pub numbers: Option<(u64, u64)>,
    /// It leads on into handlers, which begin with an empty stack.
    pub handlers: bool,
    /// How far behind the registers of its thread the stack pointer is.
    pub frame: Option<u64>,
    /// The stack pointer is a multiple of the first, a line, plus the second, and nothing else is known of it.
    pub rest: Option<(u64, u64)>,
    /// The mark stands there which says that who runs must be decided.
    pub marked: bool,
    /// A thread was woken that is to run next.
    pub woken: bool,
}

/// What is behind a handler's first instruction.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    pub chain: Chain,
    pub entry: Entry,
}

/// Bounds a region.
pub fn analyse(kernel: &Kernel<'_>, region: &Region, machine: &Machine) -> Result<Analysed, Vec<Error>> {
    let (first, rests) = begin(kernel, region, machine)?;
    let rests: Result<_, _> = rests.iter().map(|rest| handler(kernel, region, rest, machine)).collect();
    Ok(finish(first, rests?))
}

/// Bounds a region up to handlers. Entries go to a fresh stack before they call those: what comes before is a part of its own,
/// and hands on what it knows of registers.
pub(crate) fn begin(
    kernel: &Kernel<'_>,
    region: &Region,
    machine: &Machine,
) -> Result<(Analysed, Vec<Rest>), Vec<Error>> {
    let mut analysed = Analysed::default();
    let enters = matches!(region.kind, Kind::SystemCall | Kind::Exception | Kind::Interrupt);
    let stops = if enters { kernel.handlers.clone() } else { BTreeSet::new() };
    let first = region.expand(&kernel.graph, &kernel.points, &region.chain, &stops)?;
    // That it interrupts a program is what the region is: what interrupts the kernel is another one.
    let entry = Entry { below: region.below, frame: kernel.interrupted(region), ..Entry::default() };
    let values = part(kernel, region, &first, &entry, machine, &stops, &mut analysed);
    let handled = first.exits.iter().filter(|node| stops.contains(&first.block(**node).start()));
    let mut rests = Vec::new();
    for &node in handled.filter(|node| values.reached(**node)) {
        let registers = known(kernel, &values, node);
        let entry = Entry { registers, below: Some(HANDLER), numbers: region.numbers, ..Entry::default() };
        rests.push(Rest { chain: chain(&first, node), entry });
    }
    Ok((analysed, rests))
}

/// Registers that hold plain numbers before a node, the stack pointer apart.
pub(crate) fn known(kernel: &Kernel<'_>, values: &Values, node: NodeId) -> BTreeMap<Register, (u64, u64)> {
    let registers = kernel.lifter.registers();
    let known = registers.all().filter(|register| *register != registers.stack_pointer()).filter_map(|register| {
        let range = values.register(node, register).filter(|range| range.base == Base::Zero)?;
        (range.low <= range.high && range.size == 8).then_some((register, (range.low, range.high)))
    });
    known.collect()
}

/// Bounds what is behind a handler's first instruction.
pub(crate) fn handler(
    kernel: &Kernel<'_>,
    region: &Region,
    rest: &Rest,
    machine: &Machine,
) -> Result<Analysed, Vec<Error>> {
    let mut analysed = Analysed::default();
    let expanded = region.expand(&kernel.graph, &kernel.points, &rest.chain, &BTreeSet::new())?;
    part(kernel, region, &expanded, &rest.entry, machine, &BTreeSet::new(), &mut analysed);
    Ok(analysed)
}

/// A region whose handlers are bounded, of which one is called.
pub(crate) fn finish(first: Analysed, rests: Vec<Analysed>) -> Analysed {
    match rests.into_iter().reduce(Analysed::longer) {
        Some(rest) => first.then(rest),
        None => first,
    }
}

impl Analysed {
    /// One way or the other.
    fn longer(mut self, mut other: Analysed) -> Analysed {
        let cycles = self.wcet_cycles.zip(other.wcet_cycles);
        let theirs = cycles.is_none() || cycles.is_some_and(|(mine, theirs)| theirs > mine);
        if theirs {
            std::mem::swap(&mut self.functions, &mut other.functions);
            std::mem::swap(&mut self.calls, &mut other.calls);
        }
        let shorter = if theirs { &mut self.loops } else { &mut other.loops };
        shorter.iter_mut().for_each(|one| (one.times, one.cycles) = (0, 0));
        self.wcet_cycles = cycles.map(|(mine, theirs)| mine.max(theirs));
        self.asking_cycles = self.asking_cycles.max(other.asking_cycles);
        self.locks = self.locks.zip(other.locks).map(|(mine, theirs)| mine.max(theirs));
        self.holding = self.holding.take().zip(other.holding.take()).map(|(mine, theirs)| mine.or(theirs));
        // Of two ways no more is known than all they cost.
        self.serving.clear();
        other.serving.clear();
        self.with(other)
    }

    /// One after the other.
    fn then(mut self, mut other: Analysed) -> Analysed {
        self.serving.clear();
        for serving in other.serving.values_mut() {
            serving.wcet_cycles = serving.wcet_cycles.saturating_add(self.wcet_cycles.unwrap_or(u64::MAX));
        }
        if other.asking_cycles > 0 {
            let before = self.wcet_cycles.unwrap_or(u64::MAX);
            self.asking_cycles = self.asking_cycles.max(other.asking_cycles.saturating_add(before));
        }
        self.wcet_cycles = self.wcet_cycles.zip(other.wcet_cycles).map(|(mine, theirs)| mine + theirs);
        self.locks = self.locks.zip(other.locks).map(|(mine, theirs)| mine + theirs);
        self.holding = self.holding.take().zip(other.holding.take()).map(|(mine, theirs)| mine.then(theirs));
        for (name, cycles) in std::mem::take(&mut other.functions) {
            *self.functions.entry(name).or_default() += cycles;
        }
        for (chain, call) in std::mem::take(&mut other.calls) {
            let one = self.calls.entry(chain).or_default();
            (one.times, one.cycles) = (one.times + call.times, one.cycles + call.cycles);
        }
        self.with(other)
    }

    fn with(mut self, other: Analysed) -> Analysed {
        self.nodes += other.nodes;
        self.loops.extend(other.loops);
        self.ways.extend(other.ways);
        self.undecided.extend(other.undecided);
        self.told = self.told.take().or(other.told);
        self.serves |= other.serves;
        self.serving.extend(other.serving);
        self.unserved = self.unserved.take().or(other.unserved);
        self.errors.extend(other.errors);
        self.unknown_locks.extend(other.unknown_locks);
        self.assumptions.extend(other.assumptions);
        self.times.values += other.times.values;
        self.times.costs += other.times.costs;
        self.times.path += other.times.path;
        self
    }
}

/// The calls that led to a node, and its block.
pub fn chain(expanded: &Expanded<'_>, node: NodeId) -> Vec<(u64, usize)> {
    let mut link = Some((expanded.nodes[node].context, expanded.nodes[node].block));
    let mut chain = Vec::new();
    while let Some((context, block)) = link {
        chain.insert(0, (expanded.contexts[context].function, block));
        link = expanded.contexts[context].caller;
    }
    chain
}

/// Values of one graph.
pub(crate) fn values(kernel: &Kernel<'_>, expanded: &Expanded<'_>, entry: &Entry) -> Values {
    let number = kernel.points.number.zip(entry.numbers);
    let mut own = kernel.own(entry.frame);
    if let Some((own, described)) = own.as_mut().zip(kernel.description.own.as_ref()).filter(|_| entry.marked) {
        own.at_entry.insert(described.mark, 1);
    }
    let mut given: BTreeMap<u64, (Register, (u64, u64))> =
        number.map(|((address, register), range)| (address, (register, range))).into_iter().collect();
    if entry.woken {
        given.extend(told_of_woken(kernel, expanded));
    }
    let options = wcet_values::Options {
        registers: entry.registers.clone(),
        given,
        stack_pointer: if entry.handlers { Some(HANDLER) } else { entry.below }.map(stack_pointer),
        fresh: if entry.handlers { kernel.handlers.clone() } else { BTreeSet::new() },
        shared: kernel.shared.clone(),
        own,
        stack_rest: entry.rest,
        switches: kernel.points.called.keys().copied().collect(),
        steps: STEPS,
        blocks: Rc::clone(&kernel.blocks),
        ..wcet_values::Options::default()
    };
    wcet_values::analyse(kernel.lifter.program(), expanded, &options)
}

/// An address, and what a register holds there: from the first number to the last.
type Returned = (u64, (Register, (u64, u64)));

/// Behind which calls it is known that a thread was woken which is to run next, and the answer.
fn told_of_woken(kernel: &Kernel<'_>, expanded: &Expanded<'_>) -> Vec<Returned> {
    let Some(((woken, last), answer)) = kernel.points.woken.zip(kernel.lifter.registers().named(ANSWER)) else {
        return Vec::new();
    };
    let from_it = |node: NodeId| expanded.contexts[expanded.nodes[node].context].function == woken;
    let returns = expanded.edges.iter().filter(|edge| edge.kind == EdgeKind::Return && from_it(edge.from));
    returns.map(|edge| (expanded.block(edge.to).start(), (answer, (0, last)))).collect()
}

/// Edges that are not taken if a thread was woken which is to run next, beyond those that never are.
fn if_woken(kernel: &Kernel<'_>, expanded: &Expanded<'_>, entry: &Entry) -> BTreeSet<EdgeId> {
    let asks = kernel.points.woken.is_some_and(|(woken, _)| expanded.contexts.iter().any(|one| one.function == woken));
    if !asks {
        return BTreeSet::new();
    }
    values(kernel, expanded, &Entry { woken: true, ..entry.clone() }).dead().clone()
}

/// Bounds what is one graph; at some places another goes on.
fn part(
    kernel: &Kernel<'_>,
    region: &Region,
    expanded: &Expanded<'_>,
    entry: &Entry,
    machine: &Machine,
    goes_on: &BTreeSet<u64>,
    analysed: &mut Analysed,
) -> Values {
    let program = kernel.lifter.program();
    let began = Instant::now();
    let values = values(kernel, expanded, entry);
    analysed.assumptions.extend(values.assumptions().iter().cloned());
    let mut dead = dead(expanded, &kernel.points);
    dead.extend(values.dead());
    if let Some(interrupt) = region.interrupt {
        dead.extend(left_out(kernel, expanded, &[interrupt]).into_values().flatten());
        analysed.errors.extend(contradicted(kernel, expanded, &values, interrupt).map(|node| {
            format!(
                "{}: an interrupt is served here whose vector is none of its entry in the table",
                expanded.place(node)
            )
        }));
    }
    analysed.nodes = expanded.nodes.len();
    analysed.ways.extend(ways(kernel, expanded, &dead, goes_on));
    let serves_here = matches!(region.kind, Kind::Interrupt | Kind::Window | Kind::Idle) && goes_on.is_empty();
    let not_if_woken = if serves_here { if_woken(kernel, expanded, entry) } else { BTreeSet::new() };
    analysed.undecided.extend(undecided(kernel, expanded, &(&dead | &not_if_woken)));
    analysed.serves |=
        kernel.points.serves.is_some_and(|serves| expanded.contexts.iter().any(|one| one.function == serves));
    let found = loops(kernel, expanded, &values, &dead);
    analysed.times.values = began.elapsed().as_secs_f64();
    let bounds: BTreeMap<LoopId, u64> = found.iter().filter_map(|one| Some((one.loop_id, one.bound?))).collect();
    let total = |one: &Known| {
        let (outer, headers) = one.total?;
        Some(Total { inner: one.loop_id, outer, headers })
    };
    let constraints =
        Constraints { dead: dead.clone(), totals: found.iter().filter_map(total).collect(), ..Constraints::default() };
    let targets = Named::new(kernel, expanded, &values, machine);
    let mut path = Vec::new();
    let began = Instant::now();
    match Prepared::new(program, expanded, machine, &bounds, &targets, &dead) {
        Ok(prepared) => {
            analysed.times.costs = began.elapsed().as_secs_f64();
            let began = Instant::now();
            match prepared.bound(&constraints, &Options::default()) {
                Ok(bound) => {
                    analysed.wcet_cycles = Some(bound.wcet_cycles);
                    if analysed.ways.iter().any(|way| matches!(way, Continuation::On(End::Pending, _))) {
                        let mut asking = constraints.clone();
                        asking.dead.extend(elsewhere(kernel, expanded, End::Pending));
                        let asked = prepared.bound(&asking, &Options::default()).map(|one| one.wcet_cycles);
                        analysed.asking_cycles = asked.unwrap_or(bound.wcet_cycles);
                    }
                    analysed.functions = functions(expanded, program, &bound);
                    analysed.calls = calls(expanded, &bound);
                    path = bound.path;
                }
                Err(errors) => analysed.errors.extend(errors.iter().map(ToString::to_string)),
            }
            // Entries lead to the handlers that serve.
            let mut not_taken = BTreeMap::new();
            if let Some(interrupt) = region.interrupt.filter(|_| goes_on.is_empty()) {
                not_taken = apart(kernel, expanded, &values, &[interrupt]);
            }
            if matches!(region.kind, Kind::Window | Kind::Idle) {
                let all: Vec<usize> = kernel.services.keys().copied().collect();
                not_taken = apart(kernel, expanded, &values, &all);
            }
            for (interrupt, edges) in &mut not_taken {
                if kernel.description.vectors.interrupts[*interrupt].has_handler() {
                    edges.extend(&not_if_woken);
                }
            }
            analysed.serving = serving(kernel, expanded, &prepared, &constraints, &not_taken);
            if matches!(region.kind, Kind::Window | Kind::Idle) {
                analysed.unserved = unserved(kernel, expanded, entry, &prepared, &constraints);
            }
            let told = (region.kind == Kind::Pending).then(|| told(kernel, expanded, entry, &prepared, &constraints));
            let (told, not_told) = told.flatten().unzip();
            analysed.told = told;
            analysed.locks =
                prepared.executions(&constraints, |node| takes_lock(kernel, expanded, node)).ok().flatten();
            match holding(kernel, expanded, &values, &prepared, &constraints) {
                Ok(holding) => {
                    for (interrupt, serving) in &mut analysed.serving {
                        let left_out = &not_taken[interrupt];
                        (serving.taken, serving.paths) =
                            taken_without(kernel, expanded, &values, &constraints, left_out, &holding.taken);
                    }
                    if let Some(unserved) = &mut analysed.unserved {
                        let left_out = into_service(kernel, expanded);
                        (unserved.taken, unserved.paths) =
                            taken_without(kernel, expanded, &values, &constraints, &left_out, &holding.taken);
                    }
                    if let Some((told, left_out)) = analysed.told.as_mut().zip(not_told) {
                        (told.taken, told.paths) =
                            taken_without(kernel, expanded, &values, &constraints, &left_out, &holding.taken);
                    }
                    analysed.holding = Some(holding);
                }
                Err(reasons) => analysed.unknown_locks.extend(reasons),
            }
            analysed.times.path = began.elapsed().as_secs_f64();
        }
        Err(errors) => analysed.errors.extend(errors.iter().map(ToString::to_string)),
    }
    let live = reached(expanded, &dead);
    let live = found.iter().filter(|one| live[expanded.loops[one.loop_id].header]);
    analysed.loops.extend(live.map(|one| LoopFound::of(expanded, one, &path)));
    values
}

/// What a region costs if a certain interrupt is served in it, of all those of which something is known: by the interrupt, the
/// edges that are not taken then.
fn serving(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    prepared: &Prepared<'_, '_>,
    constraints: &Constraints,
    not_taken: &BTreeMap<usize, BTreeSet<EdgeId>>,
) -> BTreeMap<usize, Serving> {
    let one = |(interrupt, not_taken): (&usize, &BTreeSet<EdgeId>)| {
        let mut constraints = constraints.clone();
        constraints.dead.extend(not_taken);
        constraints.dead.extend(into_parking(kernel, expanded, *interrupt));
        let wcet_cycles = prepared.bound(&constraints, &Options::default()).ok()?.wcet_cycles;
        let undecided = undecided(kernel, expanded, &constraints.dead);
        Some((*interrupt, Serving { wcet_cycles, undecided, ..Serving::default() }))
    };
    not_taken.iter().filter_map(one).collect()
}

/// What a region is that begins with the answer that an interrupt waits, and the edges that are not taken then; None if that
/// has no bound.
fn told(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    entry: &Entry,
    prepared: &Prepared<'_, '_>,
    constraints: &Constraints,
) -> Option<(Told, BTreeSet<EdgeId>)> {
    let mut entry = entry.clone();
    entry.registers.extend(kernel.lifter.registers().named(ANSWER).map(|answer| (answer, (1, 1))));
    let left_out = values(kernel, expanded, &entry).dead().clone();
    let mut constraints = constraints.clone();
    constraints.dead.extend(left_out.iter().copied());
    let wcet_cycles = prepared.bound(&constraints, &Options::default()).ok()?.wcet_cycles;
    let ways = ways(kernel, expanded, &constraints.dead, &BTreeSet::new());
    Some((Told { wcet_cycles, ways, ..Told::default() }, left_out))
}

/// What a region is in which no interrupt is served; None if that has no bound.
fn unserved(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    entry: &Entry,
    prepared: &Prepared<'_, '_>,
    constraints: &Constraints,
) -> Option<Unserved> {
    let mut constraints = constraints.clone();
    constraints.dead.extend(into_service(kernel, expanded));
    let wcet_cycles = prepared.bound(&constraints, &Options::default()).ok()?.wcet_cycles;
    let ways = ways(kernel, expanded, &constraints.dead, &BTreeSet::new());
    // The interrupt that was served before has made a thread ready that must run.
    let marked = Entry { marked: true, woken: true, ..entry.clone() };
    let mut switching = constraints.clone();
    switching.dead.extend(values(kernel, expanded, &marked).dead());
    let undecided = switching.dead.clone();
    switching.dead.extend(elsewhere(kernel, expanded, End::Switch));
    let switch_cycles = ways.iter().any(|way| matches!(way, Continuation::Switch(_))).then(|| {
        let bound = prepared.bound(&switching, &Options::default());
        bound.map_or(wcet_cycles, |bound| bound.wcet_cycles)
    });
    Some(Unserved {
        wcet_cycles,
        switch_cycles,
        taken: Taken::new(),
        paths: Paths::default(),
        ways,
        undecided: undecided_from_start(kernel, expanded, &undecided),
    })
}

/// Whether a node begins a wait for a lock.
fn takes_lock(kernel: &Kernel<'_>, expanded: &Expanded<'_>, node: NodeId) -> bool {
    let function = expanded.contexts[expanded.nodes[node].context].function;
    let waits = kernel.waits.get(&function).is_some_and(|(whom, _)| *whom == Whom::Lock);
    waits && expanded.block(node).start() == function
}

/// Cycles of the worst path by function.
fn functions(expanded: &Expanded<'_>, program: &Program, bound: &Bound) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for visit in &bound.path {
        let function = expanded.contexts[expanded.nodes[visit.node].context].function;
        *found.entry(program.describe(function)).or_default() += visit.cycles;
    }
    *found.entry("first misses".to_string()).or_default() += bound.first_misses.values().sum::<u64>();
    found
}

/// Cycles of the worst path by chain of calls.
fn calls(expanded: &Expanded<'_>, bound: &Bound) -> BTreeMap<Vec<u64>, Call> {
    let mut found: BTreeMap<Vec<u64>, Call> = BTreeMap::new();
    for visit in &bound.path {
        let context = expanded.nodes[visit.node].context;
        let links =
            std::iter::successors(Some(context), |one| expanded.contexts[*one].caller.map(|(caller, _)| caller));
        let mut chain: Vec<u64> = links.map(|one| expanded.contexts[one].function).collect();
        chain.reverse();
        let first = visit.node == expanded.entry || expanded.nodes[visit.node].block == 0;
        let call = found.entry(chain).or_default();
        call.times += if first { visit.count } else { 0 };
        call.cycles = call.cycles.saturating_add(visit.cycles);
    }
    found
}
