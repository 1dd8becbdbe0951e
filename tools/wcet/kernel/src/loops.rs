//! The loops of a graph, with the best bound that is known of each.
//!
//! What the values of the region say comes first; what holds of the function wherever it is called (`context_free.rs`) next; what
//! the description states last, and only where nothing else is known.

use std::collections::BTreeSet;

use wcet_flow::context::{ContextId, EdgeId, Expanded};
use wcet_paths::ipet::Visit;
use wcet_paths::loop_bounds::LoopBound;
use wcet_values::Values;

use crate::description::Whom;
use crate::kernel::Kernel;

/// A loop in one of its contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopFound {
    /// Function and address of its header.
    pub function: String,
    pub address: u64,
    pub bound: Option<u64>,
    pub means: Means,
    pub evidence: String,
    pub reason: Option<String>,
    pub least: Option<String>,
    pub chain: String,
    /// On the worst path of its region: how often its header is executed, and the cycles of all that is in it.
    pub times: u64,
    pub cycles: u64,
}

/// How a bound is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Means {
    Inferred,
    ModelChecked,
    /// From a theorem that is proved of the function.
    Imported,
    /// The end is up to others; their time is a term of its own.
    Wait,
    /// A person says so.
    Stated,
}

/// What is known of a loop in one context.
pub(crate) struct Known {
    pub found: LoopBound,
    pub means: Means,
}

impl std::ops::Deref for Known {
    type Target = LoopBound;

    fn deref(&self) -> &LoopBound {
        &self.found
    }
}

/// Bounds of all loops of a graph, in their order.
pub(crate) fn loops(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    values: &Values,
    dead: &BTreeSet<EdgeId>,
) -> Vec<Known> {
    let live = reached(expanded, dead);
    let within = entered_within(expanded);
    let all = wcet_paths::loop_bounds::infer(kernel.lifter.program(), expanded, values);
    let one = |mut found: LoopBound| {
        let one = &expanded.loops[found.loop_id];
        let function = expanded.function(one.context);
        let mut means = Means::Inferred;
        if let Some((wait, looks)) = kernel.waits.get(&function.entry) {
            found.bound = Some(found.bound.unwrap_or(*looks).min(*looks));
            found.evidence = match wait {
                Whom::Lock => "a wait for a lock, whose time is a term of its own".to_string(),
                Whom::Processors => "a wait for other processors, whose time is a term of its own".to_string(),
                Whom::Device => format!("stated of the machine: at most {looks} looks"),
            };
            return Known { found, means: Means::Wait };
        }
        let goes_on = one.back.iter().any(|edge| live[expanded.edges[*edge].from] && !dead.contains(edge));
        // A loop that can go on executes its header twice at least: whatever says less is not believed.
        if goes_on && found.bound.is_some_and(|bound| bound < 2) {
            found.bound = None;
            found.reason = Some("a bound was found that the values of its last edge contradict".to_string());
        }
        if !goes_on && found.bound.is_none() {
            found.bound = Some(1);
            found.evidence = "no way back is ever taken before the region ends".to_string();
        }
        let place = (function.entry, one.index);
        let apart = kernel.apart.get(&place).filter(|_| !within.contains(&one.context));
        if let Some(apart) = apart.filter(|apart| found.bound.is_none_or(|bound| apart.bound < bound)) {
            (found.bound, found.evidence) = (Some(apart.bound), format!("{}, wherever it is called", apart.evidence));
            means = apart.means;
        }
        if let Some(stated) = kernel.stated.get(&place).filter(|_| found.bound.is_none()) {
            (found.bound, found.evidence) = (Some(stated.executes), stated.source.clone());
            means = if stated.theorem.is_some() { Means::Imported } else { Means::Stated };
        }
        Known { found, means }
    };
    all.into_iter().map(one).collect()
}

/// Contexts in which the region may have begun, so that they were not entered from the beginning of their function. What
/// looks like one counts as one.
pub(crate) fn entered_within(expanded: &Expanded<'_>) -> BTreeSet<ContextId> {
    let start = expanded.nodes[expanded.entry];
    let mut chain = Vec::new();
    let mut link = Some(start.context);
    while let Some(context) = link {
        chain.push((expanded.contexts[context].depth, expanded.contexts[context].function));
        link = expanded.contexts[context].caller.map(|(caller, _)| caller);
    }
    let begun = |context: &ContextId| {
        let one = &expanded.contexts[*context];
        let from_the_beginning = *context == start.context && start.block == 0;
        chain.contains(&(one.depth, one.function)) && !from_the_beginning
    };
    (0..expanded.contexts.len()).filter(begun).collect()
}

/// Nodes that the entry reaches.
pub(crate) fn reached(expanded: &Expanded<'_>, dead: &BTreeSet<EdgeId>) -> Vec<bool> {
    let mut reached = vec![false; expanded.nodes.len()];
    let mut open = vec![expanded.entry];
    reached[expanded.entry] = true;
    while let Some(node) = open.pop() {
        for edge in expanded.successors(node).iter().filter(|edge| !dead.contains(edge)) {
            let to = expanded.edges[*edge].to;
            if !std::mem::replace(&mut reached[to], true) {
                open.push(to);
            }
        }
    }
    reached
}

impl LoopFound {
    pub(crate) fn of(expanded: &Expanded<'_>, known: &Known, path: &[Visit]) -> LoopFound {
        let Known { found, means } = known;
        let one = &expanded.loops[found.loop_id];
        let within = || path.iter().filter(|visit| expanded.inside(visit.node, found.loop_id));
        let header = path.iter().find(|visit| visit.node == one.header);
        LoopFound {
            function: expanded.function(one.context).name.clone(),
            address: expanded.block(one.header).start(),
            bound: found.bound,
            means: *means,
            evidence: found.evidence.clone(),
            reason: found.reason.clone().filter(|_| found.bound.is_none()),
            least: found.least.clone().filter(|_| found.bound.is_none()),
            chain: expanded.chain(one.context).join(" > "),
            times: header.map_or(0, |visit| visit.count),
            cycles: within().fold(0, |sum, visit| sum.saturating_add(visit.cycles)),
        }
    }
}
