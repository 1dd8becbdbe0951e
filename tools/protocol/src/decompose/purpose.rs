//! What a subprotocol is there for: a property of the protocol's state that can be read off its own state.

use crate::automaton::Automaton;
use crate::model::MessageId;
use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Whether the message is enabled.
    Message(MessageId),
    /// Whether the timed mark is on.
    Timed(usize),
    /// Whether the state promises that one of these incoming messages comes.
    Fair(BTreeSet<MessageId>),
    /// Whether the state is final.
    Final,
}

impl Purpose {
    /// Everything that a decomposition of the protocol has to say.
    pub fn all(protocol: &Automaton) -> Vec<Purpose> {
        let promises: BTreeSet<BTreeSet<MessageId>> =
            protocol.states.iter().flat_map(|state| state.fair.iter().cloned()).collect();
        let messages = (0..protocol.letters.len()).map(Purpose::Message);
        let timed = (0..protocol.timed.len()).map(Purpose::Timed);
        messages.chain(timed).chain(promises.into_iter().map(Purpose::Fair)).chain([Purpose::Final]).collect()
    }

    pub fn holds(&self, protocol: &Automaton, state: usize) -> bool {
        let own = &protocol.states[state];
        match self {
            Purpose::Message(message) => own.next[*message].is_some(),
            Purpose::Timed(mark) => own.timed.contains(mark),
            Purpose::Fair(promise) => own.fair.contains(promise),
            Purpose::Final => own.is_final,
        }
    }

    /// Whether it needs no subprotocol: a message that the driver may send in every state, or if every state is
    /// final. An incoming message that is enabled in every state is never refused, but has to be waited for.
    pub fn is_free(&self, protocol: &Automaton) -> bool {
        let may_be = match self {
            Purpose::Message(message) => !protocol.letters[*message].incoming,
            Purpose::Final => true,
            Purpose::Timed(_) | Purpose::Fair(_) => false,
        };
        may_be && (0..protocol.states.len()).all(|state| self.holds(protocol, state))
    }

    /// Messages that the alphabet must have.
    pub fn required(&self) -> BTreeSet<MessageId> {
        match self {
            Purpose::Message(message) => BTreeSet::from([*message]),
            Purpose::Fair(promise) => promise.clone(),
            Purpose::Timed(_) | Purpose::Final => BTreeSet::new(),
        }
    }

    /// Whether several subprotocols may serve it together, each refusing some of the states where it does not hold.
    pub fn is_shared(&self, protocol: &Automaton) -> bool {
        match self {
            Purpose::Message(message) => !protocol.letters[*message].incoming,
            Purpose::Final => true,
            Purpose::Timed(_) | Purpose::Fair(_) => false,
        }
    }

    /// For people, as `!probe_ok` or `timed Probing`.
    pub fn title(&self, protocol: &Automaton) -> String {
        match self {
            Purpose::Message(message) => protocol.letters[*message].label(),
            Purpose::Timed(mark) => format!("timed {}", protocol.timed[*mark]),
            Purpose::Fair(promise) => {
                let names: Vec<&str> = promise.iter().map(|message| protocol.letters[*message].name.as_str()).collect();
                format!("fair {}", names.join("/"))
            }
            Purpose::Final => "final".to_string(),
        }
    }
}
