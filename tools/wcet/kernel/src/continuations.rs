//! Continuations of a region: what follows its ends, and whether the next thread is chosen before.

use std::collections::BTreeSet;

use wcet_binary::lift::il::{AddressForm, Flow};
use wcet_flow::context::{ContextId, EdgeId, Expanded, NodeId};

use crate::bound::chain;
use crate::call_chains::{behind, Chain};
use crate::kernel::Kernel;
use crate::loops::reached;
use crate::points::End;
use crate::regions::switched;

/// A way out of a region.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Continuation {
    /// Into the thread's program, or back to what an interrupt came upon.
    Out,
    /// To another thread; where that is done.
    Switch(Chain),
    /// On in the same thread; where the next region begins.
    On(End, Chain),
}

/// The ways out of a graph, without dead edges. Nodes at which another graph goes on are none.
pub(crate) fn ways(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    dead: &BTreeSet<EdgeId>,
    goes_on: &BTreeSet<u64>,
) -> BTreeSet<Continuation> {
    let (live, switched) = (reached(expanded, dead), switched(expanded, &kernel.points));
    let mut found = BTreeSet::new();
    let ends = expanded.exits.iter().filter(|node| live[**node] && !goes_on.contains(&expanded.block(**node).start()));
    for &node in ends {
        // The function in which the region begins returns by a call of its last instruction.
        let returns = matches!(expanded.block(node).last().flow, Flow::Return { .. });
        let other = returns && end(kernel, expanded, node).is_none();
        if !(other && switched.contains(&expanded.nodes[node].context)) {
            found.extend(way(kernel, expanded, node));
        }
    }
    found
}

fn way(kernel: &Kernel<'_>, expanded: &Expanded<'_>, node: NodeId) -> Vec<Continuation> {
    let mut place = chain(expanded, node);
    match end(kernel, expanded, node) {
        None => vec![Continuation::Out],
        Some(End::Run) => Vec::new(),
        Some(End::Switch) => vec![Continuation::Switch(place)],
        Some(End::Pending) => {
            let asked = place.pop().map(|(function, _)| function);
            let next = asked.and_then(|function| behind(&kernel.graph, &place, function));
            next.map(|next| Continuation::On(End::Pending, next)).into_iter().collect()
        }
        Some(end) => {
            let Some((function, _)) = place.pop() else { return Vec::new() };
            let blocks = kernel.graph.functions[&function].blocks.iter().enumerate();
            let behind = blocks.filter(|(_, block)| kernel.points.behind.get(&block.start()) == Some(&end));
            let on = |(block, _)| Continuation::On(end, place.iter().copied().chain([(function, block)]).collect());
            behind.map(on).collect()
        }
    }
}

/// Edges to the ends of a graph that are not of this kind.
pub(crate) fn elsewhere(kernel: &Kernel<'_>, expanded: &Expanded<'_>, kind: End) -> BTreeSet<EdgeId> {
    let others = expanded.exits.iter().filter(|node| end(kernel, expanded, **node) != Some(kind));
    others.flat_map(|node| expanded.predecessors(*node)).copied().collect()
}

fn end(kernel: &Kernel<'_>, expanded: &Expanded<'_>, node: NodeId) -> Option<End> {
    kernel.points.ends.get(&expanded.instructions(node).last()?.address).copied()
}

/// Where interrupts are let in, or asked for, behind the service of one, before another thread is switched to. Nothing, if the
/// kernel's description does not say who serves and where the mark is.
pub(crate) fn undecided(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    dead: &BTreeSet<EdgeId>,
) -> BTreeSet<Continuation> {
    let Some(serves) = kernel.points.serves else { return BTreeSet::new() };
    let serving: Vec<bool> = (0..expanded.contexts.len()).map(|one| serves_in(expanded, one, serves)).collect();
    let live = reached(expanded, dead);
    let served = |node: &NodeId| live[*node] && serving[expanded.nodes[*node].context];
    let looks = false; // it may be put off, although the mark was looked at
    before_decision(kernel, expanded, dead, expanded.order().filter(served).collect(), looks)
}

/// The same from the beginning of a graph on, if no interrupt is served in it, up to where the mark is looked at which says that
/// who runs must be decided. `unserved` are the edges that cannot be taken then.
pub(crate) fn undecided_from_start(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    unserved: &BTreeSet<EdgeId>,
) -> BTreeSet<Continuation> {
    before_decision(kernel, expanded, unserved, [expanded.entry].into(), true)
}

/// Where interrupts are let in behind these nodes, before the mark is looked at if that decides.
fn before_decision(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    dead: &BTreeSet<EdgeId>,
    from: BTreeSet<NodeId>,
    decides: bool,
) -> BTreeSet<Continuation> {
    let Some(mark) = kernel.description.own.as_ref().map(|own| own.mark) else { return BTreeSet::new() };
    let segment = kernel.lifter.registers().named("GS_OFFSET");
    let place = AddressForm::Known { base: None, index: None, displacement: mark as i64, segment };
    let looks = |node: NodeId| {
        let mut all = expanded.instructions(node).iter().flat_map(|one| &one.accesses);
        decides && all.any(|access| access.read && access.address == place)
    };
    // Within the service it is too early to look.
    let serving = |node: NodeId| {
        kernel.points.serves.is_some_and(|serves| serves_in(expanded, expanded.nodes[node].context, serves))
    };
    let mut open: Vec<NodeId> = from.iter().copied().filter(|node| serving(*node) || !looks(*node)).collect();
    let mut seen: BTreeSet<NodeId> = open.iter().copied().collect();
    while let Some(node) = open.pop() {
        let edges = expanded.successors(node).iter().filter(|edge| !dead.contains(edge));
        let next = edges.map(|edge| expanded.edges[*edge].to).filter(|to| serving(*to) || !looks(*to));
        open.extend(next.filter(|to| seen.insert(*to)));
    }
    let lets_in = |node: &&NodeId| {
        matches!(end(kernel, expanded, **node), Some(End::Window | End::Pending | End::Idle | End::Guest))
    };
    let ends = expanded.exits.iter().filter(|node| seen.contains(node)).filter(lets_in);
    ends.flat_map(|node| way(kernel, expanded, *node)).collect()
}

pub(crate) fn serves_in(expanded: &Expanded<'_>, context: ContextId, serves: u64) -> bool {
    let callers = std::iter::successors(Some(context), |one| expanded.contexts[*one].caller.map(|(caller, _)| caller));
    callers.into_iter().any(|one| expanded.contexts[one].function == serves)
}
