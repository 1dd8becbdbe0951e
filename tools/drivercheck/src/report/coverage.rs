//! Which transitions of the protocols a driver may take. A transition that no run takes shows a vacuous proof, or a part of
//! the protocol that the driver does not use.

use crate::abstraction::explore::{Found, Space};
use crate::program::Op;
use crate::rules::safety::{Context, LIMIT};
use crate::solver::{Solver, SolverError};
use std::collections::BTreeSet;

/// By protocol: states of its automaton, and messages that are taken in them. Data is ignored, so this over-approximates.
pub fn covered(context: &Context) -> Result<Vec<BTreeSet<(usize, usize)>>, SolverError> {
    let mut all = Vec::new();
    let program = context.program;
    for protocol in 0..context.protocols.all.len() {
        let component = context.protocols.whole(protocol);
        let mut space = Space::new(program, vec![component], true);
        let taken = std::cell::RefCell::new(BTreeSet::new());
        let note = |_: &Space, states: &[u16], op: &Op| {
            if let Op::Emit(message) | Op::Receive(message) = op {
                if message.0 == protocol && context.protocols.automaton(protocol).states.len() > usize::from(states[0])
                {
                    taken.borrow_mut().insert((usize::from(states[0]), message.1));
                }
            }
            false
        };
        if let Found::TooMuch = space.explore(program, &mut Solver::new()?, LIMIT, false, &note)? {
            all.push(BTreeSet::new());
            continue;
        }
        let enabled = |(state, message): &(usize, usize)| {
            context.protocols.automaton(protocol).states[*state].next[*message].is_some()
        };
        all.push(taken.into_inner().into_iter().filter(enabled).collect());
    }
    Ok(all)
}
