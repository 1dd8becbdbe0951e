//! Automata that run beside the driver in a check: the subprotocol that is checked, and others that the check takes for
//! granted because it needs what they say of the client.

use crate::program::{Message, Op, Step};
use protocol::automaton::Automaton;
use protocol::decompose::{choose, Decomposition, Purpose, Subprotocol};
use protocol::minimise::minimise;
use protocol::Checked;
use std::collections::BTreeSet;

/// Stands for the whole protocol among its parts.
pub const WHOLE: usize = usize::MAX;

/// The protocols of a driver, with their subprotocols.
pub struct Protocols {
    pub all: Vec<Checked>,
    pub parts: Vec<Decomposition>,
    /// Protocols are taken for granted whole, if they are small.
    pub grants_whole: bool,
}

impl Protocols {
    /// Without decomposition each protocol is its only part.
    pub fn new(all: Vec<Checked>, decompose: bool, grants_whole: bool) -> Self {
        let whole = |checked: &Checked| {
            let automaton = minimise(&checked.flat.automaton);
            let purposes = Purpose::all(&automaton).into_iter().filter(|one| !one.is_free(&automaton)).collect();
            let alphabet = (0..automaton.letters.len()).collect();
            Decomposition { subprotocols: vec![Subprotocol { alphabet, automaton, purposes }], free: Vec::new() }
        };
        let parts = all
            .iter()
            .map(|checked| if decompose { choose(&checked.flat.automaton) } else { whole(checked) })
            .collect();
        Protocols { all, parts, grants_whole }
    }

    pub fn automaton(&self, protocol: usize) -> &Automaton {
        &self.all[protocol].flat.automaton
    }

    pub fn label(&self, (protocol, message): Message) -> String {
        self.automaton(protocol).letters[message].label()
    }

    pub fn part(&self, protocol: usize, part: usize) -> &Subprotocol {
        &self.parts[protocol].subprotocols[part]
    }

    pub fn title(&self, protocol: usize, part: usize) -> String {
        if part == WHOLE {
            return "(whole)".to_string();
        }
        let one = self.part(protocol, part);
        if one.alphabet.len() == self.automaton(protocol).letters.len() && self.parts[protocol].subprotocols.len() == 1
        {
            return "(whole)".to_string();
        }
        one.title(self.automaton(protocol))
    }

    pub fn component(&self, protocol: usize, part: usize) -> Component {
        let one = self.part(protocol, part);
        let mut letter_of = vec![None; self.automaton(protocol).letters.len()];
        for (letter, message) in one.alphabet.iter().enumerate() {
            letter_of[*message] = Some(letter);
        }
        Component { protocol, part, automaton: one.automaton.clone(), alphabet: one.alphabet.clone(), letter_of }
    }

    /// The whole protocol, as it is written.
    pub fn whole(&self, protocol: usize) -> Component {
        let automaton = self.automaton(protocol).clone();
        let alphabet: Vec<usize> = (0..automaton.letters.len()).collect();
        let letter_of = alphabet.iter().copied().map(Some).collect();
        Component { protocol, part: WHOLE, automaton, alphabet, letter_of }
    }

    /// Parts of a protocol that serve a purpose.
    pub fn serving(&self, protocol: usize, wanted: impl Fn(&Purpose) -> bool) -> Vec<usize> {
        let parts = self.parts[protocol].subprotocols.iter().enumerate();
        parts.filter(|(_, part)| part.purposes.iter().any(&wanted)).map(|(index, _)| index).collect()
    }
}

#[derive(Debug, Clone)]
pub struct Component {
    pub protocol: usize,
    pub part: usize,
    pub automaton: Automaton,
    pub alphabet: Vec<usize>,
    letter_of: Vec<Option<usize>>,
}

/// What a message does to a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It does not concern it.
    Same,
    To(usize),
    Illegal,
}

impl Component {
    /// Final is where the caller says, and nothing else is marked; equivalent states are merged.
    pub fn mark(&mut self, is_final: impl Fn(usize) -> bool) {
        for (index, state) in self.automaton.states.iter_mut().enumerate() {
            (state.is_final, state.timed, state.fair) = (is_final(index), BTreeSet::new(), BTreeSet::new());
        }
        self.automaton = minimise(&self.automaton);
    }

    pub fn next(&self, state: usize, message: Message) -> Next {
        if message.0 != self.protocol {
            return Next::Same;
        }
        match self.letter_of[message.1] {
            None => Next::Same,
            Some(letter) => self.automaton.states[state].next[letter].map_or(Next::Illegal, Next::To),
        }
    }

    /// Its state after some steps, if it allows them.
    pub fn after(&self, steps: &[&Step]) -> Option<usize> {
        let mut state = 0;
        for step in steps {
            let (Op::Emit(message) | Op::Receive(message)) = step.op else { continue };
            match self.next(state, message) {
                Next::To(next) => state = next,
                Next::Same => {}
                Next::Illegal => return None,
            }
        }
        Some(state)
    }

    pub fn concerns(&self, message: Message) -> bool {
        message.0 == self.protocol && self.letter_of[message.1].is_some()
    }

    pub fn enables(&self, state: usize, message: Message) -> bool {
        !matches!(self.next(state, message), Next::Illegal)
    }

    /// The promises of a state.
    pub fn promises(&self, state: usize) -> impl Iterator<Item = BTreeSet<Message>> + '_ {
        self.automaton.states[state]
            .fair
            .iter()
            .map(|promise| promise.iter().map(|letter| (self.protocol, self.alphabet[*letter])).collect())
    }

    /// Whether an AWAIT for these messages ends because of a promise of the state.
    pub fn covers(&self, state: usize, messages: &BTreeSet<Message>) -> bool {
        self.promises(state).any(|promise| promise.is_subset(messages))
    }
}
