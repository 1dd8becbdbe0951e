//! Random programs on random and shipped machines: the simulator never takes longer than the analysis says. `TIMING_CASES` sets
//! the number of programs. Ratios bound/run are printed (`--nocapture`).

#[path = "../../cache/tests/common/mod.rs"]
mod common;

use common::{cases, Random};
use std::path::PathBuf;
use timing_machine::{Class, Machine};
use timing_pipeline::{analyse, Access, Block, Costs, Edge, Instruction, Kind, Left, Program, Scope, Target};
use timing_simulate::{Control, DataAccess, Hierarchy, Pointer, Simulator, Step, Use};

/// The sort of program to make.
#[derive(Clone, Copy)]
struct Sort {
    blocks: u64,
    /// Data addresses are below this.
    data: u64,
    /// Bytes of an instruction are from this to that.
    lengths: (u64, u64),
    /// Data targets may be ranges, unknown or conditional, and caches may be maintained.
    vague: bool,
    /// Arithmetic that depends on nothing, for the most.
    plain: bool,
}

fn instruction(random: &mut Random, machine: &Machine, address: u64, sort: Sort) -> Instruction {
    let classes: Vec<Class> = machine.classes.keys().copied().filter(|class| *class != Class::Branch).collect();
    let common = [Class::Alu, Class::Alu, Class::Alu, Class::Load, Class::Load, Class::Store];
    if sort.plain && !random.once_in(12) {
        let (length, class, data) = (sort.lengths.0, Class::Alu, Vec::new());
        return Instruction { address, length, class, reads: 0, writes: 0, surely_writes: 0, transfers: false, data };
    }
    let class = if random.once_in(8) { random.pick(&classes) } else { random.pick(&common) };
    let accesses = match class {
        Class::Load | Class::Store => 1 + if random.once_in(5) { random.below(3) } else { 0 },
        _ => u64::from(random.once_in(30)),
    };
    let one = |random: &mut Random| {
        let kind = if class == Class::Load { Kind::Read } else { Kind::Write };
        let address = random.below(sort.data);
        let target = match random.below(if sort.vague { 8 } else { 1 }) {
            6 => Target::Within(address, address + random.below(3 * machine.line())),
            7 => Target::Anywhere,
            _ => Target::At(address),
        };
        Access { kind, target, certain: !sort.vague || !random.once_in(8) }
    };
    let mut data: Vec<Access> = (0..accesses).map(|_| one(random)).collect();
    if sort.vague && random.once_in(60) {
        data.push(Access { kind: Kind::Forget, target: Target::Anywhere, certain: true });
    }
    let register = |random: &mut Random| 1 << random.below(6);
    let writes = if class == Class::Store { 0 } else { register(random) };
    Instruction {
        address,
        length: sort.lengths.0 + random.below(sort.lengths.1 - sort.lengths.0 + 1),
        class,
        reads: register(random) | if random.once_in(2) { register(random) } else { 0 },
        writes,
        surely_writes: if sort.vague && random.once_in(3) { 0 } else { writes },
        transfers: false,
        data,
    }
}

/// Blocks one after the other, each ending in a branch or falling into the next.
fn program(random: &mut Random, machine: &Machine, sort: Sort) -> Program {
    let count = 1 + random.below(sort.blocks) as usize;
    let mut program = Program::default();
    let mut address = 0x1000 + random.below(64) * 2;
    for number in 0..count {
        let mut block = Block::default();
        for _ in 0..1 + random.below(9) {
            let next = instruction(random, machine, address, sort);
            address += next.length;
            block.instructions.push(next);
        }
        let branches = number + 1 == count || random.once_in(2);
        if branches {
            let reads = 1 << random.below(6);
            let (class, length) = (Class::Branch, sort.lengths.0);
            let (writes, surely_writes, transfers, data) = (0, 0, true, Vec::new());
            block.instructions.push(Instruction {
                address,
                length,
                class,
                reads,
                writes,
                surely_writes,
                transfers,
                data,
            });
            address += length;
            let to = random.below(count as u64) as usize;
            program.edges.push(Edge { from: number, to, left: Left::Taken });
        }
        if number + 1 < count {
            let left = if branches { Left::NotTaken } else { Left::Fall };
            program.edges.push(Edge { from: number, to: number + 1, left });
        }
        program.blocks.push(block);
        if random.once_in(6) {
            address += random.below(256);
        }
    }
    for _ in 0..random.below(3) {
        let first = random.below(count as u64) as usize;
        let last = first + random.below((count - first) as u64) as usize;
        program.scopes.push(Scope { nodes: (first..=last).collect() });
    }
    program
}

