//! Deterministic automata: what a protocol is once its hierarchy is flattened.
//!
//! A message that is not enabled in a state is illegal there. Rule 4 forbids staying in a timed state for ever. In the
//! paper a timed state is one state of the automaton; here the state that is written `timed` may stand for many states
//! of the automaton, if it has states inside or regions beside it. So every written `timed` is a mark of its own, and
//! rule 4 is: no run stays for ever among the states that carry the same mark.
//!
//! Likewise for fairness. A written `fair` promises that one of the messages comes that are enabled in it, inside it or
//! around it; what regions beside it take is not part of the promise. So a state of the automaton has a set of promises,
//! each a set of incoming messages, and rule 3 is: an AWAIT covers all messages of at least one promise, of any protocol
//! of the driver. Without regions a fair state has one promise, all its incoming messages, as in the paper.

use std::collections::BTreeSet;

/// A message as an automaton sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    pub name: String,
    pub incoming: bool,
}

impl Letter {
    pub fn label(&self) -> String {
        format!("{}{}", if self.incoming { '?' } else { '!' }, self.name)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Automaton {
    pub letters: Vec<Letter>,
    /// The first one is the initial state; all can be reached.
    pub states: Vec<State>,
    /// Names of the states that are written `timed`.
    pub timed: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub name: String,
    /// By letter: where it leads, if it is enabled.
    pub next: Vec<Option<usize>>,
    /// Indices into [`Automaton::timed`].
    pub timed: BTreeSet<usize>,
    /// Promises: of each set of incoming messages, one will come.
    pub fair: BTreeSet<BTreeSet<usize>>,
    pub is_final: bool,
}

impl Automaton {
    pub fn transitions(&self) -> usize {
        self.states.iter().map(|state| state.next.iter().flatten().count()).sum()
    }

    /// Incoming messages enabled in a state.
    pub fn inputs(&self, state: usize) -> BTreeSet<usize> {
        self.enabled(state).filter(|letter| self.letters[*letter].incoming).collect()
    }

    /// Messages enabled in a state.
    pub fn enabled(&self, state: usize) -> impl Iterator<Item = usize> + '_ {
        self.states[state].next.iter().enumerate().filter(|(_, next)| next.is_some()).map(|(letter, _)| letter)
    }

    /// Every state's shortest run, as the last step that leads to it.
    pub fn shortest_runs(&self) -> Runs {
        let mut last = vec![None; self.states.len()];
        let mut order = vec![0];
        let mut seen = vec![false; self.states.len()];
        seen[0] = true;
        let mut at = 0;
        while let Some(&state) = order.get(at) {
            at += 1;
            for (letter, next) in self.states[state].next.iter().enumerate() {
                if let Some(next) = next.filter(|next| !seen[*next]) {
                    seen[next] = true;
                    last[next] = Some((state, letter));
                    order.push(next);
                }
            }
        }
        Runs { last }
    }

    /// A run as text.
    pub fn spell(&self, run: &[usize]) -> Vec<String> {
        run.iter().map(|letter| self.letters[*letter].label()).collect()
    }

    /// The state after a run, if the automaton allows it.
    pub fn after(&self, run: &[usize]) -> Option<usize> {
        run.iter().try_fold(0, |state, letter| self.states[state].next[*letter])
    }

    /// States from which `goal` can be reached by steps that `allowed(state, letter)` admits.
    pub fn can_reach(&self, goal: &[bool], allowed: impl Fn(usize, usize) -> bool) -> Vec<bool> {
        let mut back = vec![Vec::new(); self.states.len()];
        for (from, state) in self.states.iter().enumerate() {
            for letter in self.enabled(from).filter(|letter| allowed(from, *letter)) {
                if let Some(to) = state.next[letter] {
                    back[to].push(from);
                }
            }
        }
        let mut can = goal.to_vec();
        let mut work: Vec<usize> = (0..can.len()).filter(|state| can[*state]).collect();
        while let Some(state) = work.pop() {
            for &from in &back[state] {
                if !std::mem::replace(&mut can[from], true) {
                    work.push(from);
                }
            }
        }
        can
    }
}

/// Shortest runs from the initial state.
pub struct Runs {
    last: Vec<Option<(usize, usize)>>,
}

impl Runs {
    pub fn to(&self, mut state: usize) -> Vec<usize> {
        let mut run = Vec::new();
        while let Some((before, letter)) = self.last[state] {
            run.push(letter);
            state = before;
        }
        run.reverse();
        run
    }
}
