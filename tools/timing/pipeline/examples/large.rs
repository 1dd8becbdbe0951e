//! How long the analysis of a large program takes: `cargo run --release -p timing-pipeline --example large
//! MACHINE.toml [BLOCKS]`. The program is made up: functions in contexts, as after virtual inlining, with loops and
//! accesses to the stack and to unknown objects.

use std::time::Instant;
use timing_machine::Class;
use timing_pipeline::{analyse, Access, Block, Edge, Instruction, Kind, Left, Program, Scope, Target};

/// Instructions of a function's block, at its place in the program's 48 KiB of code.
fn block(function: usize, number: usize, context: usize) -> Block {
    let mut instructions = Vec::new();
    for index in 0..7u64 {
        let address = 0x10000 + (function as u64 * 800 + number as u64 * 32 + index * 4) % 0xc000;
        let (class, target) = match (number + index as usize) % 7 {
            0 => (Class::Load, Some(Target::At(0x8_0000 + (context as u64 % 64) * 64 + index * 4))),
            1 => (Class::Store, Some(Target::At(0x8_0000 + (context as u64 % 64) * 64 + 32))),
            2 => (Class::Load, Some(Target::Anywhere)),
            _ => (Class::Alu, None),
        };
        let kind = if class == Class::Store { Kind::Write } else { Kind::Read };
        let data = target.map(|target| Access { kind, target, certain: true }).into_iter().collect();
        let (reads, writes) = (1 << (index % 5), 1 << ((index + 2) % 5));
        instructions.push(Instruction {
            address,
            length: 4,
            class,
            reads,
            writes,
            surely_writes: writes,
            transfers: false,
            data,
        });
    }
    if let Some(last) = instructions.last_mut() {
        *last = Instruction { class: Class::Branch, transfers: true, data: Vec::new(), ..last.clone() };
    }
    Block { instructions, ..Block::default() }
}

fn program(blocks: usize) -> Program {
    let mut program = Program::default();
    let mut context = 0;
    while program.blocks.len() < blocks {
        let base = program.blocks.len();
        let function = (context * 7) % 60;
        for number in 0..24 {
            program.blocks.push(block(function, number, context));
            let at = base + number;
            let edge = |from, to, left| Edge { from, to, left };
            if at > 0 {
                program.edges.push(edge(at - 1, at, Left::NotTaken));
            }
            if number >= 4 && number % 3 == 0 {
                program.edges.push(edge(at - 3, at, Left::Taken));
            }
        }
        if context % 3 == 0 {
            program.edges.push(Edge { from: base + 20, to: base + 5, left: Left::Taken });
            program.scopes.push(Scope { nodes: (base + 5..base + 21).collect() });
        }
        context += 1;
    }
    program
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "../machines/timing/arm1136-kzm.toml".into());
    let blocks = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let machine = match timing_machine::load(path.as_ref()) {
        Ok(machine) => machine,
        Err(faults) => return eprint!("{faults}"),
    };
    let program = program(blocks);
    let start = Instant::now();
    match analyse(&program, &machine) {
        Ok(costs) => {
            let (edges, scopes) = (costs.edges.iter().sum::<u64>(), costs.scopes.iter().sum::<u64>());
            let seconds = start.elapsed().as_secs_f64();
            println!(
                "{}: {} blocks, {} edges, {} scopes in {seconds:.1} s; costs {edges}, charges {scopes}",
                machine.name,
                program.blocks.len(),
                program.edges.len(),
                program.scopes.len()
            );
        }
        Err(errors) => errors.iter().for_each(|error| eprintln!("{error}")),
    }
}
