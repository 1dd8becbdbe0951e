//! From counts to a walk: Hierholzer's construction of an Eulerian path.

use std::collections::BTreeMap;

use crate::ipet::problem::{Counts, Problem};

/// Edges in an order in which a walk takes them, if there are at most `most`. The counts must be those of a walk. Which
/// iterations of a loop come first, the counts do not say.
pub fn walk(problem: &Problem, counts: &Counts, most: u64) -> Option<Vec<usize>> {
    let total = counts.values().try_fold(0u64, |sum, count| sum.checked_add(*count))?;
    if total > most {
        return None;
    }
    let mut left = counts.clone();
    let mut out: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    counts.keys().for_each(|edge| out.entry(problem.edges[*edge].0).or_default().push(*edge));
    let mut open: Vec<(usize, Option<usize>)> = vec![(0, None)];
    let mut taken = Vec::new();
    while let Some(&(node, by)) = open.last() {
        let edges = out.entry(node).or_default();
        match edges.last().copied() {
            None => {
                taken.extend(by);
                open.pop();
            }
            Some(edge) => {
                if let Some(count) = left.get_mut(&edge) {
                    *count -= 1;
                    if *count == 0 {
                        edges.pop();
                    }
                }
                open.push((problem.edges[edge].1, Some(edge)));
            }
        }
    }
    taken.reverse();
    (taken.len() as u64 == total).then_some(taken)
}
