//! 32-bit ARM: the encoding says where control goes and which memory is accessed, SLEIGH gives the semantics, and the
//! two must agree on where control goes.

mod decode;
mod system;

use crate::lift::convert::{Converter, Exit, ExitKind};
use crate::lift::emit::Emitter;
use crate::lift::error::Problem;
use crate::lift::il::{Binary, Expression, Flow, Instruction, Kind, Op, Operand, Target, Value};
use crate::lift::register::Registers;
use crate::lift::sleigh::Semantics;
use decode::{bits, Decoded};

pub(crate) fn lift(
    semantics: &Semantics<'_>,
    registers: Registers,
    address: u64,
    bytes: &[u8],
) -> Result<Instruction, Problem> {
    if address % 4 != 0 {
        return Err(Problem::Thumb);
    }
    let word = bytes.try_into().map(u32::from_le_bytes).map_err(|_| Problem::NoCode)?;
    let decoded = decode::decode(word, address)?;
    let (mnemonic, _) = semantics.text(address).map_err(|_| Problem::Undecodable)?;
    let (raw, length) = semantics.raw(address).map_err(|_| Problem::Undecodable)?;
    let mut instruction = Instruction {
        address,
        bytes: bytes.to_vec(),
        mnemonic,
        kind: Kind::Ordinary,
        ops: Vec::new(),
        flow: Flow::Next,
        accesses: Vec::new(),
    };
    if length != bytes.len() {
        return Err(disagreement(&instruction, format!("are those of {length} bytes")));
    }
    let mut converter = Converter::new(semantics, address, instruction.next());
    if let Some(system) = &decoded.system {
        instruction.kind = system.kind;
        instruction.flow = system.flow;
        for register in system.registers.iter().filter_map(|name| registers.named(name)) {
            converter.emitter.set_register(register, registers.value(register).size, Expression::Unknown);
        }
        instruction.ops = converter.emitter.ops;
        if system.memory {
            instruction.ops.push(Op::ClobberMemory);
        }
        instruction.accesses = decoded.accesses;
        return Ok(instruction);
    }
    let fault = |reason| Problem::Semantics { mnemonic: instruction.mnemonic.clone(), reason };
    match decoded.exclusive_store {
        Some(size) => exclusive_store(word, size, registers, &mut converter.emitter).map_err(fault)?,
        None if decode::saturates(word) => saturated(word, registers, &mut converter.emitter).map_err(fault)?,
        None => converter.convert(&raw).map_err(fault)?,
    }
    instruction.ops = converter.emitter.ops;
    instruction.flow = flow(&instruction, &decoded, &converter.exits)?;
    instruction.accesses = decoded.accesses;
    Ok(instruction)
}

fn disagreement(instruction: &Instruction, semantics: String) -> Problem {
    Problem::Disagreement { decoder: instruction.mnemonic.clone(), semantics }
}

fn flow(instruction: &Instruction, decoded: &Decoded, exits: &[Exit]) -> Result<Flow, Problem> {
    let (to, when, kind) = match exits {
        [] if !decoded.jumps => return Ok(Flow::Next),
        // A call of the next instruction, which SLEIGH takes for none; its condition would be lost.
        [] if decoded.target == Some(instruction.next()) && decoded.links && bits(word(instruction), 31, 28) == 0xe => {
            return Ok(Flow::Call { to: Target::Direct(instruction.next()), when: None });
        }
        // A branch to the next instruction is none.
        [] if decoded.target == Some(instruction.next()) && !decoded.links => return Ok(Flow::Next),
        [Exit { to, when, kind }] if decoded.jumps => (*to, *when, *kind),
        _ => return Err(disagreement(instruction, format!("have {} ways out", exits.len()))),
    };
    let agreed = match to {
        Target::Direct(to) => decoded.target == Some(to),
        Target::Indirect(_) => decoded.target.is_none(),
    };
    if !agreed || decoded.links != (kind == ExitKind::Call) {
        return Err(disagreement(instruction, "go elsewhere".to_string()));
    }
    Ok(match (kind, unmasked(&instruction.ops, to)) {
        (ExitKind::Call, to) => Flow::Call { to, when },
        (ExitKind::Return, Target::Indirect(to)) => Flow::Return { to, when },
        (_, to) => Flow::Jump { to, when },
    })
}

fn word(instruction: &Instruction) -> u32 {
    instruction.bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// The target before SLEIGH cut off the lowest bit, which selects Thumb: the resolution of jumps needs that bit.
fn unmasked(ops: &[Op], target: Target) -> Target {
    let Target::Indirect(mut value) = target else { return target };
    let definition = |value: Value| {
        ops.iter().find_map(|op| match op {
            Op::Set { to, from } if *to == value => Some(*from),
            _ => None,
        })
    };
    while let Value { operand: Operand::Temporary(_), .. } = value {
        match definition(value) {
            Some(Expression::Copy(from @ Value { operand: Operand::Temporary(_), .. })) => value = from,
            Some(Expression::Binary(Binary::And, from, Value { operand: Operand::Constant(0xffff_fffe), .. })) => {
                return Target::Indirect(from);
            }
            _ => break,
        }
    }
    target
}

/// `ssat` and its kin, which SLEIGH leaves out: any value. The flag for saturation is not tracked.
fn saturated(word: u32, registers: Registers, emitter: &mut Emitter<'_>) -> Result<(), String> {
    let number = bits(word, 15, 12);
    let target = registers.all().nth(number as usize).filter(|_| number < 15);
    emitter.set_register(target.ok_or_else(|| "it writes the program counter".to_string())?, 4, Expression::Unknown);
    Ok(())
}

/// `strex` and its kin: the store may fail, which SLEIGH leaves out. It happens or not, and the status is any value.
fn exclusive_store(word: u32, size: u8, registers: Registers, emitter: &mut Emitter<'_>) -> Result<(), String> {
    let register = |number: u32| {
        let found = registers.all().nth(number as usize).filter(|_| number < 15);
        found.ok_or_else(|| "it uses the program counter".to_string())
    };
    let (status, first, base) =
        (register(bits(word, 15, 12))?, bits(word, 3, 0), registers.value(register(bits(word, 19, 16))?));
    let low = registers.value(register(first)?);
    let from = match size {
        4 => low,
        8 => emitter.set(Expression::Concat { high: registers.value(register(first + 1)?), low }, 8),
        _ => emitter.set(Expression::Extract { from: low, at: 0 }, size),
    };
    let when = emitter.unknown(1);
    emitter.ops.push(Op::Store { address: base, from, when: Some(when) });
    emitter.set_register(status, 4, Expression::Unknown);
    Ok(())
}
