//! Random programs, random paths through them, and the traces of those.

use crate::random::{Random, LINE};
use wcet_hardware::machine::{Class, Machine, Transfer};
use wcet_hardware::pipeline::{Access, Block, Edge, Instruction, Kind, Left, Program, Scope, Sets, Target};
use wcet_oracle::simulate::{Control, DataAccess, Step};

/// The number of names for lines at unknown addresses.
const NAMES: u64 = 3;

/// The sort of program to make.
#[derive(Clone, Copy)]
pub struct Sort {
    pub blocks: u64,
    /// Data addresses are below this.
    pub data: u64,
    /// Bytes of an instruction are from this to that.
    pub lengths: (u64, u64),
    /// Data targets may be ranges, unknown or conditional, and caches may be maintained.
    pub vague: bool,
    /// Arithmetic that depends on nothing, for the most.
    pub plain: bool,
}

fn instruction(random: &mut Random, machine: &Machine, address: u64, sort: Sort) -> Instruction {
    let classes: Vec<Class> = machine.classes.keys().copied().filter(|class| *class != Class::Branch).collect();
    let common = [Class::Alu, Class::Alu, Class::Alu, Class::Load, Class::Load, Class::Store];
    if sort.plain && !random.one_in(12) {
        let (length, class, data) = (sort.lengths.0, Class::Alu, Vec::new());
        let transfer = Transfer::None;
        return Instruction { address, length, class, reads: 0, writes: 0, surely_writes: 0, transfer, data };
    }
    let class = if random.one_in(8) { random.pick(&classes) } else { random.pick(&common) };
    let accesses = match class {
        Class::Load | Class::Store => 1 + if random.one_in(5) { random.below_u64(3) } else { 0 },
        _ => u64::from(random.one_in(30)),
    };
    let one = |random: &mut Random| {
        let kind = if class == Class::Load { Kind::Read } else { Kind::Write };
        let address = random.below_u64(sort.data);
        let target = match random.below_u64(if sort.vague { 10 } else { 1 }) {
            6 => Target::Within(address, address + random.below_u64(3 * machine.line())),
            7 => Target::Anywhere,
            8..=9 => named(random.below_u64(NAMES)),
            _ => Target::At(address),
        };
        Access { kind, target, certain: !sort.vague || !random.one_in(8) }
    };
    let mut data: Vec<Access> = (0..accesses).map(|_| one(random)).collect();
    if sort.vague && random.one_in(60) {
        data.push(Access { kind: Kind::Forget, target: Target::Anywhere, certain: true });
    }
    let register = |random: &mut Random| 1 << random.below_u64(6);
    let writes = if class == Class::Store { 0 } else { register(random) };
    Instruction {
        address,
        length: sort.lengths.0 + random.below_u64(sort.lengths.1 - sort.lengths.0 + 1),
        class,
        reads: register(random) | if random.one_in(2) { register(random) } else { 0 },
        writes,
        surely_writes: if sort.vague && random.one_in(3) { 0 } else { writes },
        transfer: Transfer::None,
        data,
    }
}

/// Blocks one after the other, each ending in a branch or falling into the next.
pub fn program(random: &mut Random, machine: &Machine, sort: Sort) -> Program {
    let count = 1 + random.below_u64(sort.blocks) as usize;
    let mut program = Program::default();
    let mut address = 0x1000 + random.below_u64(64) * 2;
    for number in 0..count {
        let renews = (0..NAMES).filter(|_| sort.vague && random.one_in(8)).collect();
        let mut block = Block { renews, ..Block::default() };
        for _ in 0..1 + random.below_u64(9) {
            let next = instruction(random, machine, address, sort);
            address += next.length;
            block.instructions.push(next);
            if sort.vague && random.one_in(12) {
                let mut inside = instruction(random, machine, address, Sort { plain: true, ..sort });
                (inside.class, inside.transfer, inside.data) = (Class::Branch, transfer(random, address), Vec::new());
                address += inside.length;
                block.instructions.push(inside);
            }
        }
        let inside = block.instructions.last().is_some_and(|last| last.transfer != Transfer::None);
        let branches = number + 1 == count || inside || random.one_in(2);
        if branches {
            let reads = 1 << random.below_u64(6);
            let (class, length) = (Class::Branch, sort.lengths.0);
            let (writes, surely_writes, transfer, data) = (0, 0, transfer(random, address), Vec::new());
            block.instructions.push(Instruction {
                address,
                length,
                class,
                reads,
                writes,
                surely_writes,
                transfer,
                data,
            });
            address += length;
            let to = random.below_u64(count as u64) as usize;
            program.edges.push(Edge { from: number, to, left: Left::Taken });
        }
        if number + 1 < count {
            let left = if branches { Left::NotTaken } else { Left::Fall };
            program.edges.push(Edge { from: number, to: number + 1, left });
        }
        program.blocks.push(block);
        if random.one_in(6) {
            address += random.below_u64(256);
        }
    }
    for _ in 0..random.below_u64(3) {
        let first = random.below_u64(count as u64) as usize;
        let last = first + random.below_u64((count - first) as u64) as usize;
        program.scopes.push(Scope { nodes: (first..=last).collect() });
    }
    program
}

