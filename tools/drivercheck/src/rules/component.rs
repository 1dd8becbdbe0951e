//! Automata in the product with the driver: the subprotocol that is checked, and those that the check assumes
//! because it needs their assumptions about the client.

use crate::program::{self, Op, Step};
use protocol::automaton::{Automaton, State};
use protocol::decompose::{choose, Decomposition, Purpose, Subprotocol};
use protocol::minimise::minimise;
use protocol::model::{Cookie, Message};
use protocol::Checked;
use std::collections::BTreeSet;

/// Stands for the whole protocol among its parts.
pub const WHOLE: usize = usize::MAX;

/// Stands for a request's component: this number less the number of the request.
const REQUESTS: usize = usize::MAX - 1;
/// ... whether one was opened of the first request.
const MARKS: usize = usize::MAX / 2;

/// Requests with at most this limit are counted.
const MOST_COUNTED: u64 = 32;

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

    /// The incoming messages of a protocol that are owed.
    pub fn owed(&self, protocol: usize) -> BTreeSet<program::Message> {
        let all = self.all[protocol].protocol.messages.iter().enumerate();
        all.filter(|(_, message)| message.is_owed).map(|(id, _)| (protocol, id)).collect()
    }

    /// Whether a promise has a message that is owed: only then one of its messages comes eventually.
    pub fn is_owed(&self, protocol: usize, promise: &BTreeSet<usize>) -> bool {
        promise.iter().any(|message| self.all[protocol].protocol.messages[*message].is_owed)
    }

    /// Whether nothing speaks against waiting for these messages without an end while a protocol is in a state: the state
    /// is not timed, and what it enables is waited for.
    pub fn may_wait(&self, protocol: usize, state: usize, messages: &BTreeSet<program::Message>) -> bool {
        let automaton = self.automaton(protocol);
        let all = automaton.inputs(state).into_iter().all(|input| messages.contains(&(protocol, input)));
        all && automaton.states[state].timed.is_empty()
    }

    pub fn label(&self, (protocol, message): program::Message) -> String {
        self.automaton(protocol).letters[message].label()
    }

    pub fn part(&self, protocol: usize, part: usize) -> &Subprotocol {
        &self.parts[protocol].subprotocols[part]
    }

    pub fn title(&self, protocol: usize, part: usize) -> String {
        if part == WHOLE {
            return "(whole)".to_string();
        }
        let named = |first: usize| self.all[protocol].protocol.requests.get(first.wrapping_sub(part));
        if let Some(request) = named(REQUESTS).or(named(MARKS)) {
            return format!("(open requests: {})", request.name);
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
        let owed = self.owed(protocol);
        Component { protocol, part, automaton: one.automaton.clone(), alphabet: one.alphabet.clone(), letter_of, owed }
    }

    /// The whole protocol, as it is written.
    pub fn whole(&self, protocol: usize) -> Component {
        let automaton = self.automaton(protocol).clone();
        let alphabet: Vec<usize> = (0..automaton.letters.len()).collect();
        let letter_of = alphabet.iter().copied().map(Some).collect();
        Component { protocol, part: WHOLE, automaton, alphabet, letter_of, owed: self.owed(protocol) }
    }

    /// An automaton for each request of a protocol: how many are open, of which the client opens no more than the limit and
    /// names none where there is none. A driver that closes what is not open breaks rule 6, which another check finds.
    /// Of a request with a high limit only this is tracked, and only if the client may name it: whether one was opened.
    pub fn requests(&self, protocol: usize) -> Vec<Component> {
        let requests = &self.all[protocol].protocol.requests;
        let is_tracked =
            |request: &usize| requests[*request].limit <= MOST_COUNTED || self.is_named(protocol, *request);
        let all = (0..requests.len()).filter(is_tracked);
        all.map(|request| self.request(protocol, request, requests[request].limit <= MOST_COUNTED)).collect()
    }

    /// The same of those that the client may name, with two states each: whether one was opened. It allows more.
    pub fn marks(&self, protocol: usize) -> Vec<Component> {
        let all = (0..self.all[protocol].protocol.requests.len()).filter(|one| self.is_named(protocol, *one));
        all.map(|request| Component { part: MARKS - request, ..self.request(protocol, request, false) }).collect()
    }

    fn is_named(&self, protocol: usize, request: usize) -> bool {
        let messages = &self.all[protocol].protocol.messages;
        messages.iter().any(|one| one.incoming && one.cookie == Some((Cookie::Names, request)))
    }

    fn request(&self, protocol: usize, request: usize, is_counted: bool) -> Component {
        let own = &self.all[protocol].protocol;
        let limit = own.requests[request].limit;
        let most = if is_counted { limit as usize } else { 1 };
        let matters = |one: &Message| {
            one.cookie.is_some_and(|(_, own)| own == request)
                || one.drops.contains(&request)
                || (one.incoming && one.drained.contains(&request))
        };
        let alphabet: Vec<usize> = (0..own.messages.len()).filter(|message| matters(&own.messages[*message])).collect();
        let mut letter_of = vec![None; own.messages.len()];
        alphabet.iter().enumerate().for_each(|(letter, message)| letter_of[*message] = Some(letter));
        let next = |message: usize, open: usize| match is_counted {
            true => counted(&own.messages[message], request, open, most),
            false => marked(&own.messages[message], request, open),
        };
        let state = |open: usize| State {
            name: open.to_string(),
            next: alphabet.iter().map(|message| next(*message, open)).collect(),
            ..State::default()
        };
        let letters = alphabet.iter().map(|message| self.automaton(protocol).letters[*message].clone()).collect();
        let automaton = Automaton { letters, states: (0..=most).map(state).collect(), timed: Vec::new() };
        Component { protocol, part: REQUESTS - request, automaton, alphabet, letter_of, owed: BTreeSet::new() }
    }

    /// A request of which some steps open more than they close.
    pub fn grows(&self, steps: &[&Step]) -> Option<&str> {
        for (protocol, checked) in self.all.iter().enumerate() {
            for (request, one) in checked.protocol.requests.iter().enumerate() {
                let count = |role: Cookie| {
                    let is_own = |step: &&&Step| match step.op {
                        Op::Emit(message) | Op::Receive(message) => {
                            message.0 == protocol
                                && checked.protocol.messages[message.1].cookie == Some((role, request))
                        }
                        _ => false,
                    };
                    steps.iter().filter(is_own).count()
                };
                let is_dropped = steps.iter().any(|step| match step.op {
                    Op::Emit(message) | Op::Receive(message) => {
                        message.0 == protocol && checked.protocol.messages[message.1].drops.contains(&request)
                    }
                    _ => false,
                });
                if !is_dropped && count(Cookie::Opens) > count(Cookie::Closes) {
                    return Some(&one.name);
                }
            }
        }
        None
    }

    /// Parts of a protocol that serve a purpose.
    pub fn serving(&self, protocol: usize, wanted: impl Fn(&Purpose) -> bool) -> Vec<usize> {
        let parts = self.parts[protocol].subprotocols.iter().enumerate();
        parts.filter(|(_, part)| part.purposes.iter().any(&wanted)).map(|(index, _)| index).collect()
    }
}

