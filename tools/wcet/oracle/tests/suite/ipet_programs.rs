//! Small programs in C, compiled for each instruction set, from the executable to the bound: no walk through their code
//! takes longer on the simulator, and the worst walk comes close.

use std::collections::{BTreeMap, BTreeSet};

use crate::compiled::{graph, Target, TARGETS};
use crate::random::Random;
use wcet_flow::context::{expand, Expanded};
use wcet_hardware::machine::Machine;
use wcet_oracle::simulate::{Pointer, Simulator};
use wcet_paths::ipet::{Anywhere, Bound, Conflict, Constraints, Fault, Limit, Options, Prepared, Total};

fn machine(name: &str) -> Machine {
    let path = format!("{}/../../../machines/timing/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    wcet_hardware::machine::load(path.as_ref()).unwrap_or_else(|faults| panic!("{faults}"))
}

const MACHINES: [&str; 3] = ["arm1136-kzm", "riscv-inorder", "x86-inorder"];

/// Whether the machine has costs for what the target's programs consist of.
fn suits(machine: &str, target: Target) -> bool {
    match machine {
        "riscv-inorder" => target.compiler.starts_with("riscv"),
        "x86-inorder" => target.compiler == "gcc",
        _ => !target.compiler.starts_with("riscv"),
    }
}

/// A program, and how often its loops run: by function and depth of nesting.
struct Example {
    source: &'static str,
    bounds: &'static [(&'static str, usize, u64)],
}

const EXAMPLES: &[Example] = &[
    Example { source: "volatile int x; int start(int n) { x = n; return x + 3; }", bounds: &[] },
    Example {
        source: "volatile int x; int start(int n) { for (int i = 0; i < 10; i++) x += i; return x; }",
        bounds: &[("start", 1, 11)],
    },
    Example {
        source: "volatile int x, y; __attribute__((noinline)) int leaf(int n) { int s = 0; for (int i = 0; i < 5; i++) { if (x & i) s += y; else s -= x; } return s; }
            int start(int n) { int s = 0; for (int i = 0; i < 7; i++) { s += leaf(i); if (y == i) break; y = s; } return s + leaf(s); }",
        bounds: &[("start", 1, 8), ("leaf", 1, 6)],
    },
    Example {
        source: "volatile int x; int start(int n) { for (int i = 0; i < 6; i++) for (int j = 0; j < 4; j++) { x = i * j; if (x == 3) return 1; } return 0; }",
        bounds: &[("start", 1, 7), ("start", 2, 5)],
    },
];

struct Case<'g> {
    prepared: &'g Prepared<'g, 'g>,
    machine: &'g Machine,
    bounds: &'g BTreeMap<usize, u64>,
}

fn bounds_of(expanded: &Expanded<'_>, example: &Example) -> BTreeMap<usize, u64> {
    let of = |number: usize| {
        let one = &expanded.loops[number];
        let function = expanded.function(one.context);
        let depth = function.loops[one.index].depth;
        let stated = example.bounds.iter().find(|(name, at, _)| *name == function.name && *at == depth);
        // Compilers unroll or turn loops: a loop that is not stated has the bound of the function's first.
        let first = example.bounds.iter().find(|(name, _, _)| *name == function.name);
        (number, stated.or(first).map_or(1, |(_, _, bound)| *bound))
    };
    (0..expanded.loops.len()).map(of).collect()
}

/// A walk that picks edges at random and keeps the bounds of loops, as edges of the model.
fn random_walk(random: &mut Random, expanded: &Expanded<'_>, case: &Case<'_>) -> Option<Vec<usize>> {
    let model = &case.prepared.model;
    let mut rounds: BTreeMap<usize, u64> = BTreeMap::new();
    let (mut block, mut walk) = (model.program.entry, Vec::new());
    loop {
        if expanded.exits.contains(&model.nodes[block]) {
            return Some(walk);
        }
        let within = |edge: &usize| {
            let original = model.edges[*edge];
            let closed = expanded.loops.iter().position(|one| one.back.contains(&original));
            closed.is_none_or(|number| rounds.get(&number).copied().unwrap_or(1) < case.bounds[&number])
        };
        let ways: Vec<usize> =
            (0..model.edges.len()).filter(|edge| model.program.edges[*edge].from == block).filter(within).collect();
        if ways.is_empty() {
            return None;
        }
        let edge = random.pick(&ways);
        let original = model.edges[edge];
        for (number, one) in expanded.loops.iter().enumerate() {
            if one.entries.contains(&original) {
                rounds.insert(number, 1);
            } else if one.back.contains(&original) {
                *rounds.entry(number).or_insert(1) += 1;
            }
        }
        walk.push(edge);
        block = model.program.edges[edge].to;
    }
}

