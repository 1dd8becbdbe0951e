//! 32-bit ARM: the encoding says where control goes and which memory is accessed, SLEIGH gives the semantics, and the
//! two must agree on where control goes.

mod condition;
mod decode;
mod saturate;
mod system;
mod thumb;

use crate::lift::convert::{Converter, Exit, ExitKind};
use crate::lift::emit::Emitter;
use crate::lift::error::Problem;
use crate::lift::il::{Binary, Encoding, Expression, Flow, Instruction, Kind, Op, Operand, Target, Value};
use crate::lift::register::Registers;
use crate::lift::sleigh::Semantics;
use crate::load::{Coding, Program};
use decode::{bits, Decoded};

/// What a program's instructions are lifted with.
pub(crate) struct Setting<'s, 'p> {
    pub program: &'p Program,
    pub arm: &'s Semantics<'p>,
    /// If some code is Thumb.
    pub thumb: Option<&'s Semantics<'p>>,
    pub registers: Registers,
}

pub(crate) fn lift(setting: &Setting<'_, '_>, address: u64, bytes: &[u8]) -> Result<Instruction, Problem> {
    if address % 2 != 0 {
        return Err(Problem::Misaligned);
    }
    let (instruction, follows, switches) = match setting.program.coding(address) {
        Coding::Data => return Err(Problem::Data),
        Coding::Half => return Err(Problem::Half),
        Coding::Arm => {
            let (instruction, switches) = lift_arm(setting, address, bytes)?;
            (instruction, Coding::Arm, switches)
        }
        Coding::Thumb { block } => {
            let (instruction, block) = thumb::lift(setting, address, bytes, block)?;
            let switches = thumb::switches(&instruction);
            (instruction, Coding::Thumb { block }, switches)
        }
    };
    let is_thumb = matches!(follows, Coding::Thumb { .. });
    if let Flow::Jump { to: Target::Direct(target), .. } | Flow::Call { to: Target::Direct(target), .. } =
        instruction.flow
    {
        let arrives = setting.program.arrives_in(target, is_thumb != switches);
        arrives.map_err(|why| Problem::Arrival { target, why })?;
    }
    let goes_on = matches!(instruction.flow, Flow::Next) || instruction.flow.condition().is_some();
    match (setting.program.coding(instruction.next()), follows) {
        _ if !goes_on => {}
        (Coding::Arm, Coding::Thumb { .. }) => return Err(follows_not(&instruction, "that is ARM code")),
        (Coding::Thumb { .. }, Coding::Arm) => return Err(follows_not(&instruction, "that is Thumb code")),
        (Coding::Thumb { block: there }, Coding::Thumb { block: here }) if there != here => {
            return Err(follows_not(
                &instruction,
                "the block of an `it` instruction ends there, or begins without one",
            ));
        }
        _ => {}
    }
    Ok(instruction)
}

fn follows_not(instruction: &Instruction, why: &'static str) -> Problem {
    Problem::Follows { next: instruction.next(), why }
}

/// The instruction for people.
pub(crate) fn text(setting: &Setting<'_, '_>, instruction: &Instruction) -> String {
    let semantics = match instruction.encoding {
        Encoding::Main => Some(setting.arm),
        Encoding::Thumb { .. } => setting.thumb,
    };
    if let Some(operand) = thumb::block_text(instruction) {
        return format!("{} {operand}", instruction.mnemonic);
    }
    let Some(semantics) = semantics else { return instruction.mnemonic.clone() };
    match semantics.text(instruction.address) {
        Ok((_, rest)) => format!("{} {rest}", instruction.mnemonic),
        Err(reason) => reason,
    }
}

