//! Which registers an instruction reads and writes, as far as its time depends on them.
//!
//! The lifted code names tracked registers. Untracked ones (vectors, control registers) share one bit, and what does
//! more than compute may read everything: more dependencies only make a bound larger.

use iced_x86::{InstructionInfoFactory, OpAccess};
use wcet_binary::lift::il::{Encoding, Expression, Flow, Kind, Op, Operand, Register, Target, Value};
use wcet_binary::lift::{Instruction, Registers};
use wcet_binary::load::Architecture;

use crate::ipet::class;

/// Registers that the language does not track.
const UNTRACKED: u64 = 1 << 63;

/// Bits of registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    pub reads: u64,
    pub writes: u64,
    pub surely_writes: u64,
}

/// What `instruction` reads and writes.
pub fn used(architecture: Architecture, instruction: &Instruction) -> Used {
    let mut used = Used::default();
    for op in &instruction.ops {
        visit(op, &mut used);
    }
    if let Some(when) = instruction.flow.condition() {
        read(when, &mut used);
    }
    match instruction.flow {
        Flow::Jump { to: Target::Indirect(to), .. }
        | Flow::Call { to: Target::Indirect(to), .. }
        | Flow::Return { to, .. } => read(to, &mut used),
        _ => {}
    }
    if instruction.kind != Kind::Ordinary {
        used.reads = u64::MAX;
        used.writes |= UNTRACKED;
    }
    match architecture {
        Architecture::Arm => {
            let conditional = match instruction.encoding {
                Encoding::Main => instruction.bytes.get(3).is_some_and(|top| top >> 4 < 14),
                Encoding::Thumb { conditional } => conditional,
            };
            used.surely_writes = if conditional { 0 } else { used.writes };
        }
        Architecture::X86_64 => x86(instruction, &mut used),
        Architecture::RiscV64 | Architecture::RiscV32 => used.surely_writes = used.writes,
    }
    used.surely_writes &= !UNTRACKED;
    used
}

fn bit(register: Register) -> u64 {
    1 << register.0
}

fn read(value: Value, used: &mut Used) {
    if let Operand::Register(register) = value.operand {
        used.reads |= bit(register);
    }
}

fn visit(op: &Op, used: &mut Used) {
    match op {
        Op::Set { to, from } => {
            if let Operand::Register(register) = to.operand {
                used.writes |= bit(register);
            }
            expression(from, used);
        }
        Op::Store { address, from, when } => {
            [Some(*address), Some(*from), *when].into_iter().flatten().for_each(|value| read(value, used));
        }
        Op::ClobberMemory => {}
    }
}

fn expression(from: &Expression, used: &mut Used) {
    match *from {
        Expression::Copy(a) | Expression::Unary(_, a) | Expression::Extract { from: a, .. } => read(a, used),
        Expression::Binary(_, a, b)
        | Expression::Float(_, a, b)
        | Expression::Insert { into: a, from: b, .. }
        | Expression::Concat { high: a, low: b } => [a, b].into_iter().for_each(|value| read(value, used)),
        Expression::Select { when, then, otherwise } => {
            [when, then, otherwise].into_iter().for_each(|value| read(value, used));
        }
        Expression::Load { address, when } => {
            read(address, used);
            when.into_iter().for_each(|value| read(value, used));
        }
        // Perhaps of a register that is not tracked.
        Expression::Unknown => used.reads |= UNTRACKED,
    }
}

/// Adds what the decoder says: semantics leave out registers that do not matter for the result.
fn x86(instruction: &Instruction, used: &mut Used) {
    let registers = Registers::of(Architecture::X86_64);
    let decoded = class::decode(instruction);
    let mut factory = InstructionInfoFactory::new();
    for one in factory.info(&decoded).used_registers() {
        let register = if one.register().is_gpr() {
            registers.named(&format!("{:?}", one.register().full_register())).map_or(UNTRACKED, bit)
        } else if matches!(one.register(), iced_x86::Register::RIP | iced_x86::Register::EIP) {
            0
        } else {
            UNTRACKED
        };
        use OpAccess::*;
        if matches!(one.access(), Read | CondRead | ReadWrite | ReadCondWrite) {
            used.reads |= register;
        }
        if matches!(one.access(), Write | CondWrite | ReadWrite | ReadCondWrite) {
            used.writes |= register;
        }
        // A write of a part keeps the rest, so that it waits for it.
        if matches!(one.access(), Write | ReadWrite) && one.register().size() >= 4 {
            used.surely_writes |= register;
        }
    }
    let flags = registers.all().filter(|register| registers.is_flag(*register));
    let (read, written) = (decoded.rflags_read() != 0, decoded.rflags_modified() != 0);
    for flag in flags.map(bit) {
        used.reads |= if read { flag } else { 0 };
        used.writes |= if written { flag } else { 0 };
    }
}
