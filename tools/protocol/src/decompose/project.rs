//! The determinised projection of an automaton onto an alphabet.

use crate::automaton::Automaton;
use crate::model::MessageId;
use std::collections::HashMap;

/// Each state stands for the states of the automaton that cannot be told apart by the messages seen so far: after any
/// run, the automaton is in one of them, and for each of them there is a run that looks the same and ends in it.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    /// In ascending order of states.
    pub subsets: Vec<Vec<usize>>,
    /// By letter, in the order of the alphabet.
    pub next: Vec<Vec<Option<usize>>>,
}

/// Projects `automaton`. Gives up if `admit` refuses a subset or there are more than `limit`.
pub fn project(
    automaton: &Automaton,
    alphabet: &[MessageId],
    limit: usize,
    mut admit: impl FnMut(&[usize]) -> bool,
) -> Option<Projection> {
    let mut letter_of = vec![None; automaton.letters.len()];
    for (letter, message) in alphabet.iter().enumerate() {
        letter_of[*message] = Some(letter);
    }
    let first = close(automaton, &letter_of, vec![0]);
    let mut projection = Projection { subsets: vec![first.clone()], next: Vec::new() };
    if !admit(&first) {
        return None;
    }
    let mut known = HashMap::from([(first, 0)]);
    while projection.next.len() < projection.subsets.len() {
        let mut after = vec![Vec::new(); alphabet.len()];
        for &state in &projection.subsets[projection.next.len()] {
            for (message, next) in automaton.states[state].next.iter().enumerate() {
                if let (Some(letter), Some(next)) = (letter_of[message], next) {
                    after[letter].push(*next);
                }
            }
        }
        let mut next = vec![None; alphabet.len()];
        for (letter, states) in after.into_iter().enumerate().filter(|(_, states)| !states.is_empty()) {
            let subset = close(automaton, &letter_of, states);
            let fresh = projection.subsets.len();
            let to = *known.entry(subset.clone()).or_insert(fresh);
            if to == fresh {
                if fresh >= limit || !admit(&subset) {
                    return None;
                }
                projection.subsets.push(subset);
            }
            next[letter] = Some(to);
        }
        projection.next.push(next);
    }
    Some(projection)
}

/// The states themselves and those that hidden messages lead to.
fn close(automaton: &Automaton, letter_of: &[Option<usize>], mut states: Vec<usize>) -> Vec<usize> {
    let mut inside = vec![false; automaton.states.len()];
    states.retain(|state| !std::mem::replace(&mut inside[*state], true));
    let mut at = 0;
    while let Some(&state) = states.get(at) {
        at += 1;
        for (message, next) in automaton.states[state].next.iter().enumerate() {
            if let (None, Some(next)) = (letter_of[message], next) {
                if !std::mem::replace(&mut inside[*next], true) {
                    states.push(*next);
                }
            }
        }
    }
    states.sort_unstable();
    states
}
