//! The smallest deterministic automaton that allows the same runs with the same marks.
//!
//! Moore's refinement: begin with the classes that the caller gives, split while two states of a class lead a letter
//! into different classes. At the end, states of a class cannot be told apart by any run.

use crate::automaton::{Automaton, State};
use std::collections::HashMap;

/// Classes of equivalent states, numbered by their first states. `key` says which states differ from the start.
pub fn classes(next: &[Vec<Option<usize>>], key: &[usize]) -> Vec<usize> {
    let mut class = key.to_vec();
    let mut count = 0;
    loop {
        let mut numbers = HashMap::new();
        let refined: Vec<usize> = std::iter::zip(next, &class)
            .map(|(next, own)| {
                let signature: (usize, Vec<Option<usize>>) =
                    (*own, next.iter().map(|next| next.map(|next| class[next])).collect());
                let fresh = numbers.len();
                *numbers.entry(signature).or_insert(fresh)
            })
            .collect();
        class = refined;
        if numbers.len() == count {
            return class;
        }
        count = numbers.len();
    }
}

/// The minimal automaton. A state that stands for several has the first one's name.
pub fn minimise(automaton: &Automaton) -> Automaton {
    let mut kinds = HashMap::new();
    let key: Vec<usize> = automaton
        .states
        .iter()
        .map(|state| {
            let fresh = kinds.len();
            *kinds.entry((state.timed.clone(), state.fair.clone(), state.is_final)).or_insert(fresh)
        })
        .collect();
    let next: Vec<Vec<Option<usize>>> = automaton.states.iter().map(|state| state.next.clone()).collect();
    let class = classes(&next, &key);
    let mut states: Vec<State> = Vec::new();
    for (state, own) in std::iter::zip(&automaton.states, &class) {
        if *own == states.len() {
            let next = state.next.iter().map(|next| next.map(|next| class[next])).collect();
            states.push(State { next, ..state.clone() });
        }
    }
    Automaton { letters: automaton.letters.clone(), states, timed: automaton.timed.clone() }
}
