//! Fewer states for a subprotocol, by what it is *not* there for.
//!
//! A subprotocol is a guard of some of its messages. What it says of the others is said by their own guards, so two states
//! that differ only in refusing such a message may be merged; the merged state allows it. Nothing is lost: an illegal
//! message is still refused by its guard, because up to there the run is legal and every subprotocol has followed it. And
//! what the merged state refuses, all its parts refuse, so it is illegal in the protocol.
//!
//! States are merged greedily, in the order of their distance from the initial one; the smallest automaton is not sought.

use crate::automaton::{Automaton, State};
use std::collections::BTreeMap;

/// Merges states of `automaton`; `guarded` says by letter whether it is a guard of the message.
pub fn merge(automaton: &Automaton, guarded: &[bool]) -> Automaton {
    let mut classes = Classes {
        parent: (0..automaton.states.len()).collect(),
        next: automaton.states.iter().map(|state| state.next.clone()).collect(),
    };
    for state in 1..automaton.states.len() {
        for other in 0..state {
            if classes.find(state) == state && classes.find(other) == other {
                if let Some(merged) = classes.merged(automaton, guarded, other, state) {
                    classes = merged;
                    break;
                }
            }
        }
    }
    let mut numbers = BTreeMap::new();
    for state in (0..automaton.states.len()).filter(|state| classes.find(*state) == *state) {
        let fresh = numbers.len();
        numbers.insert(state, fresh);
    }
    let number = |state: usize| numbers.get(&classes.find(state)).copied();
    let state = |id: &usize| State {
        next: classes.next[*id].iter().map(|next| next.and_then(number)).collect(),
        ..automaton.states[*id].clone()
    };
    Automaton { states: numbers.keys().map(state).collect(), ..automaton.clone() }
}

/// Which states are merged so far. The first state of a class stands for it and knows where its letters lead.
#[derive(Clone)]
struct Classes {
    parent: Vec<usize>,
    next: Vec<Vec<Option<usize>>>,
}

impl Classes {
    fn find(&self, mut state: usize) -> usize {
        while self.parent[state] != state {
            state = self.parent[state];
        }
        state
    }

    /// The classes after merging two, and all that have to be merged with them; none if some differ.
    fn merged(&self, automaton: &Automaton, guarded: &[bool], one: usize, two: usize) -> Option<Classes> {
        let mut classes = self.clone();
        let mut work = vec![(one, two)];
        while let Some((one, two)) = work.pop() {
            let (one, two) = (classes.find(one), classes.find(two));
            if one == two {
                continue;
            }
            let (one, two) = (one.min(two), one.max(two));
            let (a, b) = (&automaton.states[one], &automaton.states[two]);
            if (&a.timed, &a.fair, a.is_final) != (&b.timed, &b.fair, b.is_final) {
                return None;
            }
            for (letter, is_guarded) in guarded.iter().enumerate() {
                match (classes.next[one][letter], classes.next[two][letter]) {
                    (Some(left), Some(right)) => work.push((left, right)),
                    (None, None) => {}
                    _ if *is_guarded => return None,
                    (None, right) => classes.next[one][letter] = right,
                    (Some(_), None) => {}
                }
            }
            classes.parent[two] = one;
        }
        Some(classes)
    }
}
