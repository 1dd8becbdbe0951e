//! Any bytes whatever: an instruction or an error with address and bytes, never a panic.

use testing::Random;
use wcet_binary::lift::il::{Expression, Op, Operand, Value};
use wcet_binary::lift::{Instruction, Lifter};
use wcet_binary::load::{Architecture, Program};

/// Between the addresses that are tried.
fn step(architecture: Architecture) -> usize {
    match architecture {
        Architecture::X86_64 => 3,
        Architecture::Arm => 4,
        other => other.instruction_alignment() as usize,
    }
}

fn lift_random(architecture: Architecture, count: usize) -> (usize, usize) {
    let mut random = Random(42);
    let code: Vec<u8> = (0..count).map(|_| random.byte()).collect();
    lift_all(&Program::from_code(architecture, 0x1_0000, &code), step(architecture))
}

/// How many of the addresses have an instruction, and how many have none.
fn lift_all(program: &Program, step: usize) -> (usize, usize) {
    let lifter = Lifter::new(program).unwrap();
    let count = program.segments()[0].bytes.len();
    let (mut lifted, mut refused) = (0, 0);
    for address in (0x1_0000..0x1_0000 + count as u64).step_by(step) {
        match lifter.lift(address) {
            Ok(instruction) => {
                lifted += 1;
                well_formed(&instruction, lifter.registers());
                assert!(!lifter.text(&instruction).is_empty());
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error.address, address);
                assert!(!error.bytes.is_empty());
            }
        }
    }
    (lifted, refused)
}

/// Registers are written whole, temporaries once and before they are read, and sizes fit.
fn well_formed(instruction: &Instruction, registers: wcet_binary::lift::Registers) {
    let mut written = std::collections::BTreeMap::new();
    let check = |value: Value, written: &std::collections::BTreeMap<u16, u8>| match value.operand {
        Operand::Temporary(number) => assert_eq!(written.get(&number), Some(&value.size), "{instruction:?}"),
        Operand::Register(register) => assert_eq!(registers.value(register), value, "{instruction:?}"),
        Operand::Constant(_) => {}
    };
    for op in &instruction.ops {
        match *op {
            Op::Set { to, from } => {
                match from {
                    Expression::Copy(a) => {
                        check(a, &written);
                        assert_eq!(a.size, to.size, "{instruction:?}");
                    }
                    Expression::Unary(_, a) | Expression::Extract { from: a, .. } => check(a, &written),
                    Expression::Binary(_, a, b)
                    | Expression::Float(_, a, b)
                    | Expression::Concat { high: a, low: b }
                    | Expression::Insert { into: a, from: b, .. } => {
                        check(a, &written);
                        check(b, &written);
                    }
                    Expression::Select { when, then, otherwise } => {
                        [when, then, otherwise].into_iter().for_each(|value| check(value, &written));
                        assert_eq!((then.size, otherwise.size), (to.size, to.size), "{instruction:?}");
                    }
                    Expression::Load { address, .. } => check(address, &written),
                    Expression::Unknown => {}
                }
                match to.operand {
                    Operand::Temporary(number) => assert_eq!(written.insert(number, to.size), None, "{instruction:?}"),
                    _ => check(to, &written),
                }
            }
            Op::Store { address, from, when } => {
                [Some(address), Some(from), when].into_iter().flatten().for_each(|value| check(value, &written));
            }
            Op::ClobberMemory => {}
        }
    }
    if let Some(when) = instruction.flow.condition() {
        check(when, &written);
    }
}

#[test]
fn random_bytes_x86() {
    let (lifted, refused) = lift_random(Architecture::X86_64, 60_000);
    println!("{lifted} lifted, {refused} refused");
    assert!(lifted > refused);
}

#[test]
fn random_words_arm() {
    let (lifted, refused) = lift_random(Architecture::Arm, 80_000);
    println!("{lifted} lifted, {refused} refused");
    assert!(lifted > refused);
}

#[test]
fn random_halves_thumb() {
    let mut random = Random(7);
    let code: Vec<u8> = (0..80_000).map(|_| random.byte()).collect();
    let (lifted, refused) = lift_all(&Program::from_thumb_code(0x1_0000, &code), 2);
    println!("{lifted} lifted, {refused} refused");
    assert!(lifted > refused);
}

#[test]
fn random_words_riscv() {
    for architecture in [Architecture::RiscV64, Architecture::RiscV32] {
        let (lifted, refused) = lift_random(architecture, 20_000);
        println!("{lifted} lifted, {refused} refused");
        assert!(lifted > refused);
    }
}

#[test]
fn code_that_ends() {
    let program = Program::from_code(Architecture::X86_64, 0x1000, &[0x48, 0xb8, 1, 2]);
    let lifter = Lifter::new(&program).unwrap();
    assert!(lifter.lift(0x1000).is_err(), "the number is cut off");
    assert!(lifter.lift(0x2000).unwrap_err().bytes.is_empty());
    let program = Program::from_code(Architecture::Arm, 0x1000, &[0; 6]);
    let lifter = Lifter::new(&program).unwrap();
    assert!(lifter.lift(0x1000).is_ok());
    assert!(lifter.lift(0x1004).is_err() && lifter.lift(0x1002).is_err());
}

#[test]
fn what_another_program_had_at_an_address_is_forgotten() {
    // Of two registers the one to the other, and their sum.
    let pairs: [(Architecture, &[u8], &[u8]); 4] = [
        (Architecture::X86_64, &[0x89, 0xd8], &[0x01, 0xd8]),
        (Architecture::Arm, &0xe1a0_0001u32.to_le_bytes(), &0xe080_0001u32.to_le_bytes()),
        (Architecture::RiscV64, &0x0005_8513u32.to_le_bytes(), &0x00c5_8533u32.to_le_bytes()),
        (Architecture::RiscV32, &0x0005_8513u32.to_le_bytes(), &0x00c5_8533u32.to_le_bytes()),
    ];
    for (architecture, copy, sum) in pairs {
        let operations = |address: u64, code: &[u8]| {
            let program = Program::from_code(architecture, address, code);
            let instruction = Lifter::new(&program).unwrap().lift(address);
            format!("{:?}", instruction.unwrap_or_else(|error| panic!("{architecture:?}: {error}")).ops)
        };
        for address in [0x10, 0x3f0, 0x1000] {
            let first = operations(address, copy);
            // Where no other program was.
            assert_eq!(operations(address, sum), operations(address + 0x4000, sum), "{architecture:?} at {address:#x}");
            assert_eq!(operations(address, copy), first, "{architecture:?} at {address:#x}");
        }
    }
}
