//! Forward data-flow analysis: what holds before each node of a graph, on all paths to it.
//!
//! The lattice is the caller's. It must have no infinite ascending chains, or `join` must cut them off.

use std::collections::{BTreeMap, BTreeSet};

/// The states before the nodes that are reached from `start`. `transfer` gives the state along each edge out of a node, and
/// `join` adds what holds on another path to a node's state, and says whether that changed it.
pub fn forward<State>(
    start: (usize, State),
    mut transfer: impl FnMut(usize, &State) -> Vec<(usize, State)>,
    mut join: impl FnMut(&mut State, &State) -> bool,
) -> BTreeMap<usize, State> {
    let mut open = BTreeSet::from([start.0]);
    let mut before = BTreeMap::from([start]);
    while let Some(node) = open.pop_first() {
        for (to, after) in transfer(node, &before[&node]) {
            let changed = match before.get_mut(&to) {
                Some(known) => join(known, &after),
                None => before.insert(to, after).is_none(),
            };
            if changed {
                open.insert(to);
            }
        }
    }
    before
}
