//! What cannot be analysed is told, all of it at once.

use wcet_hardware::machine::{Class, Machine, Transfer};
use wcet_hardware::pipeline::{analyse, Block, Edge, Instruction, Left, PipelineError, Program, Scope};

fn machine() -> Machine {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../machines/timing/arm1136-kzm.toml");
    wcet_hardware::machine::load(path.as_ref()).unwrap_or_else(|faults| panic!("{faults}"))
}

fn one(class: Class) -> Block {
    let (reads, writes, surely_writes) = (0, 0, 0);
    let transfer = if class == Class::Branch { Transfer::Unknown } else { Transfer::None };
    let instruction =
        Instruction { address: 0x40, length: 4, class, reads, writes, surely_writes, transfer, data: vec![] };
    Block { instructions: vec![instruction], ..Block::default() }
}

#[test]
fn all_errors_come_at_once() {
    let program = Program {
        blocks: vec![one(Class::PortRead), Block::default(), one(Class::Branch)],
        edges: vec![
            Edge { from: 0, to: 7, left: Left::Fall },
            Edge { from: 0, to: 1, left: Left::Taken },
            Edge { from: 2, to: 0, left: Left::Fall },
        ],
        entry: 9,
        scopes: vec![Scope { nodes: vec![3] }],
        ..Program::default()
    };
    let errors = analyse(&program, &machine()).expect_err("much is wrong");
    assert_eq!(errors.len(), 7, "{errors:?}");
    assert!(errors.contains(&PipelineError::EmptyBlock { block: 1 }));
    let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(text.contains("gives no cost to class port_read; add [class.port_read]"), "{text}");
}
