//! Which alphabets: few, small, and small in the automata they give.
//!
//! For each purpose, letters are dropped from the full alphabet while the purpose can still be read off the projection;
//! several orders of dropping are tried. A shared purpose (see `purpose`) may be split: for a state of the protocol where
//! it does not hold, an alphabet is good if no subset holds both that state and one where the purpose holds. From the
//! alphabets so found, a few are taken that serve every purpose (greedy set cover), those with small automata first.

use super::project::{project, Projection};
use super::{subprotocol, Decomposition, Purpose};
use crate::automaton::Automaton;
use crate::minimise::minimise;
use crate::model::MessageId;
use std::collections::{BTreeMap, BTreeSet};

/// Automata up to this size are as good as smaller ones; the paper reports subprotocols of at most four states.
const SMALL: usize = 4;
/// Orders of dropping letters that are tried for each purpose.
const ORDERS: usize = 6;

/// Any odd number with mixed bits; it only decides which orders are tried.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

type Alphabet = BTreeSet<MessageId>;

/// Alphabets, the purpose each was found for, and the size of the automaton for that purpose.
type Found = BTreeMap<(Alphabet, usize), usize>;

/// What has to be served: a purpose, and for a split one the state where it does not hold.
type Element = (usize, Option<usize>);

/// Decomposes a protocol's automaton.
pub fn choose(protocol: &Automaton) -> Decomposition {
    let protocol = &minimise(protocol);
    let mut free = Vec::new();
    let mut purposes = Vec::new();
    for purpose in Purpose::all(protocol) {
        match (purpose.is_free(protocol), &purpose) {
            (true, Purpose::Message(message)) => free.push(*message),
            (true, _) => {}
            _ => purposes.push(purpose),
        }
    }
    let holds: Vec<Vec<bool>> = purposes
        .iter()
        .map(|purpose| (0..protocol.states.len()).map(|state| purpose.holds(protocol, state)).collect())
        .collect();
    let chooser = Chooser { protocol, purposes, holds };
    let candidates = chooser.candidates();
    let chosen = chooser.cover(&candidates);
    let mut subprotocols: Vec<_> = chosen
        .iter()
        .map(|(alphabet, served)| {
            let purposes: Vec<Purpose> = served.iter().map(|purpose| chooser.purposes[*purpose].clone()).collect();
            subprotocol(protocol, alphabet, &purposes)
        })
        .collect();
    subprotocols.sort_by(|a, b| a.purposes.cmp(&b.purposes));
    Decomposition { subprotocols, free }
}

struct Chooser<'a> {
    protocol: &'a Automaton,
    purposes: Vec<Purpose>,
    /// By purpose and state.
    holds: Vec<Vec<bool>>,
}

/// An alphabet that may be taken.
struct Candidate {
    alphabet: Alphabet,
    size: usize,
    serves: BTreeSet<Element>,
}

