//! Random programs on random and shipped machines: the simulator never takes longer than the analysis says.
//! `TIMING_CASES` sets the number of programs. Ratios bound/run are printed (`--nocapture`).

use crate::random::{cases, Random, LINE};
use crate::traces::{path, program, trace, Sort};
use std::path::PathBuf;
use wcet_hardware::machine::{Cache, Class, Holds, Machine, Policy, Transfer};
use wcet_hardware::pipeline::{analyse, Block, Costs, Edge, Instruction, Left, Program, Scope, Target};
use wcet_oracle::simulate::{Hierarchy, Pointer, Simulator, Use};

/// Caches as some earlier program left them; every line written if `dirty`.
fn warm(random: &mut Random, hierarchy: &mut Hierarchy, accesses: u64, span: u64, dirty: bool) {
    for _ in 0..accesses {
        let usage = random.pick(if dirty { &[Use::Write] } else { &[Use::Fetch, Use::Read, Use::Write] });
        let base = if random.one_in(2) { 0x1000 } else { 0 };
        hierarchy.access(usage, base + random.below_u64(span));
    }
}

#[derive(Default)]
struct Ratios(Vec<f64>);

impl Ratios {
    fn show(&mut self, what: &str) {
        self.0.sort_by(f64::total_cmp);
        let at = |part: f64| self.0[((self.0.len() - 1) as f64 * part) as usize];
        let mean = self.0.iter().sum::<f64>() / self.0.len() as f64;
        println!(
            "{what}: {} runs, bound/run {:.3} least, {:.3} median, {mean:.3} mean, {:.3} most",
            self.0.len(),
            at(0.0),
            at(0.5),
            at(1.0)
        );
    }
}

struct Case<'a> {
    machine: &'a Machine,
    program: &'a Program,
    costs: &'a Costs,
    sort: Sort,
}

fn run(random: &mut Random, case: &Case, steps: u64, warmth: u64, seed: u64) -> f64 {
    let path = path(random, case.program, steps);
    let trace = trace(random, case.program, &path, case.sort.data);
    let pointer = random.pick(&[Pointer::OfTheCache, Pointer::OfEachSet]);
    let mut simulator = Simulator::new(case.machine, pointer, random.next());
    let dirty = random.one_in(2);
    let span = 0x800 + 2 * case.sort.data;
    warm(random, &mut simulator.hierarchy, random_below(warmth, seed), span, dirty);
    let cycles = simulator.run(&trace).expect("every class has a cost");
    let bound = case.costs.path(case.program, &path);
    assert!(
        cycles <= bound,
        "seed {seed}: {cycles} cycles, bound {bound}\n{:#?}\n{:#?}\npath {path:?}",
        case.machine,
        case.program
    );
    assert!(bound <= case.costs.sum(case.program, &path));
    bound as f64 / cycles.max(1) as f64
}

fn random_below(bound: u64, seed: u64) -> u64 {
    Random(seed).below_u64(bound + 1)
}

#[test]
fn random_machines_stay_below_their_bounds() {
    let mut ratios = Ratios::default();
    for seed in 0..cases(1500) {
        let mut random = Random(seed * 104_729 + 5);
        let machine = crate::random::machine(&mut random);
        let lengths = random.pick(&[(4, 4), (1, 7), (2, 4), (1, 1)]);
        let (vague, plain) = (random.one_in(2), random.one_in(3));
        let sort = Sort { blocks: 6, data: 200, lengths, vague, plain };
        let program = program(&mut random, &machine, sort);
        let costs = analyse(&program, &machine).unwrap_or_else(|errors| panic!("{errors:?}"));
        let case = Case { machine: &machine, program: &program, costs: &costs, sort };
        for _ in 0..8 {
            let steps = random.below_u64(14);
            ratios.0.push(run(&mut random, &case, steps, 40, seed));
        }
    }
    ratios.show("random machines, random programs");
}