fn simulated(random: &mut Random, case: &Case<'_>, walk: &[usize]) -> u64 {
    let trace = crate::traces::trace(random, &case.prepared.model.program, walk, 0x4000);
    let mut simulator = Simulator::new(case.machine, Pointer::OfEachSet, random.next());
    simulator.run(&trace).expect("every class has a cost")
}

fn solved(prepared: &Prepared<'_, '_>, constraints: &Constraints) -> Bound {
    let found = prepared.bound(constraints, &Options::default());
    found.unwrap_or_else(|errors| panic!("{errors:?}"))
}

#[test]
fn no_walk_takes_longer_and_the_worst_comes_close() {
    for name in MACHINES {
        let machine = machine(name);
        for (example, target) in EXAMPLES.iter().flat_map(|example| TARGETS.map(|target| (example, target))) {
            if !suits(name, target) {
                continue;
            }
            let (program, graph) = graph(target, example.source);
            let expanded = expand(&graph, program.symbol("start").unwrap().address, &Default::default()).unwrap();
            let bounds = bounds_of(&expanded, example);
            let none = BTreeSet::new();
            let prepared = Prepared::new(&program, &expanded, &machine, &bounds, &Anywhere, &none);
            let prepared = prepared.unwrap_or_else(|errors| panic!("{target:?}: {errors:?}"));
            let found = solved(&prepared, &Constraints::default());
            let case = Case { prepared: &prepared, machine: &machine, bounds: &bounds };
            let mut random = Random(7);
            let mut most = 0;
            for _ in 0..200 {
                let Some(walk) = random_walk(&mut random, &expanded, &case) else { continue };
                let cycles = simulated(&mut random, &case, &walk);
                assert!(cycles <= found.wcet_cycles, "{target:?}: {cycles} cycles, bound {}", found.wcet_cycles);
                most = most.max(cycles);
            }
            let index: BTreeMap<usize, usize> =
                prepared.model.edges.iter().enumerate().map(|(index, edge)| (*edge, index)).collect();
            let worst: Vec<usize> = found.walk(100_000).unwrap().iter().map(|edge| index[edge]).collect();
            let cycles = simulated(&mut random, &case, &worst);
            assert!(cycles <= found.wcet_cycles && most > 0);
            assert!(found.exact, "{target:?}: {} of {}", found.path_cycles, found.wcet_cycles);
            println!("{name} {}: bound {}, worst walk {cycles}, others {most}", target.compiler, found.wcet_cycles);
            let counted: u64 = found.path.iter().map(|visit| visit.cycles).sum();
            assert_eq!(counted + found.first_misses.values().sum::<u64>(), found.path_cycles);
        }
    }
}

/// What a part of a walk takes on the simulator: from behind its first so many edges to behind others.
fn of_part(random: &mut Random, case: &Case<'_>, walk: &[usize], first: usize, last: usize) -> u64 {
    let program = &case.prepared.model.program;
    let trace = crate::traces::trace(random, program, walk, 0x4000);
    let seed = random.next();
    let instructions = |edges: &[usize]| {
        let blocks = std::iter::once(program.entry).chain(edges.iter().map(|edge| program.edges[*edge].to));
        blocks.map(|block| program.blocks[block].instructions.len()).sum::<usize>()
    };
    let time = |edges: &[usize]| {
        let mut simulator = Simulator::new(case.machine, Pointer::OfEachSet, seed);
        simulator.run(&trace[..instructions(edges)]).expect("every class has a cost")
    };
    time(&walk[..=last]) - time(&walk[..first])
}

