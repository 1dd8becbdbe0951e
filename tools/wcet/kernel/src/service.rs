//! What the service of an interrupt leaves out, by its vector.
//!
//! A window lets any interrupt in, so the code behind it is the service of all of them. For the response to one interrupt only
//! the branches count that its vector takes: they are found in the service alone, in any state but for its argument, and so hold
//! wherever it is called.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wcet_flow::context::{EdgeId, Expanded, NodeId};
use wcet_values::{Base, Values};

use crate::call_chains::Chain;
use crate::context_free::STEPS;
use crate::continuations::serves_in;
use crate::description::Interrupt;
use crate::kernel::Kernel;
use crate::loops::{entered_within, reached};

/// A branch by its ends: each is a chain of calls from the service on.
pub type Branch = (Chain, Chain);

/// The first argument of a function.
const ARGUMENT: &str = "RDI";

/// Branches that the service of these interrupts never takes. None are known if it is not described who serves.
pub fn never_taken(kernel: &Kernel<'_>, interrupt: &Interrupt) -> BTreeSet<Branch> {
    let stretches = interrupt.stretches();
    let all = stretches.into_iter().map(|(first, last)| of_stretch(kernel, first, last));
    all.reduce(|some, others| &some & &others).unwrap_or_default()
}

fn of_stretch(kernel: &Kernel<'_>, first: u64, last: u64) -> BTreeSet<Branch> {
    let argument = kernel.lifter.registers().named(ARGUMENT);
    let Some((serves, argument)) = kernel.points.serves.zip(argument) else { return BTreeSet::new() };
    let stops: BTreeSet<u64> = kernel.points.ends.keys().copied().collect();
    let options = wcet_flow::context::Options { stops, ..wcet_flow::context::Options::default() };
    let Ok(expanded) = wcet_flow::context::expand(&kernel.graph, serves, &options) else { return BTreeSet::new() };
    let options = wcet_values::Options {
        registers: [(argument, (first, last))].into(),
        shared: kernel.shared.clone(),
        switches: kernel.points.called.keys().copied().collect(),
        steps: STEPS,
        blocks: Rc::clone(&kernel.blocks),
        ..wcet_values::Options::default()
    };
    let values = wcet_values::analyse(kernel.lifter.program(), &expanded, &options);
    let live = reached(&expanded, values.dead());
    let places = Places::new(kernel, &expanded);
    // Behind them nothing is reached: the rest need not be told.
    let first = values.dead().iter().filter(|edge| live[expanded.edges[**edge].from]);
    first.filter_map(|edge| places.branch(&expanded, *edge)).collect()
}

/// Edges of a graph that the service of certain interrupts never takes, by their number in the description.
pub(crate) fn left_out(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    interrupts: &[usize],
) -> BTreeMap<usize, BTreeSet<EdgeId>> {
    let mut found: BTreeMap<usize, BTreeSet<EdgeId>> = interrupts.iter().map(|one| (*one, BTreeSet::new())).collect();
    let services = interrupts.iter().filter_map(|one| Some((one, kernel.services.get(one)?)));
    let services: Vec<(&usize, &BTreeSet<Branch>)> = services.filter(|(_, branches)| !branches.is_empty()).collect();
    if services.is_empty() {
        return found;
    }
    let places = Places::new(kernel, expanded);
    for edge in 0..expanded.edges.len() {
        let Some(branch) = places.branch(expanded, edge) else { continue };
        for (interrupt, _) in services.iter().filter(|(_, branches)| branches.contains(&branch)) {
            found.entry(**interrupt).or_default().insert(edge);
        }
    }
    found
}

/// Edges that are not taken where one of certain interrupts is served, by its number.
pub(crate) fn apart(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    values: &Values,
    interrupts: &[usize],
) -> BTreeMap<usize, BTreeSet<EdgeId>> {
    let mut found = left_out(kernel, expanded, interrupts);
    let without = without_service(kernel, expanded);
    for (interrupt, edges) in &mut found {
        edges.extend(&without);
        edges.extend(services_of_others(kernel, expanded, values, *interrupt));
    }
    found
}

/// Edges into a service whose vector is none of these interrupts.
fn services_of_others(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    values: &Values,
    interrupt: usize,
) -> BTreeSet<EdgeId> {
    let Some((serves, argument)) = kernel.points.serves.zip(kernel.lifter.registers().named(ARGUMENT)) else {
        return BTreeSet::new();
    };
    let interrupt = &kernel.description.vectors.interrupts[interrupt];
    let others = |node: &NodeId| {
        let one = expanded.nodes[*node];
        let begins = one.block == 0 && expanded.contexts[one.context].function == serves;
        let range = values.register(*node, argument).filter(|range| begins && range.base == Base::Zero);
        range.is_some_and(|range| {
            range.low <= range.high && (range.high < interrupt.first || interrupt.last < range.low)
        })
    };
    let begin = expanded.order().filter(others);
    begin.flat_map(|node| expanded.predecessors(node)).copied().collect()
}

