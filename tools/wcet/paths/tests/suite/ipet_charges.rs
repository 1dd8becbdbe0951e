//! First misses whose places in the walk can be told by hand.

use wcet_paths::ipet::{solve, Charge, Loop, Problem};

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
