//! What the service of an interrupt leaves out, by its vector.
//!
//! A window lets any interrupt in, so the code behind it is the service of all of them. For the response to one interrupt only
//! the branches count that its vector takes: they are found in the service alone, in any state but for its argument, and so hold
//! wherever it is called.

use std::collections::BTreeSet;

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
        ..wcet_values::Options::default()
    };
    let values = wcet_values::analyse(kernel.lifter.program(), &expanded, &options);
    let live = reached(&expanded, values.dead());
    let places = Places::new(kernel, &expanded);
    // Behind them nothing is reached: the rest need not be told.
    let first = values.dead().iter().filter(|edge| live[expanded.edges[**edge].from]);
    first.filter_map(|edge| places.branch(&expanded, *edge)).collect()
}

/// Edges of a graph that the service of these interrupts, by their number in the description, never takes.
pub(crate) fn left_out(kernel: &Kernel<'_>, expanded: &Expanded<'_>, interrupt: usize) -> BTreeSet<EdgeId> {
    let Some(branches) = kernel.services.get(&interrupt).filter(|branches| !branches.is_empty()) else {
        return BTreeSet::new();
    };
    let places = Places::new(kernel, expanded);
    let never = |edge: &EdgeId| places.branch(expanded, *edge).is_some_and(|branch| branches.contains(&branch));
    (0..expanded.edges.len()).filter(never).collect()
}

/// Edges that lead into a service: they are not taken where no interrupt is served.
pub(crate) fn into_service(kernel: &Kernel<'_>, expanded: &Expanded<'_>) -> BTreeSet<EdgeId> {
    let Some(serves) = kernel.points.serves else { return BTreeSet::new() };
    let serves = |node: NodeId| serves_in(expanded, expanded.nodes[node].context, serves);
    let into = |edge: &EdgeId| !serves(expanded.edges[*edge].from) && serves(expanded.edges[*edge].to);
    (0..expanded.edges.len()).filter(into).collect()
}

/// Edges by which the service of these interrupts keeps a woken thread that has no time left: that is not their handler, or
/// there is no response to ask for.
pub(crate) fn into_parking(kernel: &Kernel<'_>, expanded: &Expanded<'_>, interrupt: usize) -> BTreeSet<EdgeId> {
    let Some((serves, parks)) = kernel.points.serves.zip(kernel.points.parks) else { return BTreeSet::new() };
    let wakes = &kernel.description.vectors.interrupts[interrupt].wakes;
    if wakes.as_ref().is_some_and(Vec::is_empty) {
        return BTreeSet::new();
    }
    let begins = |node: NodeId| {
        let one = expanded.nodes[node];
        one.block == 0 && expanded.contexts[one.context].function == parks
    };
    let calls = |edge: &EdgeId| {
        let edge = expanded.edges[*edge];
        begins(edge.to) && serves_in(expanded, expanded.nodes[edge.from].context, serves)
    };
    (0..expanded.edges.len()).filter(calls).collect()
}

/// Edges by which a graph comes to no service at all: of what follows a window in which nothing was to be served.
pub(crate) fn without_service(kernel: &Kernel<'_>, expanded: &Expanded<'_>) -> BTreeSet<EdgeId> {
    let Some(serves) = kernel.points.serves else { return BTreeSet::new() };
    let serves = |node: NodeId| serves_in(expanded, expanded.nodes[node].context, serves);
    let serving: Vec<NodeId> = expanded.order().filter(|node| serves(*node)).collect();
    if serving.is_empty() {
        return BTreeSet::new();
    }
    let spread = |mut open: Vec<NodeId>, next: &dyn Fn(NodeId) -> Vec<NodeId>| {
        let mut seen: BTreeSet<NodeId> = open.iter().copied().collect();
        while let Some(node) = open.pop() {
            open.extend(next(node).into_iter().filter(|to| seen.insert(*to)));
        }
        seen
    };
    let after = spread(serving.clone(), &|node| {
        expanded.successors(node).iter().map(|edge| expanded.edges[*edge].to).collect()
    });
    let before =
        spread(serving, &|node| expanded.predecessors(node).iter().map(|edge| expanded.edges[*edge].from).collect());
    let avoids = |edge: &EdgeId| {
        let edge = expanded.edges[*edge];
        !after.contains(&edge.from) && !before.contains(&edge.to)
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
