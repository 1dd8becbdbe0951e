//! First misses whose places in the walk can be told by hand.

use std::collections::BTreeMap;

use wcet_paths::ipet::{solve, Charge, Limit, Loop, Problem};

/// Two loops: from the inner one's first node the walk goes on inside, or out and around the outer loop. Only behind the
/// inner one's second node does it end.
fn left_before_the_second() -> Problem {
    let edges = vec![(0, 1), (1, 2), (2, 3), (3, 1), (3, 4), (4, 2), (4, 5)];
    Problem {
        nodes: 6,
        costs: vec![0; edges.len()],
        edges,
        exits: vec![5],
        loops: vec![
            Loop { header: 1, nodes: vec![1, 2, 3, 4], parent: None, bound: 3 },
            Loop { header: 2, nodes: vec![2, 3, 4], parent: Some(0), bound: 1 },
        ],
        ..Problem::default()
    }
}

/// Every walk comes to the second node at last, but not in the same entry of the inner loop: each entry pays.
#[test]
fn what_follows_in_another_entry_of_the_scope_does_not_count() {
    let mut problem = left_before_the_second();
    problem.charges.push(Charge { scope: Some(1), cycles: 10, nodes: vec![3, 4] });
    assert_eq!(solve(&problem, None).unwrap().bound, 30);
}

/// In the whole walk it does count.
#[test]
fn what_follows_in_the_same_entry_of_the_scope_counts() {
    let mut problem = left_before_the_second();
    problem.charges.push(Charge { scope: None, cycles: 10, nodes: vec![3, 4] });
    assert_eq!(solve(&problem, None).unwrap().bound, 10);
}

/// The inner loop is entered three times, its nodes 3 and 4 are executed twice: as 3 comes before 4 in each entry, the walk
/// pays twice and not, for four executions, at each of the three entries.
#[test]
fn the_walk_shown_pays_for_no_node_behind_another_of_the_charge() {
    let edges = vec![(0, 1), (1, 6), (1, 2), (2, 5), (2, 3), (3, 4), (4, 2), (5, 1)];
    let mut costs = vec![0; edges.len()];
    (costs[2], costs[5]) = (100, 5);
    let problem = Problem {
        nodes: 7,
        costs,
        edges,
        exits: vec![6],
        loops: vec![
            Loop { header: 1, nodes: vec![1, 2, 3, 4, 5], parent: None, bound: 4 },
            Loop { header: 2, nodes: vec![2, 3, 4], parent: Some(0), bound: 3 },
        ],
        charges: vec![Charge { scope: Some(1), cycles: 30, nodes: vec![3, 4] }],
        limits: vec![Limit { terms: BTreeMap::from([(5, 1)]), at_most: 2 }],
        ..Problem::default()
    };
    let found = solve(&problem, None).unwrap();
    assert_eq!((found.bound, found.walk.map(|(cost, _)| cost)), (370, Some(370)));
}
