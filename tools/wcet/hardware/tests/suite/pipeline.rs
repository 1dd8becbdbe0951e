//! Costs that can be told by hand from the contract.

use wcet_hardware::machine::{Class, Machine, Transfer};
use wcet_hardware::pipeline::{analyse, Access, Block, Edge, Instruction, Kind, Left, Program, Scope};

fn machine(name: &str) -> Machine {
    let path = format!("{}/../../../machines/timing/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    wcet_hardware::machine::load(path.as_ref()).unwrap_or_else(|faults| panic!("{faults}"))
}

/// An instruction at a place of the line at 0x40.
fn one(place: u64, class: Class, reads: u64, writes: u64) -> Instruction {
    let data = match class {
        Class::Load => vec![Access::at(Kind::Read, 0x8000)],
        _ => Vec::new(),
    };
    let (address, surely_writes) = (0x40 + 4 * place, writes);
    let transfer = if class == Class::Branch { Transfer::Unknown } else { Transfer::None };
    Instruction { address, length: 4, class, reads, writes, surely_writes, transfer, data }
}

fn entry(instructions: Vec<Instruction>) -> u64 {
    let program = Program { blocks: vec![Block { instructions, ..Block::default() }], ..Program::default() };
    analyse(&program, &machine("arm1136-kzm")).expect("nothing is wrong").entry
}

#[test]
fn a_block_costs_its_fetch_its_front_and_its_execution() {
    assert_eq!(entry(vec![one(0, Class::Alu, 0, 0)]), 60 + 3 + 1);
    assert_eq!(entry(vec![one(0, Class::Alu, 0, 0), one(1, Class::Load, 0, 1)]), 60 + 3 + 1 + 60);
}

#[test]
fn a_result_is_waited_for_unless_it_is_surely_overwritten() {
    let block = |overwrite: u64, surely: bool| {
        let mut second = one(1, Class::Alu, 0, overwrite);
        second.surely_writes = if surely { overwrite } else { 0 };
        entry(vec![one(0, Class::Load, 0, 1), second, one(2, Class::Alu, 1, 2)])
    };
    // The load's result is ready two cycles after it: one of them passes with the second instruction.
    assert_eq!(block(0, true), 60 + 3 + 60 + 2 + 1);
    assert_eq!(block(1, false), 60 + 3 + 60 + 2 + 1);
    assert_eq!(block(1, true), 60 + 3 + 60 + 1 + 1);
}

/// A loop of a load and a branch: five cycles a turn for the branch, one for the load, and the line and the datum once.
#[test]
fn a_loop_pays_its_misses_once() {
    let instructions = vec![one(0, Class::Load, 0, 1), one(1, Class::Branch, 0, 0)];
    let block = Block { instructions, ..Block::default() };
    let program = Program {
        blocks: vec![block],
        edges: vec![Edge { from: 0, to: 0, left: Left::Taken }],
        scopes: vec![Scope { nodes: vec![0] }],
        ..Program::default()
    };
    let costs = analyse(&program, &machine("arm1136-kzm")).expect("nothing is wrong");
    // Fetch, front, load, branch; then each turn the branch's other four, the load and the branch.
    assert_eq!((costs.entry, costs.edges[0]), (1 + 3 + 1 + 1, 4 + 1 + 1));
    assert_eq!(costs.scopes[0], 2 * 59);
}

#[test]
fn what_is_foreseen_has_no_refill() {
    let mut vexriscv = machine("vexriscv");
    let branch =
        |number: u64, to: u64| Instruction { transfer: Transfer::When(to), ..one(number, Class::Branch, 0, 0) };
    let mut cost = |transfer: Instruction, left: Left| {
        let block = |instructions| Block { instructions, ..Block::default() };
        let program = Program {
            blocks: vec![block(vec![one(0, Class::Alu, 0, 0), transfer]), block(vec![one(2, Class::Alu, 0, 0)])],
            edges: vec![Edge { from: 0, to: 1, left }],
            ..Program::default()
        };
        vexriscv.branch.ahead = 0;
        analyse(&program, &vexriscv).expect("all classes have costs").edges[0]
    };
    // The first line is loaded by the first block: 14 cycles more than a hit, of which the scope takes none here.
    let hit = cost(branch(1, 0x80), Left::NotTaken);
    assert_eq!(cost(branch(1, 0x40), Left::Taken), hit + 1, "backward, taken");
    assert_eq!(cost(branch(1, 0x80), Left::Taken), hit + 3, "forward, taken");
    assert_eq!(cost(branch(1, 0x40), Left::NotTaken), hit + 3, "backward, not taken");
}

#[test]
fn a_round_of_a_string_instruction_has_no_refill() {
    let round = |repeat: Option<u64>, left: Left| {
        let mut machine = machine("x86-inorder");
        machine.branch.repeat = repeat;
        let instruction = Instruction { transfer: Transfer::Repeat, ..one(0, Class::Store, 0, 0) };
        let block = |instruction| Block { instructions: vec![instruction], ..Block::default() };
        let program = Program {
            blocks: vec![block(instruction), block(one(1, Class::Alu, 0, 0))],
            edges: vec![Edge { from: 0, to: usize::from(left == Left::NotTaken), left }],
            scopes: vec![Scope { nodes: vec![0, 1] }],
            ..Program::default()
        };
        analyse(&program, &machine).expect("all classes have costs").edges[0]
    };
    let again = |repeat| round(repeat, Left::Taken);
    assert_eq!(again(None), 20, "as after any transfer that is taken");
    assert_eq!((again(Some(2)), again(Some(5))), (3, 6), "and the fetch itself");
    let last = |repeat| round(repeat, Left::NotTaken);
    assert_eq!(last(Some(2)), last(None), "it does not repeat");
}

#[test]
fn a_load_behind_a_store_to_its_line_takes_longer() {
    let mut vexriscv = machine("vexriscv");
    vexriscv.branch.ahead = 0;
    let store = |address: u64| {
        let data = vec![Access::at(Kind::Write, address)];
        Instruction { data, ..one(0, Class::Store, 0, 0) }
    };
    let block = |instructions| Block { instructions, ..Block::default() };
    let cost = |first: Instruction, between: Vec<Instruction>| {
        let mut blocks = vec![block(vec![one(0, Class::Alu, 0, 0), first])];
        blocks.extend(between.into_iter().map(|instruction| block(vec![instruction])));
        blocks.push(block(vec![one(3, Class::Load, 0, 1)]));
        let edges: Vec<Edge> = (1..blocks.len()).map(|to| Edge { from: to - 1, to, left: Left::Fall }).collect();
        let program = Program { blocks, edges, ..Program::default() };
        *analyse(&program, &vexriscv).expect("all classes have costs").edges.last().expect("there is one")
    };
    let alu = || one(1, Class::Alu, 0, 0);
    let without = cost(alu(), vec![]);
    assert_eq!(cost(store(0x8004), vec![]), without + 6, "the same line");
    assert_eq!(cost(store(0x8020), vec![]), without, "another line");
    assert_eq!(cost(store(0x8004), vec![alu()]), without + 6, "two before, in a block of its own");
    assert_eq!(cost(store(0x8004), vec![alu(), alu()]), without, "three before");
}

/// Loads of these addresses, a line of code each.
fn loads(first: u64, addresses: &[u64]) -> Block {
    let load = |(number, address): (usize, &u64)| Instruction {
        address: first + 64 * number as u64,
        data: vec![Access::at(Kind::Read, *address)],
        ..one(0, Class::Load, 0, 1)
    };
    Block { instructions: addresses.iter().enumerate().map(load).collect(), ..Block::default() }
}

/// What was loaded just before is there, unless what came between may have evicted it: four lines of a set are kept of eight.
#[test]
fn what_was_before_the_entry_may_still_be_there() {
    let machine = machine("x86-inorder");
    let cost = |before: &[u64]| {
        let program =
            Program { blocks: vec![loads(0x1000, &[0x8000])], before: loads(0x2000, before), ..Program::default() };
        analyse(&program, &machine).expect("nothing is wrong").entry
    };
    let cold = cost(&[]);
    // Lines of one set, and one of another.
    assert_eq!(cold - cost(&[0x8000]), 211);
    assert_eq!(cold - cost(&[0x8000, 0x9000, 0xa000, 0xb000, 0x8040]), 211);
    assert_eq!(cold, cost(&[0x8000, 0x9000, 0xa000, 0xb000, 0xc000]));
    assert_eq!(cold, cost(&[0x9000]));
}

/// What maintains caches before the entry has left nothing there.
#[test]
fn what_was_forgotten_before_the_entry_is_not_there() {
    let machine = machine("x86-inorder");
    let cost = |forgets: bool| {
        let mut before = loads(0x2000, &[0x8000]);
        let forget = Access { kind: Kind::Forget, ..Access::at(Kind::Read, 0) };
        before.instructions[0].data.extend(forgets.then_some(forget));
        let program = Program { blocks: vec![loads(0x1000, &[0x8000])], before, ..Program::default() };
        analyse(&program, &machine).expect("nothing is wrong").entry
    };
    assert_eq!(cost(true) - cost(false), 211);
}