/// A block is executed first, from any state of the caches: what it has left is no more than is said of it.
#[test]
fn runs_behind_what_is_known_stay_below_their_bounds() {
    let mut gained = 0;
    let all = cases(1500);
    for seed in 0..all {
        let mut random = Random(seed * 86_028_121 + 7);
        let machine = if random.one_in(3) { shipped("x86-inorder") } else { crate::random::machine(&mut random) };
        let lengths = random.pick(&[(4, 4), (1, 7), (2, 4), (1, 1)]);
        let sort = Sort { blocks: 6, data: 200, lengths, vague: random.one_in(2), plain: random.one_in(3) };
        let first = program(&mut random, &machine, Sort { blocks: 1, vague: false, ..sort });
        let mut program = program(&mut random, &machine, sort);
        let without = analyse(&program, &machine).unwrap_or_else(|errors| panic!("{errors:?}"));
        program.before = first.blocks[0].clone();
        let costs = analyse(&program, &machine).unwrap_or_else(|errors| panic!("{errors:?}"));
        for _ in 0..4 {
            let steps = random.below_u64(8);
            let path = path(&mut random, &program, steps);
            let mut simulator = Simulator::new(&machine, Pointer::OfEachSet, random.next());
            let span = 0x800 + 2 * sort.data;
            warm(&mut random, &mut simulator.hierarchy, 40, span, seed % 2 == 0);
            simulator.run(&trace(&mut random, &first, &[], sort.data)).expect("every class has a cost");
            let cycles =
                simulator.run(&trace(&mut random, &program, &path, sort.data)).expect("every class has a cost");
            let bound = costs.path(&program, &path);
            assert!(
                cycles <= bound,
                "seed {seed}: {cycles} cycles, bound {bound}\n{machine:#?}\n{program:#?}\n{path:?}"
            );
            gained += u64::from(bound < without.path(&program, &path));
        }
    }
    assert!(gained > all, "{gained} of {}", 4 * all);
}