/// Where a transfer leads does not matter to the caches: its target is fetched by the instruction there.
fn transfer(random: &mut Random, address: u64) -> Transfer {
    let to = address - 100 + random.below_u64(200);
    random.pick(&[Transfer::Unknown, Transfer::Always(to), Transfer::When(to), Transfer::When(to), Transfer::Repeat])
}

/// A random path as the edges it takes.
pub fn path(random: &mut Random, program: &Program, steps: u64) -> Vec<usize> {
    let mut path = Vec::new();
    let mut block = program.entry;
    for _ in 0..steps {
        let ways: Vec<usize> = (0..program.edges.len()).filter(|edge| program.edges[*edge].from == block).collect();
        let Some(&edge) = ways.get(random.below_u64(ways.len().max(1) as u64) as usize) else { break };
        path.push(edge);
        block = program.edges[edge].to;
    }
    path
}

/// Of some lines with names it is known of which sets they are.
fn named(name: u64) -> Target {
    let modulus = [1, 2, 4][name as usize % 3];
    Target::Line(name, Sets { modulus, rest: name % modulus })
}

/// An address where such a line may stand, and no device.
fn line_of(name: u64, random: &mut Random, below: u64) -> u64 {
    let Target::Line(_, sets) = named(name) else { return memory(random, below) };
    loop {
        let address = random.below_u64(below);
        let line = address / LINE;
        let moved = (line - line % sets.modulus + sets.rest) * LINE + address % LINE;
        if !(LINE * 14..LINE * 15).contains(&moved) {
            return moved;
        }
    }
}

/// An address where no machine made up by chance has its device.
fn memory(random: &mut Random, below: u64) -> u64 {
    let address = random.below_u64(below);
    if (LINE * 14..LINE * 15).contains(&address) {
        address - LINE
    } else {
        address
    }
}

pub fn trace(random: &mut Random, program: &Program, path: &[usize], data: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines: Vec<u64> = (0..NAMES).map(|name| line_of(name, random, 2 * data)).collect();
    let blocks = std::iter::once(program.entry).chain(path.iter().map(|edge| program.edges[*edge].to));
    for (number, block) in blocks.enumerate() {
        for instruction in &program.blocks[block].instructions {
            let mut step = Step {
                address: instruction.address,
                length: instruction.length,
                class: instruction.class,
                reads: instruction.reads,
                writes: instruction.surely_writes | if random.one_in(2) { instruction.writes } else { 0 },
                transfer: instruction.transfer,
                control: Control::None,
                memory: Vec::new(),
                forgets: false,
            };
            for access in &instruction.data {
                if !access.certain && random.one_in(2) {
                    continue;
                }
                let address = match access.target {
                    Target::At(address) => address,
                    Target::Within(first, last) => first + random.below_u64(last - first + 1),
                    Target::OnPage { address, page } => address % page,
                    Target::Line(name, _) => lines[name as usize],
                    // A line is all that counts: the last access is the one done again.
                    Target::Again(_) => match step.memory.last() {
                        Some(read) => read.address,
                        None => continue,
                    },
                    _ => random.below_u64(2 * data),
                };
                match access.kind {
                    Kind::Forget => step.forgets = true,
                    kind => step.memory.push(DataAccess { address, write: kind == Kind::Write }),
                }
            }
            let last = instruction == &program.blocks[block].instructions[program.blocks[block].instructions.len() - 1];
            if instruction.transfer != Transfer::None && !last {
                // A conditional transfer inside a block goes on to the next instruction, if it does anything.
                step.control = random.pick(&[Control::None, Control::NotTaken, Control::Taken]);
            } else if instruction.transfer != Transfer::None {
                let taken = path.get(number).map(|edge| program.edges[*edge].left);
                step.control = if taken == Some(Left::NotTaken) { Control::NotTaken } else { Control::Taken };
            }
            steps.push(step);
        }
        program.blocks[block].renews.iter().for_each(|name| lines[*name as usize] = line_of(*name, random, 2 * data));
    }
    steps
}
