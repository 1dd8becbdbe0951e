//! Dominators of a graph, after Cooper, Harvey and Kennedy: "A simple, fast dominance algorithm".

/// For each node its immediate dominator. Nodes are in reverse postorder, all reachable from node 0, which is its own.
pub(crate) fn dominators(predecessors: &[Vec<usize>]) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let mut dominator = vec![NONE; predecessors.len()];
    dominator[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for node in 1..predecessors.len() {
            let known = predecessors[node].iter().copied().filter(|from| dominator[*from] != NONE);
            let common = known.reduce(|a, b| meet(&dominator, a, b)).unwrap_or(NONE);
            if dominator[node] != common {
                dominator[node] = common;
                changed = true;
            }
        }
    }
    dominator
}

/// The nearest node that dominates both.
fn meet(dominator: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if a > b {
            a = dominator[a];
        } else {
            b = dominator[b];
        }
    }
    a
}

/// Whether every way to `node` passes `by`.
pub fn dominates(dominator: &[usize], by: usize, mut node: usize) -> bool {
    while node > by {
        node = dominator[node];
    }
    node == by
}