/// A random path as the edges it takes.
fn path(random: &mut Random, program: &Program, steps: u64) -> Vec<usize> {
    let mut path = Vec::new();
    let mut block = program.entry;
    for _ in 0..steps {
        let ways: Vec<usize> = (0..program.edges.len()).filter(|edge| program.edges[*edge].from == block).collect();
        let Some(&edge) = ways.get(random.below(ways.len().max(1) as u64) as usize) else { break };
        path.push(edge);
        block = program.edges[edge].to;
    }
    path
}

fn trace(random: &mut Random, program: &Program, path: &[usize], data: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    let blocks = std::iter::once(program.entry).chain(path.iter().map(|edge| program.edges[*edge].to));
    for (number, block) in blocks.enumerate() {
        for instruction in &program.blocks[block].instructions {
            let mut step = Step {
                address: instruction.address,
                length: instruction.length,
                class: instruction.class,
                reads: instruction.reads,
                writes: instruction.surely_writes | if random.once_in(2) { instruction.writes } else { 0 },
                control: Control::None,
                memory: Vec::new(),
                forgets: false,
            };
            for access in &instruction.data {
                if !access.certain && random.once_in(2) {
                    continue;
                }
                let address = match access.target {
                    Target::At(address) => address,
                    Target::Within(first, last) => first + random.below(last - first + 1),
                    Target::Anywhere => random.below(2 * data),
                };
                match access.kind {
                    Kind::Forget => step.forgets = true,
                    kind => step.memory.push(DataAccess { address, write: kind == Kind::Write }),
                }
            }
            if instruction.transfers {
                let taken = path.get(number).map(|edge| program.edges[*edge].left);
                step.control = if taken == Some(Left::NotTaken) { Control::NotTaken } else { Control::Taken };
            }
            steps.push(step);
        }
    }
    steps
}

/// Caches as some earlier program left them; every line written if `dirty`.
fn warm(random: &mut Random, hierarchy: &mut Hierarchy, accesses: u64, span: u64, dirty: bool) {
    for _ in 0..accesses {
        let usage = random.pick(if dirty { &[Use::Write] } else { &[Use::Fetch, Use::Read, Use::Write] });
        let base = if random.once_in(2) { 0x1000 } else { 0 };
        hierarchy.access(usage, base + random.below(span));
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
    let dirty = random.once_in(2);
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
    Random(seed).below(bound + 1)
}

#[test]
fn random_machines_stay_below_their_bounds() {
    let mut ratios = Ratios::default();
    for seed in 0..cases(1500) {
        let mut random = Random(seed * 104_729 + 5);
        let machine = common::machine(&mut random);
        let lengths = random.pick(&[(4, 4), (1, 7), (2, 4), (1, 1)]);
        let (vague, plain) = (random.once_in(2), random.once_in(3));
        let sort = Sort { blocks: 6, data: 200, lengths, vague, plain };
        let program = program(&mut random, &machine, sort);
        let costs = analyse(&program, &machine).unwrap_or_else(|errors| panic!("{errors:?}"));
        let case = Case { machine: &machine, program: &program, costs: &costs, sort };
        for _ in 0..8 {
            let steps = random.below(14);
            ratios.0.push(run(&mut random, &case, steps, 40, seed));
        }
    }
    ratios.show("random machines, random programs");
}

fn shipped(name: &str) -> Machine {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../../machines/timing/{name}.toml"));
    timing_machine::load(&path).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Where nothing is unknown but what memory holds at the start, and no two lines share a set, the bound is the time from there.
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
            let path = vec![0; 1 + random.below(60) as usize];
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

const SHIPPED: &[(&str, (u64, u64))] =
    &[("arm1136-kzm", (4, 4)), ("arm1136-kzm-l2", (4, 4)), ("cortex-a8", (4, 4)), ("x86-inorder", (1, 8))];

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
