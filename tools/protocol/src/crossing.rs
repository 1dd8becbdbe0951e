//! Messages that cross: the client sends what is enabled, while the driver emits what forbids it.
//!
//! A protocol counts a message of the client when the driver receives it; by then it may have been under way for a while.
//! If an output leads to a state that does not enable it any more, the message stays in its mailbox until a state does,
//! which may be a state for which the client did not send it. That is harmless where the client sends the message only in answer to
//! something, or where a late message does no harm; only a person can tell. So these are no faults.

use crate::automaton::Automaton;
use serde::Serialize;
use std::collections::BTreeSet;

/// An output after which an input is no longer enabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Crossing {
    pub output: String,
    pub input: String,
    /// Where it happens first, and where the output leads.
    pub state: String,
    pub after: String,
    /// The shortest run to there.
    pub witness: Vec<String>,
}

impl std::fmt::Display for Crossing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Crossing { output, input, state, after, witness } = self;
        write!(f, "{output} may cross {input}: in {state}, not in {after}\n    witness: {}", witness.join(" "))
    }
}

/// Every pair of messages that may cross, once.
pub fn crossings(automaton: &Automaton) -> Vec<Crossing> {
    let runs = automaton.shortest_runs();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (id, state) in automaton.states.iter().enumerate() {
        for output in automaton.enabled(id).filter(|letter| !automaton.letters[*letter].incoming) {
            let Some(after) = state.next[output].map(|after| (after, automaton.inputs(after))) else { continue };
            for &input in automaton.inputs(id).difference(&after.1) {
                if seen.insert((output, input)) {
                    found.push(Crossing {
                        output: automaton.letters[output].label(),
                        input: automaton.letters[input].label(),
                        state: state.name.clone(),
                        after: automaton.states[after.0].name.clone(),
                        witness: automaton.spell(&runs.to(id)),
                    });
                }
            }
        }
    }
    found
}