/// Edges that lead into a service: they are not taken where no interrupt is served.
pub(crate) fn into_service(kernel: &Kernel<'_>, expanded: &Expanded<'_>) -> BTreeSet<EdgeId> {
    let Some(serves) = kernel.points.serves else { return BTreeSet::new() };
    let serves = |node: NodeId| serves_in(expanded, expanded.nodes[node].context, serves);
    let into = |edge: &EdgeId| !serves(expanded.edges[*edge].from) && serves(expanded.edges[*edge].to);
    (0..expanded.edges.len()).filter(into).collect()
}

/// Edges by which the service of these interrupts keeps a woken thread that has no time left, or lets it share the processor with
/// what runs: that is not their handler, or there is no response to ask for. Alarms end slices and budgets too, so that a slice
/// may begin in their service whichever thread is woken.
pub(crate) fn into_waiting(kernel: &Kernel<'_>, expanded: &Expanded<'_>, interrupt: usize) -> BTreeSet<EdgeId> {
    let Some(serves) = kernel.points.serves else { return BTreeSet::new() };
    let described = &kernel.description.vectors.interrupts[interrupt];
    if !described.has_handler() {
        return BTreeSet::new();
    }
    let waits = [kernel.points.parks, kernel.points.shares.filter(|_| !described.alarms)];
    let begins = |node: NodeId| {
        let one = expanded.nodes[node];
        one.block == 0 && waits.contains(&Some(expanded.contexts[one.context].function))
    };
    let calls = |edge: &EdgeId| {
        let edge = expanded.edges[*edge];
        begins(edge.to) && serves_in(expanded, expanded.nodes[edge.from].context, serves)
    };
    (0..expanded.edges.len()).filter(calls).collect()
}

/// Edges by which a graph comes to no service at all: of what follows a window in which nothing was to be served.
fn without_service(kernel: &Kernel<'_>, expanded: &Expanded<'_>) -> BTreeSet<EdgeId> {
    let Some(serves) = kernel.points.serves else { return BTreeSet::new() };
    let contexts: Vec<bool> = (0..expanded.contexts.len()).map(|one| serves_in(expanded, one, serves)).collect();
    let serving: Vec<NodeId> = expanded.order().filter(|node| contexts[expanded.nodes[*node].context]).collect();
    if serving.is_empty() {
        return BTreeSet::new();
    }
    let spread = |next: fn(&Expanded<'_>, NodeId) -> Vec<NodeId>| {
        let mut seen = vec![false; expanded.nodes.len()];
        let mut open = serving.clone();
        serving.iter().for_each(|node| seen[*node] = true);
        while let Some(node) = open.pop() {
            for to in next(expanded, node) {
                if !std::mem::replace(&mut seen[to], true) {
                    open.push(to);
                }
            }
        }
        seen
    };
    let after = spread(|all, node| all.successors(node).iter().map(|edge| all.edges[*edge].to).collect());
    let before = spread(|all, node| all.predecessors(node).iter().map(|edge| all.edges[*edge].from).collect());
    let avoids = |edge: &EdgeId| {
        let edge = expanded.edges[*edge];
        !after[edge.from] && !before[edge.to]
    };
    (0..expanded.edges.len()).filter(avoids).collect()
}

/// That the service gets a vector which is none of these interrupts contradicts the description; where that is.
pub(crate) fn contradicted(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    values: &Values,
    interrupt: usize,
) -> Option<NodeId> {
    let interrupt = &kernel.description.vectors.interrupts[interrupt];
    let (serves, argument) = kernel.points.serves.zip(kernel.lifter.registers().named(ARGUMENT))?;
    let begins = |node: &NodeId| {
        let one = expanded.nodes[*node];
        one.block == 0 && expanded.contexts[one.context].function == serves && values.reached(*node)
    };
    let differs = |node: &NodeId| {
        let range =
            values.register(*node, argument).filter(|range| range.base == Base::Zero && range.low <= range.high);
        range.is_some_and(|range| range.low < interrupt.first || range.high > interrupt.last)
    };
    expanded.order().filter(begins).find(differs)
}

/// The nodes of a graph that belong to the service.
struct Places {
    /// Of each context, the chain of calls from the service to it.
    ways: Vec<Option<Chain>>,
}

impl Places {
    fn new(kernel: &Kernel<'_>, expanded: &Expanded<'_>) -> Places {
        let within = entered_within(expanded);
        let mut ways: Vec<Option<Chain>> = Vec::new();
        for (number, context) in expanded.contexts.iter().enumerate() {
            let way = if Some(context.function) == kernel.points.serves && !within.contains(&number) {
                Some(Chain::new())
            } else {
                context.caller.and_then(|(caller, block)| {
                    let mut way = ways.get(caller)?.clone()?;
                    way.push((expanded.contexts[caller].function, block));
                    Some(way)
                })
            };
            ways.push(way);
        }
        Places { ways }
    }

    fn of(&self, expanded: &Expanded<'_>, node: NodeId) -> Option<Chain> {
        let one = expanded.nodes[node];
        let mut way = self.ways[one.context].clone()?;
        way.push((expanded.contexts[one.context].function, one.block));
        Some(way)
    }

    fn branch(&self, expanded: &Expanded<'_>, edge: EdgeId) -> Option<Branch> {
        let edge = expanded.edges[edge];
        Some((self.of(expanded, edge.from)?, self.of(expanded, edge.to)?))
    }
}
