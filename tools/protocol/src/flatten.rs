//! Flattening: the hierarchy of states to one deterministic automaton.
//!
//! A state of the automaton is a *configuration*: the leaves that are active together, one for each active region. In a
//! configuration an edge is enabled if its source is one of the active leaves or around one. Taking it leaves everything
//! inside the innermost state (or region) that is around both its source and its target, and enters the target: inside
//! it, and in regions beside the way to it, the initial states. Other regions keep their states. An edge without a
//! target keeps all states. A guard (`when`, `unless`) looks at the states that are active before the edge is taken.
//!
//! A configuration carries the timed marks of its active states (leaves and what is around them), and the promises of
//! its fair ones (`automaton` says what these are). It is final if every active leaf is, or stands inside a state that is.
//!
//! Where several edges carry the same message, the first one is taken and the conflict recorded: `check` refuses it.

use crate::automaton::{Automaton, Letter, State};
use crate::model::{Edge, MessageId, Protocol, StateId};
use std::collections::{BTreeSet, HashMap};

/// With more configurations than this, flattening stops.
const MAX_STATES: usize = 5000;

#[derive(Debug, Clone)]
pub struct Flat {
    pub automaton: Automaton,
    /// By state: the active leaves, in the order of the file.
    pub leaves: Vec<Vec<StateId>>,
    /// By state and message: the edge it takes.
    pub edges: Vec<Vec<Option<usize>>>,
    /// Two edges that a message takes in a state: state, edges.
    pub conflicts: Vec<(usize, [usize; 2])>,
    pub is_cut_off: bool,
}

impl Flat {
    /// Everything active in a state of the automaton: leaves and what is around them.
    pub fn active(&self, protocol: &Protocol, state: usize) -> BTreeSet<StateId> {
        active(protocol, &self.leaves[state])
    }
}

pub fn flatten(protocol: &Protocol) -> Flat {
    let letter = |message: &crate::model::Message| Letter { name: message.name.clone(), incoming: message.incoming };
    let timed: Vec<StateId> = (0..protocol.states.len()).filter(|state| protocol.states[*state].timed).collect();
    let automaton = Automaton {
        letters: protocol.messages.iter().map(letter).collect(),
        states: Vec::new(),
        timed: timed.iter().map(|state| protocol.states[*state].name.clone()).collect(),
    };
    let mut flat = Flat { automaton, leaves: Vec::new(), edges: Vec::new(), conflicts: Vec::new(), is_cut_off: false };
    let mut known: HashMap<Vec<StateId>, usize> = HashMap::new();
    let mut first = Vec::new();
    enter(protocol, 0, &[], &mut first);
    first.sort_unstable();
    known.insert(first.clone(), 0);
    flat.leaves.push(first);
    let mut at = 0;
    while at < flat.leaves.len() {
        let leaves = flat.leaves[at].clone();
        let around = active(protocol, &leaves);
        let taken = enabled(protocol, &around, at, &mut flat.conflicts);
        let mut next = vec![None; protocol.messages.len()];
        for (message, edge) in taken.iter().enumerate() {
            let Some(edge) = edge.map(|edge| &protocol.edges[edge]) else { continue };
            let after = take(protocol, &leaves, edge);
            let fresh = flat.leaves.len();
            let to = *known.entry(after.clone()).or_insert(fresh);
            if to == fresh {
                if fresh == MAX_STATES {
                    flat.is_cut_off = true;
                    return flat;
                }
                flat.leaves.push(after);
            }
            next[message] = Some(to);
        }
        flat.automaton.states.push(describe(protocol, &leaves, &around, &timed, &taken, next));
        flat.edges.push(taken);
        at += 1;
    }
    flat
}

fn active(protocol: &Protocol, leaves: &[StateId]) -> BTreeSet<StateId> {
    leaves.iter().flat_map(|leaf| protocol.outwards(*leaf)).collect()
}

/// By message, the first edge that it takes.
fn enabled(
    protocol: &Protocol,
    around: &BTreeSet<StateId>,
    state: usize,
    conflicts: &mut Vec<(usize, [usize; 2])>,
) -> Vec<Option<usize>> {
    let mut taken: Vec<Option<usize>> = vec![None; protocol.messages.len()];
    let is_there = |edge: &Edge| {
        around.contains(&edge.source)
            && edge.when.iter().all(|guard| around.contains(guard))
            && !edge.unless.iter().any(|guard| around.contains(guard))
    };
    for (index, edge) in protocol.edges.iter().enumerate().filter(|(_, edge)| is_there(edge)) {
        match taken[edge.message] {
            None => taken[edge.message] = Some(index),
            Some(other) => conflicts.push((state, [other, index])),
        }
    }
    taken
}

