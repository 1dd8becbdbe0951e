//! The sizes of a protocol, and how they are counted.
//!
//! - *Written*: what a person reads in the file. States are the leaves of the hierarchy (a superstate or region is not
//!   counted, its states are). An edge counts once for each message on it, also where it stands on a superstate.
//! - *Automaton*: the flattened protocol. States are combinations of leaves that can be reached; a transition is a state
//!   and a message that it enables.
//! - *Minimal*: the automaton with equivalent states merged.
//! - *Subprotocols*: how many the decomposition has, the states of the largest one, and of all together.
//!
//! The paper does not say how its table counts. It draws Statecharts, so *written* is probably the column to compare.

use crate::decompose::Decomposition;
use crate::minimise::minimise;
use crate::Checked;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sizes {
    pub protocol: String,
    pub messages: usize,
    pub written: Size,
    pub automaton: Size,
    pub minimal: Size,
    pub subprotocols: usize,
    pub largest_subprotocol: Size,
    pub all_subprotocols: Size,
    /// What the paper reports, for the protocols it has: states, transitions, subprotocols.
    pub paper: Option<[usize; 3]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, JsonSchema)]
pub struct Size {
    pub states: usize,
    pub transitions: usize,
}

/// Table 1 of the paper.
const PAPER: &[(&str, [usize; 3])] =
    &[("pci", [13, 41, 11]), ("ethernet", [17, 36, 6]), ("sata", [39, 70, 22]), ("audio", [8, 20, 6])];

pub fn sizes(checked: &Checked, decomposition: &Decomposition) -> Sizes {
    let (protocol, automaton) = (&checked.protocol, &checked.flat.automaton);
    let size = |automaton: &crate::automaton::Automaton| Size {
        states: automaton.states.len(),
        transitions: automaton.transitions(),
    };
    let leaves = (1..protocol.states.len()).filter(|state| protocol.is_leaf(*state)).count();
    let parts: Vec<Size> = decomposition.subprotocols.iter().map(|part| size(&part.automaton)).collect();
    Sizes {
        protocol: protocol.name.clone(),
        messages: protocol.messages.len(),
        written: Size { states: leaves, transitions: protocol.edges.len() },
        automaton: size(automaton),
        minimal: size(&minimise(automaton)),
        subprotocols: parts.len(),
        largest_subprotocol: parts.iter().max().copied().unwrap_or_default(),
        all_subprotocols: Size {
            states: parts.iter().map(|part| part.states).sum(),
            transitions: parts.iter().map(|part| part.transitions).sum(),
        },
        paper: PAPER.iter().find(|(name, _)| *name == protocol.name).map(|(_, sizes)| *sizes),
    }
}

/// The sizes of several protocols as a table for people.
pub fn table(all: &[Sizes]) -> String {
    let pair = |size: Size| format!("{}/{}", size.states, size.transitions);
    let mut out = format!(
        "{:<10} {:>9} {:>10} {:>10} {:>9} {:>13} {:>9} {:>12}\n",
        "protocol", "messages", "written", "automaton", "minimal", "subprotocols", "largest", "paper"
    );
    for one in all {
        let paper =
            one.paper.map_or("-".to_string(), |[states, transitions, parts]| format!("{states}/{transitions}/{parts}"));
        out.push_str(&format!(
            "{:<10} {:>9} {:>10} {:>10} {:>9} {:>13} {:>9} {:>12}\n",
            one.protocol,
            one.messages,
            pair(one.written),
            pair(one.automaton),
            pair(one.minimal),
            one.subprotocols,
            pair(one.largest_subprotocol),
            paper,
        ));
    }
    out.push_str("states/transitions; of the paper: states/transitions/subprotocols\n");
    out
}
