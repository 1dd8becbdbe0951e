//! Verdicts that can be told by hand.

use std::collections::BTreeMap;
use wcet_hardware::cache::{analyse, Access, Charge, Graph, Kind, Node, Outcome, Scope, Sets, Target, Verdict};
use wcet_hardware::machine::{Branch, Cache, Holds, Issue, Machine, Memory, Pipeline, Policy, Region};

const LINE: u64 = 32;

fn cache(policy: Policy, ways: u64, sets: u64) -> Cache {
    Cache {
        name: "l1".into(),
        level: 1,
        holds: Holds::Both,
        sets,
        ways,
        line: LINE,
        policy,
        taken_as: policy.lru_ways(ways),
        locked_ways: 0,
        pinned: Vec::new(),
        latency: 1,
        write_back: 0,
        allocate_on_write: true,
    }
}

fn machine(caches: Vec<Cache>) -> Machine {
    Machine {
        name: "known".into(),
        about: String::new(),
        assumes: Vec::new(),
        clock: 0,
        pipeline: Pipeline { issue: Issue::Single, front: 0, queue: 1 },
        branch: Branch { taken: 9, not_taken: 9, foreseen: None, repeat: None, ahead: 0 },
        memory: Memory { latency: 100, write: 100 },
        caches,
        regions: vec![Region { name: "device".into(), range: (0x10000, 0x1ffff), latency: 300 }],
        classes: BTreeMap::new(),
        sources: BTreeMap::new(),
        numbers: Vec::new(),
    }
}

/// Fetches of lines by number, in one node.
fn fetches(lines: &[u64]) -> Node {
    Node { accesses: lines.iter().map(|line| Access::at(Kind::Fetch, line * LINE)).collect(), ..Node::default() }
}

fn straight(machine: &Machine, node: Node) -> Outcome {
    analyse(&Graph { nodes: vec![node], ..Graph::default() }, machine)
}

/// A node, then a loop of one node, then a node.
fn looping(machine: &Machine, body: Node) -> Outcome {
    let nodes = vec![fetches(&[]), body, fetches(&[])];
    let edges = vec![(0, 1), (1, 1), (1, 2)];
    analyse(&Graph { nodes, edges, entry: 0, scopes: vec![Scope { nodes: vec![1] }] }, machine)
}

const HIT: Verdict = Verdict { always_hit: true, always_miss: false, persistent: None };
const MISS: Verdict = Verdict { always_hit: false, always_miss: true, persistent: None };
const UNKNOWN: Verdict = Verdict { always_hit: false, always_miss: false, persistent: None };

#[test]
fn straight_code_on_a_small_lru_cache() {
    let outcome = straight(&machine(vec![cache(Policy::Lru, 2, 1)]), fetches(&[1, 1, 2, 1, 3, 4, 1]));
    let verdicts: Vec<Verdict> = (0..7).map(|access| outcome.verdict(0, access, 0)).collect();
    // 3 may have been there from before, as far as the analysis knows: lines 1 and 2 fill both ways, so it was not.
    assert_eq!(verdicts, [UNKNOWN, HIT, UNKNOWN, HIT, MISS, MISS, MISS]);
    assert_eq!((outcome.cost(0, 1).cycles, outcome.cost(0, 0).cycles), (1, 100));
}

#[test]
fn what_fits_is_loaded_once_in_a_loop() {
    let two = fetches(&[1, 2]);
    for (policy, kept) in [(Policy::Lru, true), (Policy::Fifo, true), (Policy::Plru, true), (Policy::Random, false)] {
        let outcome = looping(&machine(vec![cache(policy, 2, 1)]), two.clone());
        let expected = if kept { Some(0) } else { None };
        assert_eq!(outcome.verdict(1, 0, 0).persistent, expected, "{policy:?}");
        assert_eq!(outcome.cost(1, 0).cycles, if kept { 1 } else { 100 });
    }
    let outcome = looping(&machine(vec![cache(Policy::Lru, 2, 1)]), fetches(&[1, 2, 3]));
    assert!((0..3).all(|access| outcome.verdict(1, access, 0).persistent.is_none()));
}

#[test]
fn a_second_level_keeps_what_the_first_loses() {
    let mut second = cache(Policy::Lru, 4, 1);
    (second.level, second.latency) = (2, 10);
    let outcome = looping(&machine(vec![cache(Policy::Lru, 1, 1), second]), fetches(&[1, 2]));
    let cost = outcome.cost(1, 0);
    assert_eq!((cost.cycles, cost.beyond), (10, true));
    assert_eq!(cost.charges, [Charge { scope: 0, cache: 1, line: 1, cycles: 90 }]);
}

/// Two levels, of which only the first keeps code from data.
fn split() -> Machine {
    let mut first = cache(Policy::Lru, 1, 1);
    first.holds = Holds::Instructions;
    let mut second = cache(Policy::Lru, 1, 1);
    (second.name, second.level, second.latency) = ("l2".into(), 2, 10);
    machine(vec![first, second])
}

