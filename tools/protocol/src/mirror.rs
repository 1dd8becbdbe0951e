//! A protocol as the driver's client keeps to it: what the driver emits the client awaits, and the other way round.
//!
//! A protocol counts messages when the driver sends or receives them, so the directions are not all that changes:
//!
//! - **Messages that cross.** The client sends `m` in state `s`, while the driver has emitted `n` there. The client then
//!   gets `n` in the state after `m`, where the protocol need not enable it. The mirror adds that transition, to where the driver is when
//!   it has received `m`. Where the driver could not receive `m` after `n`, or would be somewhere else, the client must not send `m` in
//!   `s`. In the end both orders lead to one state wherever the client may send and something may come.
//! - **Requests that cross.** Where the driver drops requests, one that is on its way is opened after that. The client opens none until it
//!   has dropped them itself.
//! - **Who waits.** In a timed state the client waits: one of the driver's messages will come. Of other states it may wait in all. What the
//!   client owes it must send: its states that owe something are timed.
//! - **The link.** The driver may end at any moment and be started anew. `driver_lost` and `driver_up` are messages of the library.
//!
//! That the driver receives what it awaits in the order in which it was sent is assumed.

use crate::automaton::{Automaton, Letter, State};
use crate::model::{Cookie, Message, Protocol};
use crate::Checked;
use std::collections::BTreeSet;

/// Numbers in the mailboxes of `driver_lost` and `driver_up`; see `user/include/ashlar/domain.h`.
const LINK_LOST: u32 = 62;
const LINK_UP: u32 = 63;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MirrorError {
    #[error("protocol {0} has messages that are the driver's own, such as !{1}, so no process is its client")]
    Local(String, String),
    #[error("protocol {0} has messages driver_lost or driver_up of its own")]
    Names(String),
    #[error("a client of protocol {0} could not send ?{1} in {2}, which it owes: !{3} may cross it")]
    Owed(String, String, String, String),
}

/// Whether a protocol is a mirror.
pub fn is_mirror(protocol: &Protocol) -> bool {
    protocol.message("driver_lost").is_some()
}

/// A message that the client must not send in a state, though the driver would take it there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    pub state: String,
    pub message: String,
    pub because: String,
}

#[derive(Debug, Clone)]
pub struct Mirror {
    pub checked: Checked,
    pub withheld: Vec<Withheld>,
}

/// The driver's automaton while it is made the client's.
struct Work<'a> {
    protocol: &'a Protocol,
    /// Where messages lead that come, or that may be on their way.
    next: Vec<Vec<Option<usize>>>,
    /// What may be on its way, but must not be sent.
    kept: Vec<BTreeSet<usize>>,
    names: Vec<String>,
    withheld: Vec<Withheld>,
}

pub fn mirror(checked: &Checked) -> Result<Mirror, MirrorError> {
    let protocol = &checked.protocol;
    if let Some(own) = protocol.messages.iter().find(|one| one.is_local) {
        return Err(MirrorError::Local(protocol.name.clone(), own.name.clone()));
    }
    if protocol.message("driver_lost").or(protocol.message("driver_up")).is_some() {
        return Err(MirrorError::Names(protocol.name.clone()));
    }
    let states = &checked.flat.automaton.states;
    let mut work = Work {
        protocol,
        next: states.iter().map(|state| state.next.clone()).collect(),
        kept: vec![BTreeSet::new(); states.len()],
        names: states.iter().map(|state| state.name.clone()).collect(),
        withheld: Vec::new(),
    };
    while work.cross() {}
    work.keep_closed();
    for (from, state) in states.iter().enumerate() {
        let is_lost = |message: &usize| state.next[*message].is_some() && work.next[from][*message].is_none();
        let owed = (0..protocol.messages.len()).filter(|message| protocol.messages[*message].is_owed);
        if let Some(lost) = owed.filter(is_lost).min() {
            let name = protocol.messages[lost].name.clone();
            let because = work.withheld.iter().find(|one| one.state == state.name && one.message == name);
            let because = because.map(|one| one.because.clone()).unwrap_or_default();
            return Err(MirrorError::Owed(protocol.name.clone(), name, state.name.clone(), because));
        }
    }
    let withheld = std::mem::take(&mut work.withheld);
    Ok(Mirror { checked: work.finish(checked), withheld })
}

