//! How a loop's variables change from one iteration to the next, and how often the loop can run for that.
//!
//! At the header some symbols stand for another value in each iteration. What the back edge brings for such a symbol,
//! written in terms of the header's symbols, is its recurrence: `P + 4`, `P >> 1`, `P & (P - 1)` (`variable.rs`). Each
//! comparison that must hold for the loop to go on (`necessary_comparisons.rs`), of a linear variable with something that stays the same or
//! comes closer (`solve.rs`), or of what an operation soon takes to an end (`geometric.rs`), gives a limit for the exit where
//! it is made (`exit.rs`). An exit that every iteration passes gives a bound; so do several, one of which every iteration
//! passes, in the iteration from which on one of them is always taken. The smallest counts.

use std::collections::{BTreeSet, HashSet};

use wcet_flow::context::{EdgeKind, LoopId, NodeId};

use crate::execute::{Engine, Watched};
use crate::exit::{bound, Limit};
use crate::record;
use crate::state::State;
use crate::values::{Counter, Run};
use crate::variable::variables;

/// Bounds from here on only tell how wide a register is.
const HOPELESS: u128 = 1 << 31;

/// A bound on the iterations of a loop from an invariant: `header` is the state at the header, `back` at the back edge.
pub(crate) fn infer(
    engine: &Engine<'_>,
    one: LoopId,
    entry: &State,
    header: &State,
    phis: &HashSet<u64>,
    back: Option<&State>,
    watched: &[Watched],
) -> Run {
    let mut run = Run::default();
    let Some(back) = back else {
        run.most = Some(1);
        return run;
    };
    let variables = variables(engine, entry, header, phis, back);
    run.counters = variables
        .iter()
        .map(|one| Counter {
            place: one.place.clone(),
            first: record::range(one.first.0, &one.first.1),
            all: {
                let (root, set) = header.range(&one.header);
                record::range(root, &set)
            },
            step: one.step,
        })
        .collect();
    let mut reasons = Vec::new();
    let mut passed = Vec::new();
    for exit in watched {
        let from = engine.expanded.edges[exit.edge].from;
        // Once an iteration only: not inside an inner loop.
        if engine.expanded.innermost(from) != Some(one) {
            continue;
        }
        // Where the branch leads back, the loop is left if it is not taken.
        let leaves = !engine.expanded.inside(engine.expanded.edges[exit.edge].to, one);
        let stays = if leaves { !exit.truth } else { exit.truth };
        // Only if no way on is open to the other truth.
        let ways = engine.expanded.successors(from).iter().map(|edge| engine.expanded.edges[*edge]);
        let mut inside = ways.filter(|way| engine.expanded.inside(way.to, one));
        if inside.any(|way| (way.kind != EdgeKind::Next) != stays) {
            continue;
        }
        let always = are_passed_always(engine, one, &[from]);
        match bound(engine, exit, stays, (header, back), &variables, phis) {
            Ok(limits) => {
                let most = limits.iter().map(|limit| limit.most).min();
                if most.is_some_and(|most| u128::from(most) >= HOPELESS) {
                    reasons.push(("the counter may run through all its values".to_string(), None));
                    continue;
                }
                if let Some(most) = most.filter(|_| always) {
                    run.most = Some(run.most.map_or(most, |known| known.min(most)));
                }
                passed.push((exit.edge, leaves, limits));
            }
            Err(reason) if always => reasons.push(reason),
            Err(_) => {}
        }
    }
    // Or each iteration passes one exit or another, and none of them can be passed by any more from some iteration on.
    let every: BTreeSet<u64> = passed.iter().flat_map(|(.., limits)| limits).map(|limit| limit.most).collect();
    for last in every.into_iter().filter(|last| run.most.is_none_or(|most| *last < most)) {
        let holds = |limit: &Limit| limit.most <= last && last <= limit.lasts;
        let closed = passed.iter().filter(|(.., limits)| limits.iter().any(holds));
        let nodes: Vec<NodeId> = closed.map(|(edge, ..)| engine.expanded.edges[*edge].from).collect();
        if are_passed_always(engine, one, &nodes) {
            run.most = Some(last);
            break;
        }
    }
    if let Some(most) = run.most {
        let leave =
            passed.iter().filter(|(_, leaves, limits)| *leaves && limits.iter().any(|limit| limit.most <= most));
        run.exits.extend(leave.map(|(edge, ..)| (*edge, 1, most)));
    }
    if run.most.is_none() {
        let exits = engine.expanded.loops[one].nodes.iter().flat_map(|node| engine.expanded.successors(*node));
        let leaves = exits.into_iter().any(|edge| !engine.expanded.inside(engine.expanded.edges[*edge].to, one));
        let leaves = leaves || engine.shapes[one].ends;
        let (reason, least) = reasons.into_iter().next().unwrap_or_else(|| {
            let reason = if leaves {
                "no exit that every iteration passes depends on a counter"
            } else {
                "nothing leads out of it"
            };
            (reason.to_string(), None)
        });
        run.reason = Some(reason);
        run.least = least;
    }
    run
}

/// Whether every iteration that comes back to the header passes one of these nodes.
fn are_passed_always(engine: &Engine<'_>, one: LoopId, nodes: &[NodeId]) -> bool {
    let header = engine.expanded.loops[one].header;
    if nodes.contains(&header) {
        return true;
    }
    let mut seen = HashSet::from([header]);
    let mut open = vec![header];
    while let Some(at) = open.pop() {
        for edge in engine.expanded.successors(at) {
            let to = engine.expanded.edges[*edge].to;
            if to == header {
                return false;
            }
            if !nodes.contains(&to) && engine.expanded.inside(to, one) && seen.insert(to) {
                open.push(to);
            }
        }
    }
    true
}