/// Charges of all accesses, as they are paid: of those with one scope, cache and line the largest.
fn paid(outcome: &Outcome, nodes: usize, graph: &Graph) -> BTreeMap<(usize, usize, u64), u64> {
    let mut paid = BTreeMap::new();
    for node in 0..nodes {
        for access in 0..graph.nodes[node].accesses.len() {
            for charge in outcome.cost(node, access).charges {
                let cycles: &mut u64 = paid.entry((charge.scope, charge.cache, charge.line)).or_default();
                *cycles = charge.cycles.max(*cycles);
            }
        }
    }
    paid
}

#[test]
fn a_line_that_the_first_level_keeps_is_loaded_once_from_all() {
    // By one branch code is fetched, then any data read, then the code is fetched again.
    let any = Node {
        accesses: vec![Access { kind: Kind::Read, target: Target::Anywhere, certain: true }],
        ..Node::default()
    };
    let nodes = vec![fetches(&[]), fetches(&[1]), fetches(&[]), any, fetches(&[1])];
    let edges = vec![(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)];
    let graph = Graph { nodes, edges, entry: 0, scopes: vec![Scope { nodes: (0..5).collect() }] };
    let outcome = analyse(&graph, &split());
    // The second level keeps it at the first fetch, and not at the second.
    assert_eq!((outcome.verdict(1, 0, 1).persistent, outcome.verdict(4, 0, 1).persistent), (Some(0), None));
    // One of them comes from memory, whichever: no less, and not from the second level besides.
    assert_eq!(paid(&outcome, 5, &graph), [((0, 0, 1), 100 - 1)].into());
}

#[test]
fn a_line_that_the_first_level_loses_is_charged_by_each_level() {
    // Inside a loop one line is fetched over and over, around it another in the same place: each time the inner loop is entered
    // the first level misses, and the second level, which has room for both, only once.
    let mut machine = split();
    (machine.caches[1].ways, machine.caches[1].taken_as) = (2, 2);
    let nodes = vec![fetches(&[]), fetches(&[2]), fetches(&[1]), fetches(&[])];
    let edges = vec![(0, 1), (1, 2), (2, 2), (2, 1), (2, 3)];
    let scopes = vec![Scope { nodes: vec![1, 2] }, Scope { nodes: vec![2] }];
    let graph = Graph { nodes, edges, entry: 0, scopes };
    let outcome = analyse(&graph, &machine);
    let of_line = |line: u64| paid(&outcome, 4, &graph).into_iter().filter(move |((_, _, other), _)| *other == line);
    assert_eq!(of_line(1).collect::<Vec<_>>(), [((0, 1, 1), 90), ((1, 0, 1), 9)]);
    // Without room in the second level it comes from memory each time that the inner loop is entered.
    let graph = Graph { nodes: graph.nodes, edges: graph.edges, entry: 0, scopes: graph.scopes };
    let outcome = analyse(&graph, &split());
    let of_line = paid(&outcome, 4, &graph).into_iter().filter(|((_, _, line), _)| *line == 1);
    assert_eq!(of_line.collect::<Vec<_>>(), [((1, 0, 1), 99)]);
}

#[test]
fn pinned_lines_hit_and_disturb_nothing() {
    let mut locked = cache(Policy::Lru, 2, 1);
    (locked.locked_ways, locked.taken_as, locked.pinned) = (1, 1, vec![(7 * LINE, 8 * LINE - 1)]);
    let outcome = straight(&machine(vec![locked]), fetches(&[7, 1, 7, 1]));
    let verdicts: Vec<Verdict> = (0..4).map(|access| outcome.verdict(0, access, 0)).collect();
    assert_eq!(verdicts, [HIT, UNKNOWN, HIT, HIT]);
}

#[test]
fn writes_around_a_cache_load_nothing() {
    let mut around = cache(Policy::Lru, 2, 1);
    around.allocate_on_write = false;
    let accesses = vec![Access::at(Kind::Write, 0), Access::at(Kind::Read, 0), Access::at(Kind::Write, 0)];
    let node = Node { accesses, ..Node::default() };
    let outcome = straight(&machine(vec![around]), node);
    let hits: Vec<bool> = (0..3).map(|access| outcome.verdict(0, access, 0).always_hit).collect();
    assert_eq!(hits, [false, false, true]);
}

#[test]
fn unknown_accesses_cost_the_slowest_device_and_age_all_sets() {
    let outcome = straight(
        &machine(vec![cache(Policy::Lru, 1, 4)]),
        Node {
            accesses: vec![
                Access::at(Kind::Fetch, 0),
                Access { kind: Kind::Read, target: Target::Anywhere, certain: true },
                Access::at(Kind::Fetch, 0),
            ],
            ..Node::default()
        },
    );
    assert_eq!(outcome.cost(0, 1).cycles, 300);
    assert_eq!(outcome.verdict(0, 2, 0), UNKNOWN);
}

fn read(target: Target) -> Access {
    Access { kind: Kind::Read, target, certain: true }
}

