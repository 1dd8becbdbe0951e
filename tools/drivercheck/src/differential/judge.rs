//! What all runs of a driver say of each rule, and whether the checker says the same.

use super::host::{Pair, Runs};
use crate::check::Row;
use crate::graph;
use crate::hash::HashMap;
use protocol::generate::header::mailbox;
use std::collections::{BTreeMap, BTreeSet};

/// What the runs say of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    Broken,
    /// Only behind the violation of another rule, or not within the runs that were tried.
    Open,
    Kept,
}

/// The checker and the runs say different things of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disagreement {
    /// PROVED, but a run breaks it.
    Missed(u8),
    /// VIOLATED, but no run breaks it.
    False(u8),
}

pub const RULES: std::ops::RangeInclusive<u8> = 1..=7;

pub fn disagreements(truths: &BTreeMap<u8, Truth>, rows: &[Row]) -> Vec<Disagreement> {
    let mut found = Vec::new();
    for rule in RULES {
        let own = || rows.iter().filter(|row| row.rule == rule);
        match truths[&rule] {
            Truth::Broken if own().all(|row| row.verdict == "PROVED") => found.push(Disagreement::Missed(rule)),
            Truth::Kept if own().any(|row| row.verdict == "VIOLATED") => found.push(Disagreement::False(rule)),
            _ => {}
        }
    }
    found
}

/// By rule.
pub fn truths(pair: &Pair, runs: &Runs) -> BTreeMap<u8, Truth> {
    let kept = if runs.is_whole { Truth::Kept } else { Truth::Open };
    let mut all: BTreeMap<u8, Truth> = RULES.map(|rule| (rule, kept)).collect();
    for (rule, is_clean) in &runs.broken {
        all.insert(*rule, if *is_clean { Truth::Broken } else { Truth::Open });
    }
    let graph = Graph::new(pair, runs);
    for (protocol, checked) in pair.protocols.iter().enumerate() {
        let automaton = &checked.flat.automaton;
        let inputs = (0..automaton.letters.len()).filter(|letter| automaton.letters[*letter].incoming);
        let demands = inputs.map(Demand::Await).chain((0..automaton.timed.len()).map(Demand::Leave));
        for demand in demands {
            let rule = if matches!(demand, Demand::Await(_)) { 2 } else { 4 };
            if graph.is_broken(protocol, demand, false) {
                all.insert(rule, Truth::Broken);
            } else if all[&rule] == Truth::Kept && graph.is_broken(protocol, demand, true) {
                all.insert(rule, Truth::Open);
            }
        }
    }
    all
}

#[derive(Clone, Copy)]
enum Demand {
    /// Rule 2: the message is waited for.
    Await(usize),
    /// Rule 4: the timed state is left.
    Leave(usize),
}

type Message = (usize, usize);

/// A step of a run: at most one message.
struct Move {
    from: usize,
    to: usize,
    awaited: Option<BTreeSet<Message>>,
    received: Option<Message>,
}

struct Graph<'a> {
    pair: &'a Pair,
    /// By vertex: whether it is marked, and the protocols' states.
    vertices: Vec<(bool, Vec<usize>)>,
    moves: Vec<Move>,
}