impl Work<'_> {
    fn message(&self, id: usize) -> &Message {
        &self.protocol.messages[id]
    }

    fn enabled(&self, state: usize, incoming: bool) -> Vec<(usize, usize)> {
        let all = self.next[state].iter().enumerate();
        all.filter_map(|(id, to)| Some((id, (*to)?)).filter(|_| self.message(id).incoming == incoming)).collect()
    }

    fn withhold(&mut self, state: usize, message: usize, because: usize) {
        self.withheld.push(Withheld {
            state: self.names[state].clone(),
            message: self.message(message).name.clone(),
            because: self.message(because).name.clone(),
        });
    }

    /// Whether the order of the two matters to a request: the driver closes what the client drops or names.
    fn is_doubtful(&self, sent: usize, came: usize) -> bool {
        let (sent, came) = (self.message(sent), self.message(came));
        let closes = came.cookie.filter(|(role, _)| *role == Cookie::Closes).map(|(_, request)| request);
        let names = sent.cookie.filter(|(role, _)| *role == Cookie::Names).map(|(_, request)| request);
        closes.is_some_and(|own| sent.drops.contains(&own) || names == Some(own))
            || names.is_some_and(|own| came.drops.contains(&own))
    }

    /// One step towards: wherever the client may send and the driver may emit, both orders lead to one state.
    fn cross(&mut self) -> bool {
        for state in 0..self.next.len() {
            for (sent, after_sent) in self.enabled(state, true) {
                for (came, after_came) in self.enabled(state, false) {
                    let is_doubtful = self.is_doubtful(sent, came);
                    match (self.next[after_came][sent], self.next[after_sent][came]) {
                        (Some(one), Some(other)) if one == other && !is_doubtful => {}
                        (Some(one), None) if !is_doubtful => {
                            self.next[after_sent][came] = Some(one);
                            return true;
                        }
                        _ => {
                            self.next[state][sent] = None;
                            self.withhold(state, sent, came);
                            return true;
                        }
                    }
                }
            }
        }
        false
    }

    /// Withholds what opens requests, or may be sent only when none is open, where some that the driver has dropped may still be on
    /// their way.
    fn keep_closed(&mut self) {
        for request in 0..self.protocol.requests.len() {
            let opens = |message: &Message| message.cookie == Some((Cookie::Opens, request));
            let mut dirty: Vec<Option<usize>> = vec![None; self.next.len()];
            let mut has_changed = true;
            while has_changed {
                has_changed = false;
                for state in 0..self.next.len() {
                    let sends = self.enabled(state, true);
                    let is_open = sends.iter().any(|(id, _)| opens(self.message(*id)));
                    for (id, to) in sends.into_iter().chain(self.enabled(state, false)) {
                        let message = self.message(id);
                        let drops = message.drops.contains(&request);
                        let cause = match (drops, message.incoming) {
                            (true, true) => None,
                            (true, false) if is_open => Some(id),
                            _ => dirty[state],
                        };
                        if dirty[to].is_none() && cause.is_some() {
                            dirty[to] = cause;
                            has_changed = true;
                        }
                    }
                }
            }
            for (state, cause) in dirty.iter().enumerate() {
                let Some(cause) = *cause else { continue };
                for (id, _) in self.enabled(state, true) {
                    if opens(self.message(id)) || self.message(id).drained.contains(&request) {
                        self.kept[state].insert(id);
                        self.withhold(state, id, cause);
                    }
                }
            }
        }
    }

    /// The states that are left, behind the one without a link, with the client's directions, promises and marks.
    fn finish(mut self, checked: &Checked) -> Checked {
        let own = self.protocol.messages.len();
        let drained = self.drained();
        for (next, kept) in self.next.iter_mut().zip(&self.kept) {
            kept.iter().for_each(|id| next[*id] = None);
        }
        let up = own + 1;
        let mut protocol = self.protocol.clone();
        for (message, drained) in protocol.messages.iter_mut().zip(drained) {
            message.incoming = !message.incoming;
            message.drained = drained;
        }
        let link = |name: &str, number: u32, drops: Vec<usize>| Message {
            name: name.to_string(),
            incoming: true,
            doc: String::new(),
            fields: Vec::new(),
            cookie: None,
            drained: Vec::new(),
            drops,
            is_local: false,
            is_owed: false,
            number: Some(number),
            span: protocol.messages[0].span.clone(),
        };
        let all = (0..protocol.requests.len()).collect();
        let messages = [link("driver_lost", LINK_LOST, all), link("driver_up", LINK_UP, Vec::new())];
        // States of other protocols concern the driver.
        protocol.states.iter_mut().for_each(|state| state.needs.clear());
        protocol.messages.extend(messages);

        // Unlinked is the first; the others follow as far as they can be reached.
        let mut order = vec![0];
        let mut at = 0;
        while at < order.len() {
            let next = self.next[order[at]].iter().flatten();
            let fresh: Vec<usize> = next.filter(|to| !order.contains(*to)).copied().collect();
            for to in fresh {
                if !order.contains(&to) {
                    order.push(to);
                }
            }
            at += 1;
        }
        let place = |state: usize| order.iter().position(|one| *one == state).map(|place| place + 1);
        let marks: Vec<usize> = (0..own).filter(|id| self.message(*id).is_owed).collect();
        let timed = marks.iter().map(|id| format!("{} is owed", self.message(*id).name)).collect();
        let mut states = vec![State {
            name: "Unlinked".to_string(),
            next: (0..own + 2).map(|id| (id == up).then_some(1)).collect(),
            timed: BTreeSet::new(),
            fair: BTreeSet::from([BTreeSet::from([up])]),
            is_final: true,
        }];
        for &state in &order {
            let mut next: Vec<Option<usize>> = self.next[state].iter().map(|to| to.and_then(place)).collect();
            next.extend([Some(0), None]);
            let comes = |id: &usize| next[*id].is_some() && protocol.messages[*id].incoming;
            let promise: BTreeSet<usize> = (0..own + 2).filter(comes).collect();
            let is_due = |mark: &usize| next[marks[*mark]].is_some();
            states.push(State {
                name: self.names[state].clone(),
                timed: (0..marks.len()).filter(is_due).collect(),
                fair: BTreeSet::from([promise]),
                is_final: checked.flat.automaton.states[state].is_final,
                next,
            });
        }
        // A message is owed if the driver must answer wherever it may come.
        for id in 0..own {
            let comes = |state: &&usize| self.next[**state][id].is_some();
            let is_answered = |state: &usize| !checked.flat.automaton.states[*state].timed.is_empty();
            let is_incoming = protocol.messages[id].incoming;
            protocol.messages[id].is_owed = is_incoming && order.iter().filter(comes).all(is_answered);
        }
        let letters = protocol.messages.iter().map(|one| Letter { name: one.name.clone(), incoming: one.incoming });
        let automaton = Automaton { letters: letters.collect(), states, timed };
        let mut flat = checked.flat.clone();
        let row = |state: &usize| {
            let mut edges = checked.flat.edges[*state].clone();
            edges.extend([None, None]);
            edges
        };
        flat.edges = std::iter::once(vec![None; own + 2]).chain(order.iter().map(row)).collect();
        let leaves = order.iter().map(|state| checked.flat.leaves[*state].clone());
        flat.leaves = std::iter::once(Vec::new()).chain(leaves).collect();
        flat.automaton = automaton;
        Checked { protocol, flat }
    }

    /// By message, the requests of which none is open. Not promised to the client where one may be on its way to the driver.
    fn drained(&self) -> Vec<Vec<usize>> {
        let is_on_its_way = |id: usize, request: usize| {
            let opens = |other: usize| self.message(other).cookie == Some((Cookie::Opens, request));
            let opens_in = |state: usize| self.enabled(state, true).iter().any(|(other, _)| opens(*other));
            (0..self.next.len()).any(|state| self.next[state][id].is_some() && opens_in(state))
        };
        let all = self.protocol.messages.iter().enumerate();
        all.map(|(id, one)| {
            let kept = one.drained.iter().filter(|request| one.incoming || !is_on_its_way(id, **request));
            kept.copied().collect()
        })
        .collect()
    }
}