#[test]
fn parts_of_walks_take_no_longer_than_stretches() {
    for name in MACHINES {
        let machine = machine(name);
        let (mut compared, mut smaller) = (0, 0);
        for (example, target) in EXAMPLES.iter().flat_map(|example| TARGETS.map(|target| (example, target))) {
            if !suits(name, target) {
                continue;
            }
            let (program, graph) = graph(target, example.source);
            let expanded = expand(&graph, program.symbol("start").unwrap().address, &Default::default()).unwrap();
            let bounds = bounds_of(&expanded, example);
            let prepared = Prepared::new(&program, &expanded, &machine, &bounds, &Anywhere, &BTreeSet::new()).unwrap();
            let whole = solved(&prepared, &Constraints::default()).wcet_cycles;
            let edges: BTreeSet<usize> = (0..expanded.edges.len()).collect();
            let exits: BTreeSet<usize> = expanded.exits.iter().copied().collect();
            // From the entry to the exits a stretch is the whole.
            let all = prepared.stretch(expanded.entry, &edges, &exits, &[]).unwrap();
            assert_eq!(all.cycles(), Some(whole), "{target:?}");
            let heaviest = prepared.heaviest(&Constraints::default(), |node| node as u64 % 3).unwrap();
            assert_eq!(all.heaviest(|node| node as u64 % 3), heaviest, "{target:?}");
            // What is left out is not gone through.
            assert!(
                prepared.stretch(expanded.entry, &BTreeSet::new(), &exits, &[]).unwrap().cycles().is_none()
                    || edges.is_empty()
            );
            let case = Case { prepared: &prepared, machine: &machine, bounds: &bounds };
            let mut random = Random(11);
            for _ in 0..100 {
                let Some(walk) = random_walk(&mut random, &expanded, &case).filter(|walk| !walk.is_empty()) else {
                    continue;
                };
                let first = random.below_u64(walk.len() as u64) as usize;
                let last = first + random.below_u64((walk.len() - first) as u64) as usize;
                let node = |edge: usize| prepared.model.nodes[prepared.model.program.edges[walk[edge]].to];
                let taken = walk[first + 1..=last].iter().map(|edge| prepared.model.edges[*edge]).collect();
                let Some(part) = prepared.stretch(node(first), &taken, &BTreeSet::from([node(last)]), &[]) else {
                    continue;
                };
                let bound = part.cycles().expect("the walk ends there");
                let cycles = of_part(&mut random, &case, &walk, first, last);
                assert!(cycles <= bound, "{target:?}: {cycles} cycles, bound {bound}");
                compared += 1;
                smaller += u32::from(bound < whole);
            }
        }
        println!("{name}: {compared} parts, {smaller} of them with a smaller bound than the whole");
        assert!(compared > 100 && smaller > 50);
    }
}

/// A loop in a loop whose rounds shrink: the total is far below the product.
#[test]
fn totals_conflicts_limits_and_dead_edges_lower_the_bound() {
    let source = "volatile int x, y; __attribute__((noinline)) void leaf(int n) { x = n; y = x; }
        int start(int n) { for (int i = 0; i < 10; i++) { for (int j = i; j < 10; j++) x += j; if (y) x = 3; else y = 4; }
        if (x) leaf(3); y = 2; if (y) leaf(4); x = 1; return 0; }";
    let machine = machine("arm1136-kzm");
    for target in TARGETS.into_iter().filter(|target| target.options.contains(&"-marm")) {
        let (program, graph) = graph(target, source);
        let expanded = expand(&graph, program.symbol("start").unwrap().address, &Default::default()).unwrap();
        assert_eq!(expanded.loops.len(), 2, "{target:?}");
        let bounds = BTreeMap::from([(0, 10), (1, 10)]);
        let none = BTreeSet::new();
        let prepared = Prepared::new(&program, &expanded, &machine, &bounds, &Anywhere, &none).unwrap();
        let free = solved(&prepared, &Constraints::default());
        assert!(free.exact);
        let executions = |bound: &Bound| {
            let visit = bound.path.iter().find(|visit| visit.node == expanded.loops[1].header);
            visit.map_or(0, |visit| visit.count)
        };
        assert_eq!(executions(&free), 100);
        let totals = vec![Total { inner: 1, outer: 0, headers: 55 }];
        let total = solved(&prepared, &Constraints { totals, ..Constraints::default() });
        assert_eq!(executions(&total), 55, "{target:?}");
        assert!(total.exact && total.wcet_cycles < free.wcet_cycles, "{target:?}: {total:?}");
        // The two ways of the branch in the outer loop are never both taken; as they are not anyway, nothing changes.
        let taken: Vec<usize> = free.edges.keys().copied().collect();
        let outside = |edge: &usize| {
            let one = expanded.edges[*edge];
            !expanded.inside(one.from, 0) && expanded.successors(one.from).len() > 1
        };
        let optional: Vec<usize> = taken.into_iter().filter(outside).collect();
        assert!(optional.len() >= 2, "{target:?}");
        let conflicts = vec![Conflict { scope: None, edges: optional.clone() }];
        let apart = solved(&prepared, &Constraints { conflicts, ..Constraints::default() });
        assert!(apart.exact && apart.wcet_cycles < free.wcet_cycles);
        assert!(!optional.iter().all(|edge| apart.edges.contains_key(edge)));
        let limits =
            vec![Limit { terms: optional.iter().map(|edge| (*edge, 1)).collect(), at_most: optional.len() as i64 - 1 }];
        let limited = solved(&prepared, &Constraints { limits, ..Constraints::default() });
        assert!(limited.exact && limited.wcet_cycles == apart.wcet_cycles, "{limited:?}");
        let dead = BTreeSet::from([optional[0]]);
        let never = solved(&prepared, &Constraints { dead, ..Constraints::default() });
        assert!(never.exact && never.wcet_cycles <= limited.wcet_cycles);
    }
}