impl<'a> Graph<'a> {
    fn new(pair: &'a Pair, runs: &Runs) -> Self {
        let mut messages: HashMap<u32, Message> = HashMap::default();
        for (protocol, checked) in pair.protocols.iter().enumerate() {
            let all = 0..checked.protocol.messages.len();
            messages.extend(all.map(|message| (mailbox(&checked.protocol, message), (protocol, message))));
        }
        let mut vertices: Vec<(bool, Vec<usize>)> =
            runs.nodes.iter().map(|node| (node.is_marked, node.states.clone())).collect();
        let mut moves = Vec::new();
        for (from, to, mailboxes) in &runs.edges {
            let mut awaited: Option<BTreeSet<Message>> =
                runs.nodes[*from].awaited.as_ref().map(|all| all.iter().map(|one| messages[one]).collect());
            let mut at = *from;
            for (index, one) in mailboxes.iter().enumerate() {
                let message = messages[one];
                let next = if index + 1 == mailboxes.len() {
                    *to
                } else {
                    let (_, mut states) = vertices[at].clone();
                    let automaton = &pair.protocols[message.0].flat.automaton;
                    let state = &mut states[message.0];
                    *state = automaton.states[*state].next[message.1].unwrap_or(*state);
                    // Marked if one end is: what comes behind may be.
                    vertices.push((runs.nodes[*to].is_marked, states));
                    vertices.len() - 1
                };
                let is_incoming = pair.protocols[message.0].protocol.messages[message.1].incoming;
                let received = Some(message).filter(|_| is_incoming);
                moves.push(Move { from: at, to: next, awaited: awaited.take(), received });
                at = next;
            }
            if mailboxes.is_empty() {
                moves.push(Move { from: at, to: *to, awaited, received: None });
            }
        }
        Graph { pair, vertices, moves }
    }

    fn is_open(&self, vertex: usize, protocol: usize, demand: Demand) -> bool {
        let state = &self.pair.protocols[protocol].flat.automaton.states[self.vertices[vertex].1[protocol]];
        match demand {
            Demand::Await(message) => state.next[message].is_some(),
            Demand::Leave(mark) => state.timed.contains(&mark),
        }
    }

    /// Whether a run without end never meets the demand, though the client and the bus owe it nothing.
    fn is_broken(&self, protocol: usize, demand: Demand, with_marked: bool) -> bool {
        let is_in = |vertex: usize| (with_marked || !self.vertices[vertex].0) && self.is_open(vertex, protocol, demand);
        let is_unmet = |one: &&Move| match demand {
            Demand::Await(message) => {
                !one.awaited.as_ref().is_some_and(|awaited| awaited.contains(&(protocol, message)))
            }
            Demand::Leave(_) => true,
        };
        let all: Vec<&Move> =
            self.moves.iter().filter(|one| is_in(one.from) && is_in(one.to)).filter(is_unmet).collect();
        let busy: Vec<&Move> = all.iter().copied().filter(|one| one.awaited.is_none()).collect();
        !self.cycles(&busy).is_empty() || self.cycles(&all).iter().any(|inside| self.is_fair(&all, inside))
    }

    fn cycles(&self, moves: &[&Move]) -> Vec<BTreeSet<usize>> {
        let mut next = vec![Vec::new(); self.vertices.len()];
        moves.iter().for_each(|one| next[one.from].push(one.to));
        graph::cycles(&next, &|_| true).into_iter().map(|all| all.into_iter().collect()).collect()
    }

    /// Whether each promise with an owed message is kept, not made, or not waited for somewhere in a strongly connected part.
    fn is_fair(&self, all: &[&Move], inside: &BTreeSet<usize>) -> bool {
        let own: Vec<&&Move> =
            all.iter().filter(|one| inside.contains(&one.from) && inside.contains(&one.to)).collect();
        let promises = self.pair.protocols.iter().enumerate().flat_map(|(protocol, checked)| {
            let is_owed =
                move |promise: &&BTreeSet<usize>| promise.iter().any(|one| checked.protocol.messages[*one].is_owed);
            let states = checked.flat.automaton.states.iter();
            states.flat_map(|state| &state.fair).filter(is_owed).map(move |promise| (protocol, promise))
        });
        promises.collect::<BTreeSet<_>>().into_iter().all(|(protocol, promise)| {
            let states = &self.pair.protocols[protocol].flat.automaton.states;
            own.iter().any(|one| {
                let is_made = states[self.vertices[one.from].1[protocol]].fair.contains(promise);
                let is_covered =
                    |awaited: &BTreeSet<Message>| promise.iter().all(|message| awaited.contains(&(protocol, *message)));
                let is_kept = |(own, message): Message| own == protocol && promise.contains(&message);
                !is_made
                    || one.awaited.as_ref().is_some_and(|awaited| !is_covered(awaited))
                    || one.received.is_some_and(is_kept)
            })
        })
    }
}
