//! 32-bit ARM: `yaxpeax-arm` decodes, SLEIGH gives the semantics, and the two must agree on where control goes.

mod decode;
mod exclusive;
mod system;

use libsla::PcodeInstruction;
use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv7::{self, InstDecoder, Opcode, Operand};

use crate::convert::{Converter, Exit, ExitKind};
use crate::error::Problem;
use crate::il::{Binary, Expression, Flow, Instruction, Kind, Op, Operand as Place, Target, Value};
use crate::register::Registers;
use crate::sleigh::Semantics;

fn decode(bytes: &[u8]) -> Result<armv7::Instruction, Problem> {
    InstDecoder::armv7().decode(&mut U8Reader::new(bytes)).map_err(|_| Problem::Undecodable)
}

pub(crate) fn lift(
    semantics: &Semantics<'_>,
    registers: Registers,
    address: u64,
    bytes: &[u8],
) -> Result<Instruction, Problem> {
    if address % 4 != 0 {
        return Err(Problem::Thumb);
    }
    let decoded = decode(bytes)?;
    let word = bytes.try_into().map(u32::from_le_bytes).map_err(|_| Problem::NoCode)?;
    let mnemonic = decoded.opcode.to_string();
    let accesses = decode::accesses(&decoded).ok_or_else(|| Problem::Unsupported(mnemonic.clone()))?;
    let mut instruction = Instruction {
        address,
        bytes: bytes.to_vec(),
        mnemonic,
        kind: Kind::Ordinary,
        ops: Vec::new(),
        flow: Flow::Next,
        accesses,
    };
    let mut converter = Converter::new(semantics, address, instruction.next());
    if let Some(system) = system::treatment(&decoded, word)? {
        instruction.kind = system.kind;
        instruction.flow = system.flow;
        for register in system.registers.iter().filter_map(|name| registers.named(name)) {
            converter.emitter.set_register(register, registers.value(register).size, Expression::Unknown);
        }
        instruction.ops = converter.emitter.ops;
        if system.memory {
            instruction.ops.push(Op::ClobberMemory);
        }
        return Ok(instruction);
    }
    let (raw, length): (Vec<PcodeInstruction>, usize) = semantics.raw(address).map_err(|_| Problem::Disagreement {
        decoder: instruction.mnemonic.clone(),
        semantics: "know no such instruction".to_string(),
    })?;
    if length != bytes.len() {
        return Err(disagreement(&instruction, format!("are those of {length} bytes")));
    }
    let fault = |reason| Problem::Semantics { mnemonic: decoded.opcode.to_string(), reason };
    if exclusive::is_store(decoded.opcode) {
        exclusive::store(&decoded, word, registers, &mut converter.emitter).map_err(fault)?;
    } else {
        converter.convert(&raw).map_err(fault)?;
    }
    let exits = std::mem::take(&mut converter.exits);
    instruction.ops = converter.emitter.ops;
    instruction.flow = flow(&instruction, &decoded, exits)?;
    Ok(instruction)
}

fn disagreement(instruction: &Instruction, semantics: String) -> Problem {
    Problem::Disagreement { decoder: instruction.mnemonic.clone(), semantics }
}

fn flow(instruction: &Instruction, decoded: &armv7::Instruction, exits: Vec<Exit>) -> Result<Flow, Problem> {
    let leaves = decode::writes_pc(decoded);
    let (to, when, kind) = match exits.as_slice() {
        [] if !leaves => return Ok(Flow::Next),
        [Exit { to, when, kind }] if leaves => (*to, *when, *kind),
        // A branch to the next instruction is none.
        [] if decode::branch_target(decoded, instruction.address) == Some(instruction.next()) => return Ok(Flow::Next),
        _ => return Err(disagreement(instruction, format!("have {} ways out", exits.len()))),
    };
    let named = decode::branch_target(decoded, instruction.address);
    match to {
        Target::Direct(to) if named != Some(to) => return Err(disagreement(instruction, format!("go to {to:#x}"))),
        Target::Indirect(_) if named.is_some() => return Err(disagreement(instruction, "go elsewhere".to_string())),
        _ => {}
    }
    if matches!(decoded.opcode, Opcode::BLX) && named.is_some() {
        return Err(Problem::Thumb);
    }
    let is_call = matches!(decoded.opcode, Opcode::BL | Opcode::BLX);
    Ok(match (kind, unmasked(&instruction.ops, to)) {
        (ExitKind::Call, to) if is_call => Flow::Call { to, when },
        (ExitKind::Return, Target::Indirect(to)) => Flow::Return { to, when },
        (ExitKind::Jump, to) if !is_call => Flow::Jump { to, when },
        _ => return Err(disagreement(instruction, "take a jump for a call".to_string())),
    })
}

/// The target before SLEIGH cut off the lowest bit, which selects Thumb: whoever resolves it must see that bit.
fn unmasked(ops: &[Op], target: Target) -> Target {
    const MASK: Place = Place::Constant(0xffff_fffe);
    let Target::Indirect(mut value) = target else { return target };
    let definition = |value: Value| {
        ops.iter().find_map(|op| match op {
            Op::Set { to, from } if *to == value => Some(*from),
            _ => None,
        })
    };
    while let Value { operand: Place::Temporary(_), .. } = value {
        match definition(value) {
            Some(Expression::Copy(from @ Value { operand: Place::Temporary(_), .. })) => value = from,
            Some(Expression::Binary(Binary::And, from, Value { operand: MASK, .. })) => return Target::Indirect(from),
            _ => break,
        }
    }
    target
}

/// The instruction for people.
pub(crate) fn text(instruction: &Instruction) -> String {
    let Ok(decoded) = decode(&instruction.bytes) else { return "?".to_string() };
    match decode::branch_target(&decoded, instruction.address) {
        Some(target) => format!("{}{} {target:#x}", decoded.opcode, decoded.condition),
        None => decoded.to_string(),
    }
}

/// The operand as a general register.
fn register(operand: Operand) -> Option<u8> {
    match operand {
        Operand::Reg(register) | Operand::RegWBack(register, _) | Operand::RegDeref(register) => Some(register.number()),
        _ => None,
    }
}
