//! Functions that call themselves, directly or through others: each cycle of calls needs a function with a stated depth.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wcet_binary::load::Program;

use crate::error::{Error, Problem};
use crate::graph::Graph;
use crate::loops::components;
use crate::Options;

/// An error for each group of functions in which a cycle of calls leads through none with a stated depth.
pub(crate) fn check(graph: &Graph, program: &Program, options: &Options) -> Vec<Error> {
    let entries: Vec<u64> = graph.functions.keys().copied().collect();
    let index: BTreeMap<u64, usize> = entries.iter().enumerate().map(|(index, entry)| (*entry, index)).collect();
    let open = |entry: &u64| !options.recursion.contains_key(entry);
    let callees = |entry: &u64| -> Vec<usize> {
        let all = graph.callees(*entry);
        all.iter().filter(|callee| open(callee)).filter_map(|callee| index.get(callee).copied()).collect()
    };
    let successors: Vec<Vec<usize>> =
        entries.iter().map(|entry| if open(entry) { callees(entry) } else { Vec::new() }).collect();
    let mut errors = Vec::new();
    for component in components(&successors) {
        let Some(first) = within_all(&successors, &component) else { continue };
        let names = cycle(&successors, first).into_iter().map(|node| program.describe(entries[node]));
        let function = program.describe(entries[first]);
        let problem = Problem::Recursion { function: function.clone(), cycle: names.collect::<Vec<_>>().join(", ") };
        errors.push(Error { address: entries[first], place: function, problem });
    }
    errors
}

/// Of a strongly connected component with a cycle, a member that is on all cycles, if there is one: its depth is all that must
/// be stated. Otherwise any member on a cycle; none if there is no cycle.
fn within_all(successors: &[Vec<usize>], component: &BTreeSet<usize>) -> Option<usize> {
    let first = *component.first()?;
    if component.len() == 1 {
        return successors[first].contains(&first).then_some(first);
    }
    let is_left_by = |without: usize| {
        let inside = |node: &usize| *node != without && component.contains(node);
        let rest: Vec<Vec<usize>> = (0..successors.len())
            .map(|node| successors[node].iter().filter(|next| inside(&node) && inside(next)).copied().collect())
            .collect();
        components(&rest).iter().all(|one| one.len() == 1 && !one.iter().any(|node| rest[*node].contains(node)))
    };
    Some(component.iter().copied().find(|node| is_left_by(*node)).unwrap_or(first))
}

/// The fewest calls that lead from a function to itself, beginning with it. It must be on a cycle.
fn cycle(successors: &[Vec<usize>], start: usize) -> Vec<usize> {
    let mut from: BTreeMap<usize, usize> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for next in &successors[node] {
            if *next == start {
                let mut way = vec![node];
                while way[0] != start {
                    way.insert(0, from[&way[0]]);
                }
                return way;
            }
            if !from.contains_key(next) {
                from.insert(*next, node);
                open.push_back(*next);
            }
        }
    }
    vec![start]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(successors: &[Vec<usize>]) -> Vec<Option<usize>> {
        components(successors).iter().map(|one| within_all(successors, one)).collect()
    }

    #[test]
    fn the_function_that_is_on_all_cycles_is_named() {
        // 0 calls 1 and 2, which call 0; 1 calls 2.
        let both = vec![vec![1, 2], vec![0, 2], vec![0]];
        assert_eq!(first(&both), [Some(0)]);
        assert_eq!(cycle(&both, 0), [0, 1]);
        // Through 1, 2 and 1, 0: only 1 is on both.
        assert_eq!(first(&[vec![1], vec![0, 2], vec![1]]), [Some(1)]);
        // No function is on the cycles 0, 1 and 2, 3.
        assert_eq!(first(&[vec![1], vec![0, 2], vec![3], vec![2, 0]]), [Some(0)]);
    }

    #[test]
    fn what_does_not_call_itself_is_not_named() {
        assert_eq!(first(&[vec![1], vec![]]), [None, None]);
        assert_eq!(first(&[vec![0]]), [Some(0)]);
    }
}
