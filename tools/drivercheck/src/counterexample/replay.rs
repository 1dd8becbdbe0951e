//! A run's messages, replayed on the protocols as they are: the automata of the run-time monitor's tables.
//!
//! A checker that looks at a few subprotocols lets the client send more than the protocols allow. What it finds counts only
//! if the whole protocols agree: the client keeps to them all, and the driver breaks the rule in question.

use crate::program::{Await, Message, Op, Step};
use crate::rules::component::{Component, Next, Protocols};

/// A message of the run: its step, and the states of its protocol before and after.
#[derive(Debug, Clone)]
pub struct Moment {
    pub step: usize,
    pub message: Message,
    pub before: usize,
    /// None: it is not enabled.
    pub after: Option<usize>,
}

#[derive(Debug, Clone)]
pub struct Replay {
    pub moments: Vec<Moment>,
    /// By protocol, the state at the end.
    pub states: Vec<usize>,
    /// The message that is not enabled, where the replay ended.
    pub refused: Option<(usize, Message)>,
    /// After each step, the state of each protocol, then how many requests of each kind are open.
    pub history: Vec<Vec<usize>>,
}

pub fn replay(protocols: &Protocols, steps: &[&Step]) -> Replay {
    let mut states = vec![0; protocols.all.len()];
    let (mut moments, mut history) = (Vec::new(), Vec::new());
    let all = (0..protocols.all.len()).flat_map(|one| protocols.requests(one));
    let mut requests: Vec<(Component, usize)> = all.map(|one| (one, 0)).collect();
    for (index, step) in steps.iter().enumerate() {
        if let Op::Emit(message) | Op::Receive(message) = step.op {
            let before = states[message.0];
            let mut after = protocols.automaton(message.0).states[before].next[message.1];
            for (component, state) in &mut requests {
                match component.next(*state, message) {
                    Next::To(to) => *state = to,
                    Next::Illegal => after = None,
                    Next::Same => {}
                }
            }
            moments.push(Moment { step: index, message, before, after });
            match after {
                Some(after) => states[message.0] = after,
                None => return Replay { moments, states, refused: Some((index, message)), history },
            }
        }
        history.push(states.iter().chain(requests.iter().map(|(_, open)| open)).copied().collect());
    }
    Replay { moments, states, refused: None, history }
}

/// The first message that one protocol refuses, whatever the others do.
pub fn refused_by(protocols: &Protocols, steps: &[&Step], protocol: usize) -> Option<(usize, Message)> {
    let is_own = |step: &Step| match step.op {
        Op::Emit(message) | Op::Receive(message) => message.0 == protocol,
        _ => false,
    };
    let own: Vec<usize> = (0..steps.len()).filter(|index| is_own(steps[*index])).collect();
    let (at, message) = replay(protocols, &own.iter().map(|index| steps[*index]).collect::<Vec<_>>()).refused?;
    Some((own[at], message))
}

/// Protocols, with the promise, because of which an AWAIT ends.
pub fn covering(
    protocols: &Protocols,
    states: &[usize],
    wait: &Await,
) -> Vec<(usize, std::collections::BTreeSet<usize>)> {
    let mut found = Vec::new();
    for (protocol, state) in states.iter().enumerate() {
        for promise in &protocols.automaton(protocol).states[*state].fair {
            if promise.iter().all(|message| wait.messages.contains(&(protocol, *message))) {
                found.push((protocol, promise.clone()));
            }
        }
    }
    found
}
