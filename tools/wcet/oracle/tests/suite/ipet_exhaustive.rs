//! Random small graphs, all of whose walks are enumerated: no walk costs more than the bound, and where the bound is
//! said to be exact, one costs as much. `TIMING_CASES` sets the number of graphs.

use std::collections::BTreeMap;

use crate::graphs::{graph, walks};
use crate::random::{cases, Random};
use wcet_paths::ipet::{solve, walk, Charge, Conflict, Limit, Problem};

/// The longest walk, if walks are few enough to look at all of them.
fn longest(problem: &Problem) -> Option<Option<u128>> {
    let mut most = None;
    let complete = walks(problem, 30_000, |walk| {
        if crate::graphs::respects(problem, walk) {
            most = most.max(Some(crate::graphs::cost(problem, walk)));
        }
    });
    complete.then_some(most)
}

struct Tally {
    compared: u64,
    exact: u64,
}

fn check(problem: &Problem, seed: u64, must_be_exact: bool, tally: &mut Tally) {
    let Some(most) = longest(problem) else { return };
    let Some(most) = most else { return };
    let found = solve(problem, None).unwrap_or_else(|| panic!("seed {seed}: a walk was overlooked\n{problem:#?}"));
    assert!(found.bound >= most, "seed {seed}: bound {} below a walk of {most}\n{problem:#?}", found.bound);
    tally.compared += 1;
    let exact = found.walk.as_ref().is_some_and(|(cost, _)| *cost == found.bound);
    tally.exact += u64::from(found.bound == most);
    if let Some((cost, counts)) = &found.walk {
        assert!(*cost <= found.bound, "seed {seed}: a walk of {cost} above {}\n{problem:#?}\n{counts:?}", found.bound);
        let edges = walk(problem, counts, 1_000_000).unwrap_or_else(|| panic!("seed {seed}: no walk\n{problem:#?}"));
        let mut node = 0;
        for edge in edges {
            assert_eq!(problem.edges[edge].0, node, "seed {seed}");
            node = problem.edges[edge].1;
        }
        assert!(problem.exits.contains(&node));
    }
    // What is paid at the entry of a loop is an upper bound by itself: a walk may need it at fewer entries.
    if exact && problem.charges.iter().all(|charge| charge.scope.is_none()) {
        assert_eq!(found.bound, most, "seed {seed}: said to be exact\n{problem:#?}");
    }
    if must_be_exact {
        assert!(exact, "seed {seed}: {} for {most}\n{problem:#?}", found.bound);
    }
}

fn show(what: &str, tally: &Tally) {
    println!("{what}: {} graphs, {} bounded exactly", tally.compared, tally.exact);
    assert!(tally.compared > 0);
}

fn charges(random: &mut Random, problem: &mut Problem, loops: bool) {
    for _ in 0..1 + random.below_u64(4) {
        let scope = (loops && !problem.loops.is_empty() && random.one_in(2))
            .then(|| random.below_u64(problem.loops.len() as u64) as usize);
        let all: Vec<usize> = match scope {
            Some(scope) => problem.loops[scope].nodes.clone(),
            None => (0..problem.nodes).collect(),
        };
        let nodes = (0..1 + random.below_u64(3)).map(|_| random.pick(&all)).collect::<std::collections::BTreeSet<_>>();
        problem.charges.push(Charge { scope, cycles: random.below_u64(60), nodes: nodes.into_iter().collect() });
    }
}

#[test]
fn loops_alone_are_bounded_exactly() {
    let mut tally = Tally { compared: 0, exact: 0 };
    for seed in 0..cases(3000) {
        let problem = graph(&mut Random(seed * 7919 + 1), 3);
        check(&problem, seed, true, &mut tally);
    }
    show("loops", &tally);
}

#[test]
fn conflicts_are_respected_exactly() {
    let mut tally = Tally { compared: 0, exact: 0 };
    for seed in 0..cases(3000) {
        let mut random = Random(seed * 104_729 + 3);
        let mut problem = graph(&mut random, 3);
        for _ in 0..1 + random.below_u64(3) {
            let edges: std::collections::BTreeSet<usize> =
                (0..2 + random.below_u64(3)).map(|_| random.below_u64(problem.edges.len() as u64) as usize).collect();
            let scope = crate::graphs::common_scope(&problem, &edges);
            problem.conflicts.push(Conflict { scope, edges: edges.into_iter().collect() });
        }
        check(&problem, seed, true, &mut tally);
    }
    show("conflicts", &tally);
}

#[test]
fn charges_are_never_too_low() {
    let mut tally = Tally { compared: 0, exact: 0 };
    for seed in 0..cases(3000) {
        let mut random = Random(seed * 15_485_863 + 5);
        let mut problem = graph(&mut random, 3);
        let loops = random.one_in(2);
        charges(&mut random, &mut problem, loops);
        check(&problem, seed, false, &mut tally);
    }
    show("charges", &tally);
    assert!(tally.exact * 100 >= tally.compared * 80);
}

#[test]
fn limits_are_never_too_low() {
    let mut tally = Tally { compared: 0, exact: 0 };
    for seed in 0..cases(3000) {
        let mut random = Random(seed * 32_452_843 + 7);
        let mut problem = graph(&mut random, 3);
        for _ in 0..1 + random.below_u64(3) {
            let terms: BTreeMap<usize, i64> = (0..1 + random.below_u64(3))
                .map(|_| (random.below_u64(problem.edges.len() as u64) as usize, random.below_u64(4) as i64 - 1))
                .collect();
            problem.limits.push(Limit { terms, at_most: random.below_u64(7) as i64 });
        }
        if random.one_in(2) {
            charges(&mut random, &mut problem, true);
        }
        check(&problem, seed, false, &mut tally);
    }
    show("limits", &tally);
    assert!(tally.exact * 100 >= tally.compared * 60);
}