#[test]
fn what_is_not_understood_is_an_error() {
    let machine = machine("x86-inorder");
    let refused = |source: &str, bounds: &BTreeMap<usize, u64>| {
        let (program, graph) = graph(TARGETS[0], source);
        let expanded = expand(&graph, program.symbol("start").unwrap().address, &Default::default()).unwrap();
        let none = Constraints::default();
        let found =
            wcet_paths::ipet::bound(&program, &expanded, &machine, bounds, &Anywhere, &none, &Options::default());
        found.map(|bound| bound.wcet_cycles).expect_err(source)
    };
    let errors = refused("volatile int x; void start(int n) { while (n--) x++; }", &BTreeMap::new());
    assert!(errors.iter().any(|error| matches!(error.problem, Fault::Unbounded { .. })), "{errors:?}");
    assert!(errors[0].to_string().contains("start"), "{}", errors[0]);
    let errors = refused("void start(void) { __asm__ volatile(\"hlt\"); }", &BTreeMap::new());
    assert!(matches!(errors[0].problem, Fault::Waits { .. }), "{errors:?}");
    let errors = refused("void start(void) { __asm__ volatile(\"wbinvd\"); }", &BTreeMap::new());
    assert!(matches!(errors[0].problem, Fault::Class(_)), "{errors:?}");
    let errors = refused("void start(void) { __asm__ volatile(\"fsqrt\"); }", &BTreeMap::new());
    assert!(matches!(errors[0].problem, Fault::Class(_)), "{errors:?}");
    let forever = BTreeMap::from([(0, 5)]);
    let errors = refused("volatile int x; void start(void) { for (;;) x++; }", &forever);
    assert!(matches!(errors[0].problem, Fault::NoEnd(_)), "{errors:?}");
}

/// A loop that never runs is left out with all that only it reaches; one that runs once takes no edge back.
#[test]
fn bounds_of_zero_and_one_remove_edges() {
    let source = "volatile int x; void start(int n) { x = 1; while (x) { x = n; n /= 3; } x = 2; }";
    let machine = machine("arm1136-kzm");
    for target in TARGETS.into_iter().filter(|target| target.options.contains(&"-marm")) {
        let (program, graph) = graph(target, source);
        let expanded = expand(&graph, program.symbol("start").unwrap().address, &Default::default()).unwrap();
        let bound = |rounds: u64| {
            let bounds = (0..expanded.loops.len()).map(|number| (number, rounds)).collect();
            let none = BTreeSet::new();
            let prepared = Prepared::new(&program, &expanded, &machine, &bounds, &Anywhere, &none);
            prepared.and_then(|prepared| prepared.bound(&Constraints::default(), &Options::default()))
        };
        let (one, two, many) = (bound(1).unwrap(), bound(2).unwrap(), bound(100).unwrap());
        assert!(one.wcet_cycles < two.wcet_cycles && two.wcet_cycles < many.wcet_cycles);
        assert!(one.blocks <= two.blocks && two.blocks == many.blocks);
    }
}