fn shipped(name: &str) -> Machine {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../../machines/timing/{name}.toml"));
    wcet_hardware::machine::load(&path).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Where nothing is unknown but what memory holds at the start, and no two lines share a set, the bound is the time
/// from there.
#[test]
fn straight_code_from_empty_caches_is_bounded_exactly() {
    for name in ["arm1136-kzm", "arm1136-kzm-l2", "cortex-a8"] {
        let machine = shipped(name);
        for seed in 0..cases(500) {
            let mut random = Random(seed * 32_452_843 + 3);
            let sort = Sort { blocks: 1, data: 0x800, lengths: (4, 4), vague: false, plain: false };
            let mut program = program(&mut random, &machine, sort);
            program.scopes.clear();
            for instruction in program.blocks.iter_mut().flat_map(|block| &mut block.instructions) {
                // Clear of the code's sets in the second level.
                instruction.data.iter_mut().for_each(|access| {
                    if let Target::At(address) = &mut access.target {
                        *address += 0x2000;
                    }
                });
            }
            let costs = analyse(&program, &machine).unwrap_or_else(|errors| panic!("{errors:?}"));
            let trace = trace(&mut random, &program, &[], sort.data);
            let mut simulator = Simulator::new(&machine, Pointer::OfEachSet, seed);
            let cycles = simulator.run(&trace).expect("every class has a cost");
            assert_eq!(cycles, costs.path(&program, &[]), "{name} seed {seed}: {program:#?}");
        }
    }
}

/// A loop that does no more than it can: every iteration takes the same block, which stays in the caches.
#[test]
fn counted_loops_are_bounded_closely() {
    for &(name, lengths) in SHIPPED {
        let machine = shipped(name);
        let mut ratios = Ratios::default();
        for seed in 0..cases(300) {
            let mut random = Random(seed * 49_979_687 + 1);
            let sort = Sort { blocks: 1, data: 0x400, lengths, vague: false, plain: false };
            let mut program = program(&mut random, &machine, sort);
            program.scopes = vec![Scope { nodes: vec![0] }];
            let costs = analyse(&program, &machine).unwrap_or_else(|errors| panic!("{errors:?}"));
            let path = vec![0; 1 + random.below_u64(60) as usize];
            let trace = trace(&mut random, &program, &path, sort.data);
            let cycles =
                Simulator::new(&machine, Pointer::OfEachSet, seed).run(&trace).expect("every class has a cost");
            let bound = costs.path(&program, &path);
            assert!(cycles <= bound, "{name} seed {seed}: {cycles} cycles, bound {bound}");
            ratios.0.push(bound as f64 / cycles as f64);
        }
        ratios.show(&format!("{name}, counted loops, cold caches"));
    }
}

const SHIPPED: &[(&str, (u64, u64))] = &[
    ("arm1136-kzm", (4, 4)),
    ("arm1136-kzm-l2", (4, 4)),
    ("cortex-a8", (4, 4)),
    ("cortex-m3", (2, 4)),
    ("x86-inorder", (1, 8)),
];

#[test]
fn shipped_machines_stay_below_their_bounds() {
    for &(name, lengths) in SHIPPED {
        let machine = shipped(name);
        let (mut straight, mut looping) = (Ratios::default(), Ratios::default());
        for seed in 0..cases(600) / 2 {
            let mut random = Random(seed * 15_485_863 + 11);
            let sort = Sort { blocks: 8, data: 0x4000, lengths, vague: false, plain: false };
            let mut program = program(&mut random, &machine, sort);
            program.scopes = vec![Scope { nodes: (0..program.blocks.len()).collect() }];
            let costs = analyse(&program, &machine).unwrap_or_else(|errors| panic!("{errors:?}"));
            let case = Case { machine: &machine, program: &program, costs: &costs, sort };
            straight.0.push(run(&mut random, &case, 3, 0, seed));
            looping.0.push(run(&mut random, &case, 40, 3000, seed));
        }
        straight.show(&format!("{name}, short paths, cold caches"));
        looping.show(&format!("{name}, long paths, warm caches"));
    }
}

/// Four lines in a cache of three, and the first of them again. The second ends in a branch behind which the first lies: if it
/// is fetched ahead there, it is younger than the others and stays, and if not, it is evicted. The processor may do either.
#[test]
fn a_line_that_may_be_fetched_ahead_may_be_evicted_too() {
    let mut machine = crate::random::machine(&mut Random(3));
    let cache = Cache {
        name: "l1i".into(),
        level: 1,
        holds: Holds::Instructions,
        sets: 1,
        ways: 3,
        line: LINE,
        policy: Policy::Lru,
        taken_as: 3,
        locked_ways: 0,
        pinned: Vec::new(),
        latency: 1,
        write_back: 0,
        allocate_on_write: false,
    };
    machine.caches = vec![cache];
    machine.regions.clear();
    machine.branch.ahead = 1;
    let (first, before, third, fourth) = (0x1000, 0x1000 - LINE, 0x1000 + 4 * LINE, 0x1000 + 8 * LINE);
    // Of a line the last four bytes are a branch behind which the next begins; that of others is in their middle.
    let places = [first + 4, before + LINE - 4, third + 4, fourth + 4, first + 8];
    let block = |address: u64| {
        let transfer = Transfer::Unknown;
        let (class, data) = (Class::Branch, Vec::new());
        let branch = Instruction { address, length: 4, class, reads: 0, writes: 0, surely_writes: 0, transfer, data };
        Block { instructions: vec![branch], renews: Vec::new() }
    };
    let edges = (0..places.len() - 1).map(|from| Edge { from, to: from + 1, left: Left::Taken }).collect();
    let program = Program { blocks: places.into_iter().map(block).collect(), edges, ..Program::default() };
    let costs = analyse(&program, &machine).unwrap_or_else(|errors| panic!("{errors:?}"));
    let path: Vec<usize> = (0..program.edges.len()).collect();
    let bound = costs.path(&program, &path);
    let trace = trace(&mut Random(1), &program, &path, 0x100);
    let time = |seed| Simulator::new(&machine, Pointer::OfEachSet, seed).run(&trace).expect("every class has a cost");
    let times: std::collections::BTreeSet<u64> = (0..64).map(time).collect();
    assert!(times.len() > 1, "it is always fetched ahead, or never: {times:?}");
    assert!(times.iter().all(|cycles| *cycles <= bound), "{times:?} above {bound}");
}
