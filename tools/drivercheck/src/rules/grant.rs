//! What a run that is none asks for: a state that was not tracked, or a guard or promise of the environment that was not granted.

use crate::abstraction::explore::Space;
use crate::counterexample::replay::{covering, refused_by, Replay};
use crate::program::{Message, Op, Step};
use crate::rules::component::{Component, Next, Protocols, WHOLE};
use crate::rules::safety::{Context, Goal, SMALL};
use protocol::decompose::Purpose;
use std::collections::BTreeSet;

/// Tracks the first component state on the path that was not tracked.
pub fn track(space: &mut Space, steps: &[&Step]) -> bool {
    for index in 0..space.components.len() {
        let mut state = 0;
        if space.abstracted(index, state) == crate::abstraction::explore::REST {
            space.tracked[index][state] = true;
            return true;
        }
        for step in steps {
            let (Op::Emit(message) | Op::Receive(message)) = step.op else { continue };
            match space.components[index].next(state, message) {
                Next::To(next) => state = next,
                Next::Same => {}
                Next::Illegal => break,
            }
            if space.abstracted(index, state) == crate::abstraction::explore::REST {
                space.tracked[index][state] = true;
                return true;
            }
        }
    }
    false
}

/// Grants the guard that the run breaks, or the promise because of which an AWAIT ends.
pub fn grant(context: &Context, goal: &Goal, space: &mut Space, steps: &[&Step], replayed: &Replay) -> bool {
    let protocols = context.protocols;
    if let Some((at, message)) = replayed.refused {
        return grant_guard(protocols, space, &steps[..at], message);
    }
    let (Goal::Wait(site) | Goal::WaitOf(site, _)) = goal else { return false };
    let covering = covering(protocols, &replayed.states, &context.program.awaits[*site]);
    for (protocol, promise) in covering.iter().filter(|(protocol, promise)| protocols.is_owed(*protocol, promise)) {
        if grant_promise(protocols, space, *protocol, promise) {
            return true;
        }
    }
    if matches!(goal, Goal::WaitOf(..)) {
        return false;
    }
    // A wait for what need never come: the states of all protocols matter.
    let missing = (0..protocols.all.len()).find(|protocol| !space.has(*protocol, WHOLE));
    missing.is_some_and(|protocol| {
        space.add(protocols.whole(protocol));
        true
    })
}

/// Grants a subprotocol that refuses the message after these steps.
pub fn grant_guard(protocols: &Protocols, space: &mut Space, before: &[&Step], message: Message) -> bool {
    let open = protocols.marks(message.0).into_iter().chain(protocols.requests(message.0));
    for component in open.filter(|one| !space.has(one.protocol, one.part)) {
        if refuses(&component, before, message) {
            space.add(component);
            return true;
        }
    }
    let guards = protocols.serving(message.0, |purpose| *purpose == Purpose::Message(message.1));
    let refusing = guards.into_iter().filter(|part| refuses(&protocols.component(message.0, *part), before, message));
    add_granted(protocols, space, message.0, refusing.collect())
}

/// Grants the protocol that the goal is about where it refuses a step before the last. Of a program with several clients this comes
/// first: what it knows of one client follows that one's protocol, and hardly anything else.
pub fn grant_own(context: &Context, space: &mut Space, steps: &[&Step]) -> bool {
    let (protocols, before) = (context.protocols, &steps[..steps.len() - 1]);
    let Some(protocol) = space.components.first().map(|own| own.protocol) else { return false };
    if context.program.client.is_none() || space.has(protocol, WHOLE) {
        return false;
    }
    let refused = refused_by(protocols, before, protocol);
    refused.is_some_and(|(at, message)| grant_guard(protocols, space, &before[..at], message))
}

pub fn grant_promise(protocols: &Protocols, space: &mut Space, protocol: usize, promise: &BTreeSet<usize>) -> bool {
    let serving = protocols.serving(protocol, |purpose| *purpose == Purpose::Fair(promise.clone()));
    add_granted(protocols, space, protocol, serving)
}

/// Adds one of these parts that is not there yet, or, of a small protocol, the whole: the product of parts has more states
/// than the whole, and each part costs a refinement.
fn add_granted(protocols: &Protocols, space: &mut Space, protocol: usize, parts: Vec<usize>) -> bool {
    if space.has(protocol, WHOLE) {
        return false;
    }
    let component = if protocols.grants_whole && protocols.automaton(protocol).states.len() <= SMALL {
        protocols.whole(protocol)
    } else {
        match parts.into_iter().find(|part| !space.has(protocol, *part)) {
            Some(part) => protocols.component(protocol, part),
            None => return false,
        }
    };
    space.add(component);
    true
}

fn refuses(component: &Component, before: &[&Step], message: Message) -> bool {
    let mut state = 0;
    for step in before {
        let (Op::Emit(one) | Op::Receive(one)) = step.op else { continue };
        match component.next(state, one) {
            Next::To(next) => state = next,
            Next::Same => {}
            Next::Illegal => return true,
        }
    }
    component.next(state, message) == Next::Illegal
}