/// How many requests are open after a message, of so many at most; nothing if it cannot come.
fn counted(message: &Message, request: usize, open: usize, most: usize) -> Option<usize> {
    if message.incoming && open > 0 && message.drained.contains(&request) {
        return None;
    }
    if message.drops.contains(&request) {
        return Some(0);
    }
    match message.cookie.filter(|(_, own)| *own == request) {
        Some((Cookie::Opens, _)) if open == most => (!message.incoming).then_some(most),
        Some((Cookie::Opens, _)) => Some(open + 1),
        Some(_) if message.incoming && open == 0 => None,
        Some((Cookie::Closes, _)) => Some(open.saturating_sub(1)),
        _ => Some(open),
    }
}

/// Whether one was ever opened, and not dropped since, after a message; nothing if it cannot come.
fn marked(message: &Message, request: usize, open: usize) -> Option<usize> {
    if message.drops.contains(&request) {
        return Some(0);
    }
    match message.cookie.filter(|(_, own)| *own == request) {
        Some((Cookie::Opens, _)) => Some(1),
        Some((Cookie::Names, _)) if message.incoming && open == 0 => None,
        _ => Some(open),
    }
}

#[derive(Debug, Clone)]
pub struct Component {
    pub protocol: usize,
    pub part: usize,
    pub automaton: Automaton,
    pub alphabet: Vec<usize>,
    letter_of: Vec<Option<usize>>,
    /// Messages that come eventually where a promise names them.
    owed: BTreeSet<program::Message>,
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

    pub fn next(&self, state: usize, message: program::Message) -> Next {
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

    /// Whether a message never changes its state.
    pub fn leaves_alone(&self, message: program::Message) -> bool {
        let stays = |state: usize| match self.next(state, message) {
            Next::To(next) => next == state,
            Next::Same | Next::Illegal => true,
        };
        (0..self.automaton.states.len()).all(stays)
    }

    pub fn concerns(&self, message: program::Message) -> bool {
        message.0 == self.protocol && self.letter_of[message.1].is_some()
    }

    pub fn enables(&self, state: usize, message: program::Message) -> bool {
        !matches!(self.next(state, message), Next::Illegal)
    }

    /// The promises of a state.
    pub fn promises(&self, state: usize) -> impl Iterator<Item = BTreeSet<program::Message>> + '_ {
        self.automaton.states[state]
            .fair
            .iter()
            .map(|promise| promise.iter().map(|letter| (self.protocol, self.alphabet[*letter])).collect())
    }

    /// The promises of a state with an owed message: one of the messages of each comes eventually.
    pub fn owed_promises(&self, state: usize) -> impl Iterator<Item = BTreeSet<program::Message>> + '_ {
        self.promises(state).filter(|promise| !promise.is_disjoint(&self.owed))
    }

    /// Whether an AWAIT for these messages ends because of a promise of the state.
    pub fn covers(&self, state: usize, messages: &BTreeSet<program::Message>) -> bool {
        self.owed_promises(state).any(|promise| promise.is_subset(messages))
    }

    /// Whether the state is one to wait in for these messages, though none of them need come.
    pub fn rests(&self, state: usize, messages: &BTreeSet<program::Message>) -> bool {
        self.promises(state).any(|promise| promise.is_subset(messages))
    }
}
