//! One region: its loops and its bound.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use wcet_binary::load::Program;
use wcet_flow::context::{Expanded, LoopId, NodeId};
use wcet_hardware::machine::Machine;
use wcet_paths::ipet::{Bound, Constraints, Options, Prepared, Total};
use wcet_values::Values;

use crate::analysed::{Analysed, Call};
use crate::call_chains::Chain;
use crate::continuations::{elsewhere, undecided, ways, Continuation};
use crate::critical_sections::{holding, taken_without};
use crate::description::Whom;
use crate::entry::{if_woken, known, values, Entry};
use crate::error::Error;
use crate::just_before::{before_handler, before_region, Step};
use crate::kernel::Kernel;
use crate::line_names::Named;
use crate::loops::{loops, reached, Known, LoopFound};
use crate::points::End;
use crate::regions::{dead, Kind, Region};
use crate::service::{apart, contradicted, into_service, left_out};
use crate::stack::HANDLER;
use crate::variants::{serving, told, unserved};

/// What is behind a handler's first instruction.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    pub chain: Chain,
    pub entry: Entry,
    /// What was executed just before.
    pub before: Vec<Step>,
}

/// Bounds a region.
pub fn analyse(kernel: &Kernel<'_>, region: &Region, machine: &Machine) -> Result<Analysed, Vec<Error>> {
    // An interrupt comes wherever the stack is: each place in a line is a case of its own, of which one is so.
    if let (Kind::Inside, None) = (region.kind, region.below) {
        let places = (0..machine.line()).step_by(8).map(|rest| Some((machine.line(), rest)));
        let all: Result<Vec<_>, _> = places.map(|rest| begin(kernel, region, machine, rest)).collect();
        return Ok(all?.into_iter().map(|(one, _)| one).reduce(Analysed::longer).unwrap_or_default());
    }
    let (first, rests) = begin(kernel, region, machine, None)?;
    let rests: Result<_, _> = rests.iter().map(|rest| handler(kernel, region, rest, machine)).collect();
    Ok(finish(first, rests?))
}

/// Bounds a region up to handlers. Entries go to a fresh stack before they call those: what comes before is a part of its own,
/// and hands on what it knows of registers.
pub(crate) fn begin(
    kernel: &Kernel<'_>,
    region: &Region,
    machine: &Machine,
    rest: Option<(u64, u64)>,
) -> Result<(Analysed, Vec<Rest>), Vec<Error>> {
    let mut analysed = Analysed::default();
    let enters = matches!(region.kind, Kind::SystemCall | Kind::Exception | Kind::Interrupt);
    let stops = if enters { kernel.handlers.clone() } else { BTreeSet::new() };
    let first = region.expand(&kernel.graph, &kernel.points, &region.chain, &stops)?;
    // That it interrupts a program is what the region is: what interrupts the kernel is another one.
    let entry = Entry { below: region.below, frame: kernel.interrupted(region), rest, ..Entry::default() };
    let before = before_region(kernel, region);
    let values = part(kernel, region, &first, (&entry, &before), machine, &stops, &mut analysed);
    let handled = first.exits.iter().filter(|node| stops.contains(&first.block(**node).start()));
    let mut rests = Vec::new();
    for &node in handled.filter(|node| values.reached(**node)) {
        let registers = known(kernel, &values, node);
        let entry = Entry { registers, below: Some(HANDLER), numbers: region.numbers, ..Entry::default() };
        rests.push(Rest { chain: chain(&first, node), entry, before: before_handler(&first, node) });
    }
    Ok((analysed, rests))
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
    part(kernel, region, &expanded, (&rest.entry, &rest.before), machine, &BTreeSet::new(), &mut analysed);
    Ok(analysed)
}

/// A region whose handlers are bounded, of which one is called.
pub(crate) fn finish(first: Analysed, rests: Vec<Analysed>) -> Analysed {
    match rests.into_iter().reduce(Analysed::longer) {
        Some(rest) => first.then(rest),
        None => first,
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

/// Bounds what is one graph; at some places another goes on.
fn part(
    kernel: &Kernel<'_>,
    region: &Region,
    expanded: &Expanded<'_>,
    (entry, before): (&Entry, &[Step]),
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
    let targets = Named::new(kernel, expanded, &values, machine, before);
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
                    if analysed.ways.iter().any(|way| matches!(way, Continuation::On(End::Guest, _))) {
                        let mut entering = constraints.clone();
                        entering.dead.extend(elsewhere(kernel, expanded, End::Guest));
                        let entered = prepared.bound(&entering, &Options::default()).map(|one| one.wcet_cycles);
                        analysed.entering_cycles = entered.unwrap_or(bound.wcet_cycles);
                    }
                    analysed.functions = functions(expanded, program, &bound);
                    analysed.calls = calls(expanded, &bound);
                    analysed.code = code(expanded, &bound);
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

/// Whether a node begins a wait for a lock.
fn takes_lock(kernel: &Kernel<'_>, expanded: &Expanded<'_>, node: NodeId) -> bool {
    let function = expanded.contexts[expanded.nodes[node].context].function;
    let waits = kernel.waits.get(&function).is_some_and(|(whom, _)| *whom == Whom::Lock);
    waits && expanded.block(node).start() == function
}

/// The instructions of the worst path: first address and the one behind of each.
pub(crate) fn code(expanded: &Expanded<'_>, bound: &Bound) -> BTreeSet<(u64, u64)> {
    let all = bound.path.iter().flat_map(|visit| expanded.instructions(visit.node));
    all.map(|one| (one.address, one.next())).collect()
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