impl Chooser<'_> {
    fn elements(&self) -> BTreeMap<Element, f64> {
        let mut elements = BTreeMap::new();
        for (index, purpose) in self.purposes.iter().enumerate() {
            if !purpose.is_shared(self.protocol) {
                elements.insert((index, None), 1.0);
                continue;
            }
            let bad: Vec<usize> = (0..self.protocol.states.len()).filter(|state| !self.holds[index][*state]).collect();
            elements.extend(bad.iter().map(|state| ((index, Some(*state)), 1.0 / bad.len() as f64)));
        }
        elements
    }

    fn candidates(&self) -> Vec<Candidate> {
        let mut alphabets = Found::new();
        for (index, purpose) in self.purposes.iter().enumerate() {
            let holds = &self.holds[index];
            let same = |subset: &[usize]| subset.iter().all(|state| holds[*state] == holds[subset[0]]);
            let smallest = alphabets_for(self, index, &same, &mut alphabets);
            if smallest <= SMALL || !purpose.is_shared(self.protocol) {
                continue;
            }
            let mut left: BTreeSet<usize> = (0..holds.len()).filter(|state| !holds[*state]).collect();
            while let Some(bad) = left.pop_first() {
                let apart =
                    |subset: &[usize]| subset.binary_search(&bad).is_err() || !subset.iter().any(|state| holds[*state]);
                let mut found = Found::new();
                alphabets_for(self, index, &apart, &mut found);
                for (alphabet, _) in found.keys() {
                    let letters: Vec<MessageId> = alphabet.iter().copied().collect();
                    if let Some(projection) = project(self.protocol, &letters, usize::MAX, |_| true) {
                        left.retain(|state| !refuses(&projection, *state, holds));
                    }
                }
                alphabets.extend(found);
            }
        }
        alphabets.into_iter().map(|((alphabet, index), size)| self.candidate(alphabet, index, size)).collect()
    }

    fn candidate(&self, alphabet: Alphabet, found_for: usize, least: usize) -> Candidate {
        let letters: Vec<MessageId> = alphabet.iter().copied().collect();
        let projection = project(self.protocol, &letters, usize::MAX, |_| true).unwrap_or_default();
        let mut serves = BTreeSet::new();
        for (index, purpose) in self.purposes.iter().enumerate() {
            let holds = &self.holds[index];
            if !purpose.required().is_subset(&alphabet) {
                continue;
            }
            if purpose.is_shared(self.protocol) {
                let bad = (0..holds.len()).filter(|state| !holds[*state] && refuses(&projection, *state, holds));
                serves.extend(bad.map(|state| (index, Some(state))));
            } else if projection.subsets.iter().all(|subset| subset.iter().all(|one| holds[*one] == holds[subset[0]])) {
                serves.insert((index, None));
            }
        }
        self.limit(alphabet, serves, found_for, least)
    }

    /// Of what an alphabet can serve: what it was found for, and as many other purposes as leave its automaton small.
    fn limit(&self, alphabet: Alphabet, can_serve: BTreeSet<Element>, found_for: usize, least: usize) -> Candidate {
        let bound = least.max(SMALL);
        let mut purposes: Vec<Purpose> = Vec::new();
        let mut serves = BTreeSet::new();
        let mut size = 1;
        let others: BTreeSet<usize> =
            can_serve.iter().map(|(index, _)| *index).filter(|one| *one != found_for).collect();
        for index in std::iter::once(found_for).chain(others) {
            purposes.push(self.purposes[index].clone());
            let with = subprotocol(self.protocol, &alphabet, &purposes).automaton.states.len();
            if with > bound {
                purposes.pop();
                continue;
            }
            size = with;
            serves.extend(can_serve.iter().filter(|(own, _)| *own == index).copied());
        }
        Candidate { alphabet, size, serves }
    }

    /// Takes candidates until everything is served, then gives back those that were not needed after all.
    fn cover(&self, candidates: &[Candidate]) -> Vec<(Alphabet, BTreeSet<usize>)> {
        let weights = self.elements();
        let mut left: BTreeSet<Element> = weights.keys().copied().collect();
        let mut taken: Vec<&Candidate> = Vec::new();
        while !left.is_empty() {
            let worth = |candidate: &Candidate| {
                let gain: f64 = candidate.serves.intersection(&left).map(|element| weights[element]).sum();
                let cost = candidate.size.max(SMALL) as f64;
                gain / (cost * cost) - candidate.alphabet.len() as f64 * 1e-6
            };
            let best = candidates
                .iter()
                .filter(|candidate| !candidate.serves.is_disjoint(&left))
                .max_by(|a, b| worth(a).total_cmp(&worth(b)));
            let Some(best) = best else { break };
            left = left.difference(&best.serves).copied().collect();
            taken.push(best);
        }
        let mut index = taken.len();
        while index > 0 {
            index -= 1;
            let others = |element: &Element| {
                taken.iter().enumerate().any(|(other, candidate)| other != index && candidate.serves.contains(element))
            };
            if taken[index].serves.iter().all(others) {
                taken.remove(index);
            }
        }
        self.assign(taken)
    }

    /// Says which purposes each taken alphabet serves: an unshared one the smallest that can, a shared one all it needs.
    fn assign(&self, mut taken: Vec<&Candidate>) -> Vec<(Alphabet, BTreeSet<usize>)> {
        taken.sort_by_key(|candidate| (candidate.size, candidate.alphabet.len()));
        let mut served: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); taken.len()];
        let mut done: BTreeSet<Element> = BTreeSet::new();
        for (index, candidate) in taken.iter().enumerate() {
            let new: Vec<Element> = candidate.serves.difference(&done).copied().collect();
            served[index].extend(new.iter().map(|(purpose, _)| *purpose));
            done.extend(new);
        }
        let used = std::iter::zip(taken, served).filter(|(_, served)| !served.is_empty());
        used.map(|(candidate, served)| (candidate.alphabet.clone(), served)).collect()
    }
}

/// Whether no subset holds both `bad` and a state where the purpose holds.
fn refuses(projection: &Projection, bad: usize, holds: &[bool]) -> bool {
    let mixed = |subset: &Vec<usize>| subset.binary_search(&bad).is_ok() && subset.iter().any(|state| holds[*state]);
    !projection.subsets.iter().any(mixed)
}

/// Adds the alphabets found for a purpose; gives the size of the smallest automaton.
fn alphabets_for(chooser: &Chooser, index: usize, admit: &dyn Fn(&[usize]) -> bool, alphabets: &mut Found) -> usize {
    let (protocol, purpose) = (chooser.protocol, &chooser.purposes[index]);
    let required = purpose.required();
    let limit = 4 * protocol.states.len() + 64;
    let mut found: BTreeMap<Alphabet, usize> = BTreeMap::new();
    for order in 0..ORDERS {
        let mut letters: Vec<MessageId> = (0..protocol.letters.len()).collect();
        for message in shuffled(&letters, order, protocol) {
            if required.contains(&message) {
                continue;
            }
            let fewer: Vec<MessageId> = letters.iter().copied().filter(|letter| *letter != message).collect();
            if project(protocol, &fewer, limit, admit).is_some() {
                letters = fewer;
            }
        }
        let alphabet: Alphabet = letters.into_iter().collect();
        let size = || subprotocol(protocol, &alphabet, std::slice::from_ref(purpose)).automaton.states.len();
        found.entry(alphabet.clone()).or_insert_with(size);
    }
    let smallest = found.values().copied().min().unwrap_or(usize::MAX);
    let good = found.into_iter().filter(|(_, size)| *size <= smallest.max(SMALL));
    alphabets.extend(good.map(|(alphabet, size)| ((alphabet, index), size)));
    smallest
}

/// The order in which to try to drop letters: as declared, backwards, outputs first, inputs first, then mixed up.
fn shuffled(letters: &[MessageId], order: usize, protocol: &Automaton) -> Vec<MessageId> {
    let mut letters = letters.to_vec();
    match order {
        0 => {}
        1 => letters.reverse(),
        2 => letters.sort_by_key(|letter| protocol.letters[*letter].incoming),
        3 => letters.sort_by_key(|letter| !protocol.letters[*letter].incoming),
        _ => letters.sort_by_key(|letter| (*letter as u64 + 1).wrapping_mul(MIX).wrapping_mul(order as u64) >> 20),
    }
    letters
}