/// The instruction, and whether its direct transfer is to Thumb code.
fn lift_arm(setting: &Setting<'_, '_>, address: u64, bytes: &[u8]) -> Result<(Instruction, bool), Problem> {
    let (semantics, registers) = (setting.arm, setting.registers);
    if address % 4 != 0 {
        return Err(Problem::Misaligned);
    }
    let word = bytes.try_into().map(u32::from_le_bytes).map_err(|_| Problem::NoCode)?;
    // SLEIGH is asked only about what the encoding tables know.
    let decoded = match decode::calls_thumb(word, address) {
        Some(to) => Err(to),
        None => Ok(decode::decode(word, address)?),
    };
    let (mnemonic, _) = semantics.text(address).map_err(|_| Problem::Undecodable)?;
    let mut instruction = Instruction {
        address,
        bytes: bytes.to_vec(),
        encoding: Encoding::Main,
        mnemonic,
        kind: Kind::Ordinary,
        ops: Vec::new(),
        flow: Flow::Next,
        arrival: None,
        accesses: Vec::new(),
    };
    let decoded = match decoded {
        Ok(decoded) => decoded,
        Err(to) => {
            let to_link = registers.link().ok_or(Problem::Undecodable)?;
            let next = Expression::Copy(Value::constant(instruction.next(), 4));
            instruction.ops = vec![Op::Set { to: registers.value(to_link), from: next }];
            instruction.flow = Flow::Call { to: Target::Direct(to), when: None };
            return Ok((instruction, true));
        }
    };
    let (raw, length) = semantics.raw(address).map_err(|_| Problem::Undecodable)?;
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
        return Ok((instruction, false));
    }
    let fault = |reason| Problem::Semantics { mnemonic: instruction.mnemonic.clone(), reason };
    match decoded.exclusive_store {
        Some(size) => {
            let first = bits(word, 3, 0);
            let numbers = (bits(word, 15, 12), first, first + 1, bits(word, 19, 16), 0);
            exclusive_store(numbers, size, registers, &mut converter.emitter).map_err(fault)?;
        }
        None if decode::saturates(word) => saturate::lift(word, registers, &mut converter.emitter).map_err(fault)?,
        None => converter.convert(&raw).map_err(fault)?,
    }
    instruction.ops = std::mem::take(&mut converter.emitter.ops);
    let flow = flow(&instruction, &decoded, &converter.exits)?;
    converter.emitter.ops = instruction.ops;
    (instruction.flow, instruction.arrival) = arrival(flow, &mut converter.emitter);
    instruction.ops = converter.emitter.ops;
    instruction.accesses = decoded.accesses;
    Ok((instruction, false))
}

/// An indirect target without the bit that tells the state, and with it. What the program counter is computed to be tells it as
/// well, as on ARMv7.
fn arrival(flow: Flow, emitter: &mut Emitter<'_>) -> (Flow, Option<Value>) {
    let target = match flow {
        Flow::Jump { to: Target::Indirect(to), .. } | Flow::Call { to: Target::Indirect(to), .. } => to,
        Flow::Return { to, .. } => to,
        _ => return (flow, None),
    };
    let arrival = unmasked(&emitter.ops, target);
    let masked = by_mask(emitter, arrival);
    let flow = match flow {
        Flow::Jump { when, .. } => Flow::Jump { to: Target::Indirect(masked), when },
        Flow::Call { when, .. } => Flow::Call { to: Target::Indirect(masked), when },
        Flow::Return { when, .. } => Flow::Return { to: masked, when },
        _ => flow,
    };
    (flow, Some(arrival))
}

/// A target without the bit that tells the state.
fn by_mask(emitter: &mut Emitter<'_>, value: Value) -> Value {
    emitter.binary(Binary::And, value, Value::constant(0xffff_fffe, 4), 4)
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
    Ok(match (kind, to) {
        (ExitKind::Call, to) => Flow::Call { to, when },
        (ExitKind::Return, Target::Indirect(to)) => Flow::Return { to, when },
        (_, to) => Flow::Jump { to, when },
    })
}

fn word(instruction: &Instruction) -> u32 {
    instruction.bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// The target before SLEIGH cut off the lowest bit, which selects Thumb: the resolution of jumps needs that bit.
fn unmasked(ops: &[Op], target: Value) -> Value {
    let mut value = target;
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
                return from;
            }
            _ => break,
        }
    }
    target
}

/// `strex` and its kin: the store may fail, which SLEIGH leaves out. It happens or not, and the status is any value. The numbers
/// of the registers for the status, the value and its second half, the address, and what is added to that.
fn exclusive_store(
    (status, first, second, base, displacement): (u32, u32, u32, u32, u32),
    size: u8,
    registers: Registers,
    emitter: &mut Emitter<'_>,
) -> Result<(), String> {
    let register = |number: u32| {
        let found = registers.all().nth(number as usize).filter(|_| number < 15);
        found.ok_or_else(|| "it uses the program counter".to_string())
    };
    let (status, base) = (register(status)?, registers.value(register(base)?));
    let low = registers.value(register(first)?);
    let from = match size {
        4 => low,
        8 => emitter.set(Expression::Concat { high: registers.value(register(second)?), low }, 8),
        _ => emitter.set(Expression::Extract { from: low, at: 0 }, size),
    };
    let address = match displacement {
        0 => base,
        _ => emitter.binary(Binary::Add, base, Value::constant(displacement.into(), 4), 4),
    };
    let when = emitter.unknown(1);
    emitter.ops.push(Op::Store { address, from, when: Some(when) });
    emitter.set_register(status, 4, Expression::Unknown);
    Ok(())
}
