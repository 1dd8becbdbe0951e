//! Any code whatever: a graph or errors, never a panic, and never long.

use std::time::{Duration, Instant};

use wcet_binary::lift::Lifter;
use wcet_binary::load::{Architecture, Program};
use wcet_flow::{analyse, Options};

fn random_programs(architecture: Architecture, count: u64, size: usize) {
    let (mut graphs, mut refused) = (0, 0);
    for round in 0..count {
        let mut seed = round + 1;
        let mut code = vec![0; size];
        for (index, byte) in code.iter_mut().enumerate() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (seed >> 33) as u8;
            // Most ARM instructions that are executed always; near jumps.
            if architecture == Architecture::Arm && index % 4 == 3 {
                *byte = *byte & 0x0f | if *byte & 0x10 == 0 { 0xe0 } else { 0x10 };
            }
            if architecture == Architecture::Arm && index % 4 == 2 && seed >> 60 == 0 {
                *byte = 0xff;
            }
        }
        let program = Program::from_code(architecture, 0x1000, &code);
        let lifter = Lifter::new(&program).unwrap();
        for entry in (0x1000..0x1000 + size as u64).step_by(16) {
            let start = Instant::now();
            match analyse(&lifter, &[entry], &Options::default()) {
                Ok(graph) => {
                    graphs += 1;
                    assert!(!graph.functions.is_empty());
                }
                Err(errors) => {
                    refused += 1;
                    assert!(!errors.is_empty());
                }
            }
            assert!(start.elapsed() < Duration::from_secs(20), "round {round}, entry {entry:#x}");
        }
    }
    println!("{graphs} graphs, {refused} refused");
}

#[test]
fn random_x86() {
    random_programs(Architecture::X86_64, 20, 512);
}

#[test]
fn random_arm() {
    random_programs(Architecture::Arm, 20, 512);
}

#[test]
fn random_riscv() {
    random_programs(Architecture::RiscV64, 10, 512);
    random_programs(Architecture::RiscV32, 10, 512);
}
