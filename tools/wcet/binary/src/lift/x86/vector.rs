//! Zeros in vector registers: compilers clear memory with a register that was cleared once. Nothing else of them is followed.

use iced_x86::{InstructionInfoFactory, Mnemonic, OpAccess, OpKind};

use crate::lift::il::{Expression, Instruction, Kind, Op, Value};

/// What an instruction does to vector registers, by their numbers as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Vectors {
    /// Those whose lower 16 bytes are 0 behind it, whatever they were.
    pub zeroed: u32,
    /// Those that it may change.
    pub written: u32,
    /// The one of which it stores lower bytes, and does nothing else.
    pub stored: u32,
}

/// Copies of a register's bytes, of 16 at most.
const MOVES: [Mnemonic; 14] = [
    Mnemonic::Movaps,
    Mnemonic::Movups,
    Mnemonic::Movapd,
    Mnemonic::Movupd,
    Mnemonic::Movdqa,
    Mnemonic::Movdqu,
    Mnemonic::Movq,
    Mnemonic::Movd,
    Mnemonic::Movlps,
    Mnemonic::Movlpd,
    Mnemonic::Movhps,
    Mnemonic::Movhpd,
    Mnemonic::Movss,
    Mnemonic::Movsd,
];

fn decode(instruction: &Instruction) -> iced_x86::Instruction {
    let options = iced_x86::DecoderOptions::NONE;
    iced_x86::Decoder::with_ip(64, &instruction.bytes, instruction.address, options).decode()
}

pub(crate) fn uses_vectors(instruction: &Instruction) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let decoded = decode(instruction);
    let used = factory.info(&decoded).used_registers();
    instruction.kind == Kind::Ordinary && used.iter().any(|one| one.register().is_vector_register())
}

pub(crate) fn vectors(instruction: &Instruction) -> Vectors {
    if instruction.kind != Kind::Ordinary {
        return Vectors { written: u32::MAX, ..Vectors::default() };
    }
    let decoded = decode(instruction);
    let bit = |register: iced_x86::Register| match register.is_vector_register() {
        true => 1u32.checked_shl(register.number() as u32).unwrap_or(0),
        false => 0,
    };
    let mut factory = InstructionInfoFactory::new();
    let reads = |access| matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess | OpAccess::None);
    let changed = factory.info(&decoded).used_registers().iter().filter(|used| !reads(used.access()));
    let written = changed.fold(0, |all, used| all | bit(used.register()));
    let operand = |at: u32| decoded.op_register(at);
    let zeroed = match decoded.mnemonic() {
        Mnemonic::Pxor | Mnemonic::Xorps | Mnemonic::Xorpd if operand(0).is_xmm() && operand(0) == operand(1) => {
            bit(operand(0))
        }
        Mnemonic::Vpxor | Mnemonic::Vxorps | Mnemonic::Vxorpd
            if operand(0).is_vector_register() && operand(1).is_vector_register() && operand(1) == operand(2) =>
        {
            bit(operand(0))
        }
        _ => 0,
    };
    let stores = decoded.op_count() == 2
        && decoded.op0_kind() == OpKind::Memory
        && operand(1).is_xmm()
        && MOVES.contains(&decoded.mnemonic());
    Vectors { zeroed, written, stored: if stores { bit(operand(1)) } else { 0 } }
}

/// The same instruction where the register that it stores holds 0: what it took for unknown is that register's bytes.
pub(crate) fn storing_zero(instruction: &Instruction) -> Instruction {
    let mut known = instruction.clone();
    for op in &mut known.ops {
        if let Op::Set { to, from } = op {
            if *from == Expression::Unknown {
                *from = Expression::Copy(Value::constant(0, to.size));
            }
        }
    }
    known
}
