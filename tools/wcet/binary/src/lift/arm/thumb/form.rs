//! The operations of a Thumb instruction, as its form says.

use crate::lift::convert::{Converter, Exit, ExitKind};
use crate::lift::error::Problem;
use crate::lift::il::{Binary, Expression, Flow, Instruction, Op, Register, Target, Unary, Value};
use crate::lift::register::Registers;
use crate::lift::sleigh::Semantics;

use super::super::saturate;
use super::super::system::System;
use super::super::{by_mask, disagreement, exclusive_store, unmasked};
use super::decode::{Carry, Decoded, Form, Goes};

const LINK: u32 = 14;
const PC: u32 = 15;

pub(super) struct Lifted<'s> {
    pub converter: Converter<'s>,
    pub registers: Registers,
    /// Under which the instruction happens.
    pub condition: Option<Value>,
}

impl Lifted<'_> {
    /// What a register holds; the program counter is four bytes ahead.
    fn read(&self, number: u32, address: u64) -> Value {
        match register(self.registers, number) {
            Some(register) => self.registers.value(register),
            None => Value::constant(u64::from((address as u32).wrapping_add(4)), 4),
        }
    }

    /// Writes a register where the instruction happens.
    fn write(&mut self, number: u32, from: Expression) -> Result<(), String> {
        let register = register(self.registers, number).ok_or("it writes the program counter")?;
        let emitter = &mut self.converter.emitter;
        let from = match self.condition {
            None => from,
            Some(when) => {
                let then = emitter.set(from, 4);
                Expression::Select { when, then, otherwise: self.registers.value(register) }
            }
        };
        emitter.set_register(register, 4, from);
        Ok(())
    }

    pub fn system(mut self, system: &System, instruction: &mut Instruction) {
        let emitter = &mut self.converter.emitter;
        instruction.kind = system.kind;
        instruction.flow = system.flow;
        for register in system.registers.iter().filter_map(|name| self.registers.named(name)) {
            emitter.set_register(register, self.registers.value(register).size, Expression::Unknown);
        }
        instruction.ops = self.converter.emitter.ops;
        if system.memory {
            instruction.ops.push(Op::ClobberMemory);
        }
    }

    /// Emits the operations of an instruction that only computes; its flow, and the value that tells the state behind it.
    pub fn form(
        &mut self,
        decoded: &Decoded,
        instruction: &mut Instruction,
        semantics: &Semantics<'_>,
    ) -> Result<(Flow, Option<Value>), Problem> {
        let name = instruction.mnemonic.clone();
        let fault = |reason: String| Problem::Semantics { mnemonic: name.clone(), reason };
        let (address, when) = (instruction.address, self.condition);
        let next = Value::constant(instruction.next() | 1, 4);
        match &decoded.form {
            Form::Computes => {
                self.computes(instruction, semantics)?;
                return self.agreed(decoded, instruction);
            }
            Form::Logical(carry) => {
                let carry = self.carry(*carry, address);
                self.computes(instruction, semantics)?;
                self.set_carry(carry);
                return self.agreed(decoded, instruction);
            }
            Form::LoadsExclusively { size, first, second, base, displacement } => {
                let base = self.read(*base, address);
                self.loads(*size, (*first, *second), base, *displacement).map_err(fault)?;
            }
            Form::Exchange { from, links } => {
                let from = self.read(*from, address);
                let arrival = self.converter.emitter.set(Expression::Copy(from), 4);
                let to = by_mask(&mut self.converter.emitter, arrival);
                if *links {
                    self.write(LINK, Expression::Copy(next)).map_err(fault)?;
                    return Ok((Flow::Call { to: Target::Indirect(to), when }, Some(arrival)));
                }
                return Ok((self.leaves(from, to), Some(arrival)));
            }
            Form::MoveToPc(from) => {
                let from = self.read(*from, address);
                let (to, arrival) = self.in_thumb(from);
                return Ok((self.leaves(from, to), Some(arrival)));
            }
            Form::MoveFromPc(to) => {
                let from = self.read(PC, address);
                self.write(*to, Expression::Copy(from)).map_err(fault)?;
            }
            Form::CallArm(to) => {
                self.write(LINK, Expression::Copy(next)).map_err(fault)?;
                return Ok((Flow::Call { to: Target::Direct(*to), when }, None));
            }
            Form::StoresExclusively { size, status, first, second, base, displacement } => {
                let numbers = (*status, *first, *second, *base, *displacement);
                exclusive_store(numbers, *size, self.registers, &mut self.converter.emitter).map_err(fault)?;
            }
            Form::Saturates { to, from, shift, low, high } => {
                let from = self.read(*from, address);
                let result = saturate::within(&mut self.converter.emitter, from, *shift, (*low, *high));
                self.write(*to, result).map_err(fault)?;
            }
            Form::Unknown(list) => {
                for to in list {
                    self.write(*to, Expression::Unknown).map_err(fault)?;
                }
            }
            Form::System(_) => {}
        }
        Ok((Flow::Next, None))
    }

    /// SLEIGH's operations.
    fn computes(&mut self, instruction: &Instruction, semantics: &Semantics<'_>) -> Result<(), Problem> {
        let (raw, length) = semantics.raw(instruction.address).map_err(|_| Problem::Undecodable)?;
        if length != instruction.bytes.len() {
            return Err(disagreement(instruction, format!("are those of {length} bytes")));
        }
        if let Some(condition) = self.condition {
            self.converter.under(condition);
        }
        let mnemonic = instruction.mnemonic.clone();
        self.converter.convert(&raw).map_err(|reason| Problem::Semantics { mnemonic, reason })
    }

    /// The carry before the operations change a register; None: it stays.
    fn carry(&mut self, carry: Carry, address: u64) -> Option<Value> {
        match carry {
            Carry::Kept => None,
            Carry::Number(set) => Some(Value::constant(set.into(), 1)),
            Carry::Bit { register, index } => {
                let from = self.read(register, address);
                let emitter = &mut self.converter.emitter;
                let moved = emitter.binary(Binary::ShiftRight, from, Value::constant(index.into(), 4), 4);
                let low = emitter.binary(Binary::And, moved, Value::constant(1, 4), 4);
                Some(emitter.set(Expression::Extract { from: low, at: 0 }, 1))
            }
        }
    }

    /// SLEIGH leaves out the operand's carry in some of the forms.
    fn set_carry(&mut self, carry: Option<Value>) {
        let Some(register) = self.registers.named("CY") else { return };
        let (emitter, old) = (&mut self.converter.emitter, self.registers.value(register));
        emitter.ops.retain(|op| !matches!(op, Op::Set { to, .. } if *to == old));
        let from = match (carry, self.condition) {
            (None, _) => return,
            (Some(carry), None) => Expression::Copy(carry),
            (Some(then), Some(when)) => Expression::Select { when, then, otherwise: old },
        };
        emitter.set_register(register, 1, from);
    }

    /// `ldrex` and its kin: they load.
    fn loads(&mut self, size: u8, targets: (u32, u32), base: Value, displacement: u32) -> Result<(), String> {
        let (emitter, when) = (&mut self.converter.emitter, self.condition);
        let part = size.min(4);
        let mut word = |displacement: u32| {
            let address = emitter.binary(Binary::Add, base, Value::constant(displacement.into(), 4), 4);
            let loaded = emitter.set(Expression::Load { address, when }, part);
            if part == 4 {
                Expression::Copy(loaded)
            } else {
                Expression::Unary(Unary::ZeroExtend, loaded)
            }
        };
        let (low, high) = (word(displacement), (size == 8).then(|| word(displacement + 4)));
        self.write(targets.0, low)?;
        high.map_or(Ok(()), |high| self.write(targets.1, high))
    }

    /// A jump by register, which is taken for a return if it is by the link register.
    fn leaves(&self, from: Value, to: Value) -> Flow {
        let is_link = register(self.registers, LINK).is_some_and(|link| from == self.registers.value(link));
        match self.condition {
            when if is_link => Flow::Return { to, when },
            when => Flow::Jump { to: Target::Indirect(to), when },
        }
    }

    /// A target that is reached in Thumb state whatever its lowest bit: without that bit, and with it.
    fn in_thumb(&mut self, value: Value) -> (Value, Value) {
        let emitter = &mut self.converter.emitter;
        let to = by_mask(emitter, value);
        (to, emitter.binary(Binary::Or, value, Value::constant(1, 4), 4))
    }

    /// The flow, if the semantics go where the encoding says.
    fn agreed(&mut self, decoded: &Decoded, instruction: &Instruction) -> Result<(Flow, Option<Value>), Problem> {
        let exits: Vec<Exit> = self.converter.exits.clone();
        let next = instruction.next();
        let (exit, goes) = match (exits.as_slice(), decoded.goes) {
            ([], Goes::On) => return Ok((Flow::Next, None)),
            // A branch to the next instruction is none.
            ([], Goes::To(to)) if to == next => return Ok((Flow::Next, None)),
            ([exit], goes) => (*exit, goes),
            _ => return Err(disagreement(instruction, format!("have {} ways out", exits.len()))),
        };
        let when = exit.when;
        match (goes, exit.to, exit.kind) {
            (Goes::To(to), Target::Direct(theirs), ExitKind::Jump) if to == theirs => {
                Ok((Flow::Jump { to: exit.to, when }, None))
            }
            (Goes::Call(to), Target::Direct(theirs), ExitKind::Call) if to == theirs => {
                Ok((Flow::Call { to: exit.to, when }, None))
            }
            (Goes::InThumb, Target::Indirect(value), ExitKind::Jump) => {
                let (to, arrival) = self.in_thumb(value);
                Ok((Flow::Jump { to: Target::Indirect(to), when }, Some(arrival)))
            }
            (Goes::Loaded, Target::Indirect(value), ExitKind::Jump | ExitKind::Return) => {
                let arrival = unmasked(&self.converter.emitter.ops, value);
                let to = by_mask(&mut self.converter.emitter, arrival);
                let flow = match exit.kind {
                    ExitKind::Return => Flow::Return { to, when },
                    _ => Flow::Jump { to: Target::Indirect(to), when },
                };
                Ok((flow, Some(arrival)))
            }
            _ => Err(disagreement(instruction, "go elsewhere".to_string())),
        }
    }
}

/// The register with this number; None for the program counter.
fn register(registers: Registers, number: u32) -> Option<Register> {
    registers.all().nth(number as usize).filter(|_| number < PC)
}