#[test]
fn a_line_at_an_unknown_address_stays_until_others_may_have_evicted_it() {
    let of = |accesses: Vec<Access>| {
        let number = accesses.len() - 1;
        let node = Node { accesses, ..Node::default() };
        straight(&machine(vec![cache(Policy::Lru, 2, 4)]), node).verdict(0, number, 0).always_hit
    };
    let (a, b) = (read(Target::Line(7, Sets::ANY)), read(Target::Line(9, Sets::ANY)));
    assert!(of(vec![a, a]) && of(vec![a, b, a]) && of(vec![a, b, b, a]));
    // Two others, or one and a line of which nothing is known.
    assert!(!of(vec![a, b, Access::at(Kind::Read, 0), a]) && !of(vec![a, b, read(Target::Memory), a]));
    // Other lines of which one at most is in its set.
    let known = |line: u64| Access::at(Kind::Read, line * LINE);
    assert!(of(vec![a, known(0), known(1), known(2), a]) && !of(vec![a, known(0), known(4), a]));
    // It may be the line that makes room for others.
    assert!(of(vec![known(0), a, known(0)]) && !of(vec![known(0), a, b, known(0)]));
    assert!(of(vec![known(0), a, a, a, known(0)]));
}

#[test]
fn lines_of_other_sets_evict_nothing() {
    let of = |accesses: Vec<Access>| {
        let number = accesses.len() - 1;
        let node = Node { accesses, ..Node::default() };
        straight(&machine(vec![cache(Policy::Lru, 2, 4)]), node).verdict(0, number, 0).always_hit
    };
    let some = |name: u64, modulus: u64, rest: u64| read(Target::Line(name, Sets { modulus, rest }));
    let (even, odd) = (some(1, 2, 0), |name: u64| some(name, 2, 1));
    assert!(
        of(vec![even, odd(2), odd(3), odd(4), even])
            && of(vec![some(1, 4, 1), some(2, 4, 3), some(3, 4, 3), some(1, 4, 1)])
    );
    assert!(!of(vec![odd(1), odd(2), odd(3), odd(1)]) && !of(vec![even, odd(2), some(3, 1, 0), some(4, 4, 2), even]));
    // Of numbers beyond those of sets no more is known than of sets.
    assert!(!of(vec![some(1, 8, 0), some(2, 8, 4), some(3, 8, 4), some(1, 8, 0)]));
    // An address that is known is in one set.
    let known = |line: u64| Access::at(Kind::Read, line * LINE);
    assert!(of(vec![known(2), odd(1), odd(2), odd(3), known(2)]) && !of(vec![known(1), odd(1), odd(2), known(1)]));
}

#[test]
fn a_name_means_another_line_when_it_is_renewed() {
    let line = || vec![read(Target::Line(1, Sets::ANY))];
    let of = |renews: Vec<u64>| {
        let nodes = vec![Node { accesses: line(), renews }, Node { accesses: line(), ..Node::default() }];
        let graph = Graph { nodes, edges: vec![(0, 1)], entry: 0, scopes: Vec::new() };
        analyse(&graph, &machine(vec![cache(Policy::Lru, 2, 4)])).verdict(1, 0, 0).always_hit
    };
    assert!(of(Vec::new()) && of(vec![2]) && !of(vec![1]));
}

#[test]
fn a_walk_misses_once_for_each_line() {
    let of = |others: usize, edges: Vec<(usize, usize)>| {
        let mut accesses = vec![read(Target::Walk { name: 0, lines: 3 })];
        accesses.extend((0..others).map(|_| read(Target::Memory)));
        let nodes = vec![Node::default(), Node { accesses, ..Node::default() }];
        let graph = Graph { nodes, edges, entry: 0, scopes: vec![Scope { nodes: vec![1] }] };
        let cost = analyse(&graph, &machine(vec![cache(Policy::Lru, 2, 4)])).cost(1, 0);
        (cost.cycles, cost.charges.len())
    };
    let edges = || vec![(0, 1), (1, 1)];
    let (near, _) = of(0, edges());
    assert_eq!((of(0, edges()), of(1, edges())), ((near, 3), (near, 3)));
    let (far, charges) = of(2, edges());
    assert!(far > near && charges == 0);
}

#[test]
fn forgetting_is_of_all_sets_whatever_its_target() {
    let elsewhere = Target::Line(0, Sets { modulus: 4, rest: 2 });
    for target in [Target::Anywhere, elsewhere] {
        let mut body = fetches(&[1]);
        body.accesses.push(Access { kind: Kind::Forget, target, certain: false });
        let outcome = looping(&machine(vec![cache(Policy::Lru, 1, 4)]), body);
        assert_eq!(outcome.verdict(1, 0, 0).persistent, None, "{target:?}");
    }
}

#[test]
fn a_write_past_the_caches_takes_what_memory_says() {
    let mut around = machine(vec![Cache { allocate_on_write: false, ..cache(Policy::Lru, 2, 1) }]);
    around.memory.write = 7;
    let accesses = vec![Access::at(Kind::Write, 0), Access::at(Kind::Read, 0)];
    let outcome = straight(&around, Node { accesses, ..Node::default() });
    assert_eq!([0, 1].map(|access| outcome.cost(0, access).cycles), [7, 100]);
}