/// The leaves that are active after an edge.
pub fn take(protocol: &Protocol, leaves: &[StateId], edge: &Edge) -> Vec<StateId> {
    let Some(target) = edge.target else { return leaves.to_vec() };
    let is_around = |outer: &StateId| {
        let is_proper = *outer != target && (*outer != edge.source || protocol.states[*outer].is_region);
        is_proper && !protocol.is_parallel(*outer)
    };
    let scope = protocol
        .outwards(edge.source)
        .filter(is_around)
        .find(|outer| protocol.is_within(target, *outer))
        .unwrap_or_default();
    let mut after: Vec<StateId> = leaves.iter().copied().filter(|leaf| !protocol.is_within(*leaf, scope)).collect();
    let mut way: Vec<StateId> = protocol.outwards(target).take_while(|outer| *outer != scope).collect();
    way.reverse();
    match way.split_first() {
        Some((first, rest)) => enter(protocol, *first, rest, &mut after),
        None => enter(protocol, scope, &[], &mut after),
    }
    after.sort_unstable();
    after
}

/// Enters `state` and, inside it, the states of `way`; where `way` says nothing, initial states.
fn enter(protocol: &Protocol, state: StateId, way: &[StateId], leaves: &mut Vec<StateId>) {
    if protocol.is_parallel(state) {
        for &region in &protocol.states[state].children {
            match way.split_first() {
                Some((first, rest)) if *first == region => enter(protocol, region, rest, leaves),
                _ => enter(protocol, region, &[], leaves),
            }
        }
        return;
    }
    match (way.split_first(), protocol.states[state].initial) {
        (Some((first, rest)), _) => enter(protocol, *first, rest, leaves),
        (None, Some(initial)) => enter(protocol, initial, &[], leaves),
        (None, None) => leaves.push(state),
    }
}

fn describe(
    protocol: &Protocol,
    leaves: &[StateId],
    around: &BTreeSet<StateId>,
    timed: &[StateId],
    taken: &[Option<usize>],
    next: Vec<Option<usize>>,
) -> State {
    let names: Vec<&str> = leaves.iter().map(|leaf| protocol.states[*leaf].name.as_str()).collect();
    let is_final = |leaf: &StateId| protocol.outwards(*leaf).any(|state| protocol.states[state].is_final);
    State {
        name: names.join("+"),
        next,
        timed: (0..timed.len()).filter(|mark| around.contains(&timed[*mark])).collect(),
        fair: promises(protocol, around, taken),
        is_final: leaves.iter().all(is_final),
    }
}

/// The promises of the fair states that are active. One that contains another says less and is left out, unless it alone
/// has a message that is owed.
fn promises(protocol: &Protocol, around: &BTreeSet<StateId>, taken: &[Option<usize>]) -> BTreeSet<BTreeSet<MessageId>> {
    let fair = around.iter().copied().filter(|state| protocol.states[*state].fair);
    let all: BTreeSet<BTreeSet<MessageId>> = fair.map(|state| promise(protocol, state, taken)).collect();
    let is_owed = |one: &BTreeSet<MessageId>| one.iter().any(|message| protocol.messages[*message].is_owed);
    let says_more = |other: &BTreeSet<MessageId>, one: &BTreeSet<MessageId>| {
        other != one && other.is_subset(one) && (is_owed(other) || !is_owed(one))
    };
    all.iter().filter(|one| !all.iter().any(|other| says_more(other, one))).cloned().collect()
}

/// Of the edges taken in a configuration, the incoming messages of those in a state, inside it or around it.
pub fn promise(protocol: &Protocol, state: StateId, taken: &[Option<usize>]) -> BTreeSet<MessageId> {
    let concerns = |edge: &Edge| {
        let in_line = protocol.is_within(edge.source, state) || protocol.is_within(state, edge.source);
        in_line && protocol.messages[edge.message].incoming
    };
    let edges = taken.iter().flatten().map(|edge| &protocol.edges[*edge]);
    edges.filter(|edge| concerns(edge)).map(|edge| edge.message).collect()
}

/// The messages that some edge of the automaton carries.
pub fn used_messages(flat: &Flat) -> BTreeSet<MessageId> {
    (0..flat.automaton.states.len()).flat_map(|state| flat.automaton.enabled(state).collect::<Vec<_>>()).collect()
}
