//! The checks beyond syntax, on the flattened automaton. Each fault comes with the shortest run that leads to it.

mod reach;
mod structure;

use crate::findings::Findings;
use crate::flatten::Flat;
use crate::model::Protocol;

/// Everything the checks look at.
struct Subject<'a> {
    protocol: &'a Protocol,
    flat: &'a Flat,
    runs: crate::automaton::Runs,
}

impl Subject<'_> {
    /// The shortest run to a state of the automaton.
    fn witness(&self, state: usize) -> Vec<String> {
        self.flat.automaton.spell(&self.runs.to(state))
    }

    /// For a fault in a state of the automaton: the written state to point at, the innermost that `choose` picks.
    fn leaf(&self, state: usize) -> &crate::model::State {
        &self.protocol.states[self.flat.leaves[state].last().copied().unwrap_or_default()]
    }
}

/// Checks a flattened protocol. Every fault goes to `report`.
pub fn check(protocol: &Protocol, flat: &Flat, report: &mut Findings) {
    if flat.is_cut_off || flat.automaton.states.is_empty() {
        return structure::too_large(protocol, flat, report);
    }
    let subject = Subject { protocol, flat, runs: flat.automaton.shortest_runs() };
    structure::conflicts(&subject, report);
    structure::unused(&subject, report);
    structure::unreachable(&subject, report);
    reach::silent(&subject, report);
    reach::ends(&subject, report);
    reach::timed(&subject, report);
}
