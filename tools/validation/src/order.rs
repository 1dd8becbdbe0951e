//! Which state is explored next: the one that is furthest behind in the text of the term. So what comes to a place by
//! different ways is there before any of it goes on, and can be merged.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::Engine;
use crate::program::Program;
use crate::state::{Item, State};

/// Of so many states that wait at one place none are fused: each is compared with each, and wrong code leads to thousands.
const MOST_FUSED: usize = 256;

#[derive(Default)]
pub struct Queue {
    /// By place in the text, the later state of a place first.
    waiting: BTreeMap<(Vec<u32>, Reverse<u64>), State>,
    pushed: u64,
}

/// For each function that the term is in, from the outside in, the statement that comes next; a function that has ended is
/// behind all that are still at work.
fn place(program: &Program, state: &State) -> Vec<u32> {
    let mut place = Vec::new();
    let mut next = u32::MAX;
    for item in &state.stack {
        match item {
            Item::Stmt(stmt) | Item::Loop(stmt) => {
                next = program.lines.get(&(Arc::as_ptr(stmt) as usize)).copied().unwrap_or(0);
            }
            Item::Return { .. } => {
                place.push(next);
                next = u32::MAX;
            }
            Item::End => {}
        }
    }
    place.push(next);
    place.push(u32::MAX);
    place
}

impl Queue {
    pub fn push(&mut self, program: &Program, state: State) {
        self.pushed += 1;
        self.waiting.insert((place(program, &state), Reverse(self.pushed)), state);
    }

    /// The next state; all that wait at its place are there by now, and may have become one.
    pub fn pop(&mut self, engine: &Engine<'_>) -> Option<State> {
        if !engine.fuses {
            return self.waiting.pop_first().map(|(_, state)| state);
        }
        let first = self.waiting.first_key_value()?.0 .0.clone();
        let of_place = (first.clone(), Reverse(u64::MAX))..=(first.clone(), Reverse(0));
        let keys: Vec<_> = self.waiting.range(of_place).map(|(key, _)| key.clone()).collect();
        if keys.len() > MOST_FUSED {
            return self.waiting.pop_first().map(|(_, state)| state);
        }
        let states: Vec<State> = keys.iter().filter_map(|key| self.waiting.remove(key)).collect();
        let mut fused = engine.fused(states).into_iter();
        let next = fused.next();
        for (key, state) in keys.into_iter().skip(1).zip(fused) {
            self.waiting.insert(key, state);
        }
        next
    }
}
