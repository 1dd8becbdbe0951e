//! Promises of the protocols that a cycle breaks: no run that keeps to the protocols follows it for ever.

use crate::abstraction::explore::Space;
use crate::counterexample::replay::Replay;
use crate::program::{Message, Op, Step};
use crate::rules::component::Protocols;
use crate::rules::grant::grant_promise;
use crate::rules::safety::Context;
use std::collections::BTreeSet;

/// A promise that the client breaks on the cycle: made throughout, waited for by every AWAIT, never kept.
pub fn broken_promise(
    context: &Context,
    replayed: &Replay,
    steps: &[&Step],
    first: usize,
) -> Option<(usize, BTreeSet<usize>)> {
    let protocols = context.protocols;
    let round = &steps[first..];
    if !round.iter().any(|step| matches!(step.op, Op::Await(_))) {
        return None;
    }
    (0..protocols.all.len()).find_map(|protocol| {
        let state = |index: usize| replayed.history[first + index][protocol];
        broken(context, protocol, round, &state).map(|promise| (protocol, promise))
    })
}

/// The promise of one protocol that these steps break, given its state behind each.
fn broken(
    context: &Context,
    protocol: usize,
    round: &[&Step],
    state: &dyn Fn(usize) -> usize,
) -> Option<BTreeSet<usize>> {
    let protocols = context.protocols;
    let fair = |index: usize| &protocols.automaton(protocol).states[state(index)].fair;
    let owed = fair(round.len() - 1).iter().filter(|promise| protocols.is_owed(protocol, promise));
    let mut broken = owed.filter(|promise| {
        let messages: BTreeSet<Message> = promise.iter().map(|message| (protocol, *message)).collect();
        round.iter().enumerate().all(|(index, step)| {
            fair(index).contains(*promise)
                && match step.op {
                    Op::Await(site) => messages.is_subset(&context.program.awaits[site].messages),
                    Op::Receive(message) => !messages.contains(&message),
                    _ => true,
                }
        })
    });
    broken.next().cloned()
}

/// Grants the promise of a protocol that the cycle breaks, if the protocol by itself allows the run. What leads to the cycle
/// may be impossible for reasons that are as long as the driver's start, and the cycle is unfair whatever leads to it.
pub fn grant_unfair(context: &Context, space: &mut Space, steps: &[&Step], stem: usize, cycle: usize) -> bool {
    let protocols = context.protocols;
    if !steps[stem..].iter().any(|step| matches!(step.op, Op::Await(_))) {
        return false;
    }
    (0..protocols.all.len()).any(|protocol| {
        let Some(history) = states_behind(protocols, protocol, steps) else { return false };
        let at = |turn: usize| (stem + turn * cycle).checked_sub(1).map(|step| history[step]);
        // Turns until the protocol comes back to a state.
        let turns = (steps.len() - stem) / cycle;
        let found = (0..turns).flat_map(|start| (start + 1..=turns).map(move |end| (start, end)));
        let Some((start, end)) = found.into_iter().find(|(start, end)| at(*start) == at(*end)) else { return false };
        let first = stem + start * cycle;
        let state = |index: usize| history[first + index];
        let promise = broken(context, protocol, &steps[first..stem + end * cycle], &state);
        promise.is_some_and(|promise| grant_promise(protocols, space, protocol, &promise))
    })
}

/// One protocol's state behind each step; none if it does not allow them.
fn states_behind(protocols: &Protocols, protocol: usize, steps: &[&Step]) -> Option<Vec<usize>> {
    let automaton = protocols.automaton(protocol);
    let mut state = 0;
    let after = |step: &&Step| {
        if let Op::Emit(message) | Op::Receive(message) = step.op {
            if message.0 == protocol {
                state = automaton.states[state].next[message.1]?;
            }
        }
        Some(state)
    };
    steps.iter().map(after).collect()
}
