//! From SLEIGH's operations to the intermediate language: jumps inside an instruction become selections.
//!
//! SLEIGH writes a conditional instruction as a jump over its operations. Here every operation happens, and a write
//! under a condition keeps the old value where the condition is 0. Jumps inside an instruction only go forward, except
//! in the few instructions that the overlays replace; any other is refused.

use std::collections::BTreeMap;

use libsla::{BoolOp, FloatOp, IntOp, IntSign, OpCode, PcodeInstruction, PseudoOp, VarnodeData};

use crate::lift::emit::Emitter;
use crate::lift::il::{Binary, Expression, Float, Op, Target, Unary, Value};
use crate::lift::sleigh::Semantics;

/// A way out of the instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exit {
    pub to: Target,
    pub when: Option<Value>,
    pub kind: ExitKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitKind {
    Jump,
    Call,
    Return,
}

/// Under which condition the next operation happens.
#[derive(Debug, Clone, Copy)]
enum Live {
    Always,
    When(Value),
    Never,
}

pub(crate) struct Converter<'s> {
    pub emitter: Emitter<'s>,
    pub exits: Vec<Exit>,
    live: Live,
    /// Conditions under which a jump arrives at an operation.
    arriving: BTreeMap<usize, Vec<Live>>,
    address: u64,
    next: u64,
    /// Whether vector registers are tracked.
    vectors: bool,
}

impl<'s> Converter<'s> {
    pub fn new(semantics: &'s Semantics<'_>, address: u64, next: u64) -> Converter<'s> {
        Converter {
            emitter: Emitter::new(semantics),
            exits: Vec::new(),
            live: Live::Always,
            arriving: BTreeMap::new(),
            address,
            next,
            vectors: semantics.vectors,
        }
    }

    /// Operations happen only where `condition` is not 0.
    pub fn under(&mut self, condition: Value) {
        self.live = Live::When(condition);
    }

    pub fn convert(&mut self, raw: &[PcodeInstruction]) -> Result<(), String> {
        for (index, operation) in raw.iter().enumerate() {
            self.arrive(index);
            if !matches!(self.live, Live::Never) {
                self.operation(index, raw.len(), operation)?;
            }
        }
        Ok(())
    }

    fn arrive(&mut self, index: usize) {
        for live in self.arriving.remove(&index).unwrap_or_default() {
            self.live = match (self.live, live) {
                (Live::Always, _) | (_, Live::Always) => Live::Always,
                (Live::Never, other) | (other, Live::Never) => other,
                (Live::When(a), Live::When(b)) => Live::When(self.emitter.binary(Binary::Or, a, b, 1)),
            };
        }
    }

    /// `live` where also `condition` holds.
    fn and(&mut self, condition: Value) -> Live {
        match self.live {
            Live::Always => Live::When(condition),
            Live::When(live) => Live::When(self.emitter.binary(Binary::And, live, condition, 1)),
            Live::Never => Live::Never,
        }
    }

    fn when(&self) -> Option<Value> {
        match self.live {
            Live::When(condition) => Some(condition),
            _ => None,
        }
    }

    fn operation(&mut self, index: usize, length: usize, raw: &PcodeInstruction) -> Result<(), String> {
        let input =
            |at: usize| raw.inputs.get(at).ok_or_else(|| format!("operand {at} of {:?} is missing", raw.op_code));
        match raw.op_code {
            OpCode::Branch => {
                self.jump(index, length, input(0)?, self.live)?;
                self.live = Live::Never;
            }
            OpCode::BranchConditional => {
                let condition = self.emitter.read(input(1)?)?;
                // A flag may change under its own condition: keep what it was.
                let condition = self.emitter.set(Expression::Copy(condition), 1);
                let taken = self.and(condition);
                let not = self.emitter.unary(Unary::BoolNot, condition, 1);
                let stays = self.and(not);
                self.jump(index, length, input(0)?, taken)?;
                self.live = stays;
            }
            OpCode::Call => {
                let to = Target::Direct(input(0)?.address.offset);
                self.exits.push(Exit { to, when: self.when(), kind: ExitKind::Call });
            }
            OpCode::BranchIndirect | OpCode::CallIndirect | OpCode::Return => {
                let kind = match raw.op_code {
                    OpCode::BranchIndirect => ExitKind::Jump,
                    OpCode::CallIndirect => ExitKind::Call,
                    _ => ExitKind::Return,
                };
                let value = self.emitter.read(input(0)?)?;
                // A register may still change below: keep what it holds now.
                let value = self.emitter.set(Expression::Copy(value), value.size);
                self.exits.push(Exit { to: Target::Indirect(value), when: self.when(), kind });
                if kind != ExitKind::Call {
                    self.live = Live::Never;
                }
            }
            OpCode::Store => {
                let address = self.emitter.read(input(1)?)?;
                let from = self.emitter.read(input(2)?)?;
                let when = self.when();
                self.emitter.ops.push(Op::Store { address, from, when });
            }
            OpCode::Pseudo(PseudoOp::CallOther) if raw.output.is_none() && raw.inputs.len() == 1 => {
                // A mark without data: the lock prefix, or a change of the instruction set that flow checks.
            }
            OpCode::Pseudo(_) | OpCode::Analysis(_) | OpCode::Unknown(_) => {
                return Err("it does something SLEIGH has no semantics for".to_string());
            }
            _ => {
                let output = raw.output.as_ref().ok_or("an operation without result")?;
                let size = u8::try_from(output.size).map_err(|_| "a value of more than 255 bytes")?;
                let from = self.expression(raw, size)?;
                let when = self.when();
                self.emitter.write(output, from, when, !self.arriving.is_empty())?;
            }
        }
        Ok(())
    }

    fn jump(&mut self, index: usize, length: usize, to: &VarnodeData, live: Live) -> Result<(), String> {
        if to.address.address_space.is_constant() {
            let offset = to.address.offset as u32 as i32;
            let target = i64::try_from(index).ok().map(|index| index + i64::from(offset)).unwrap_or(-1);
            return match usize::try_from(target) {
                Ok(target) if target > index && target <= length => {
                    self.arriving.entry(target).or_default().push(live);
                    Ok(())
                }
                _ => Err("it loops inside".to_string()),
            };
        }
        if to.address.offset == self.next {
            return Ok(());
        }
        let when = match live {
            Live::Always => None,
            Live::When(condition) => Some(condition),
            Live::Never => return Ok(()),
        };
        self.exits.push(Exit { to: Target::Direct(to.address.offset), when, kind: ExitKind::Jump });
        Ok(())
    }

    fn expression(&mut self, raw: &PcodeInstruction, size: u8) -> Result<Expression, String> {
        let emitter = &mut self.emitter;
        let mut operand = |at: usize| match raw.inputs.get(at) {
            Some(varnode) => emitter.read(varnode),
            None => Err(format!("operand {at} of {:?} is missing", raw.op_code)),
        };
        if let OpCode::Float(operation) = raw.op_code {
            // Where its operands come from registers that are not tracked, nothing is known of it.
            let tracked = float(operation).filter(|_| self.vectors);
            let Some(operation) = tracked else { return Ok(Expression::Unknown) };
            let a = operand(0)?;
            let b = if raw.inputs.len() > 1 { operand(1)? } else { a };
            return Ok(Expression::Float(operation, a, b));
        }
        if let Some(binary) = binary(raw.op_code) {
            return Ok(Expression::Binary(binary, operand(0)?, operand(1)?));
        }
        if let Some(unary) = unary(raw.op_code) {
            return Ok(Expression::Unary(unary, operand(0)?));
        }
        match raw.op_code {
            OpCode::Copy => Ok(Expression::Copy(operand(0)?)),
            OpCode::Load => {
                let address = operand(1)?;
                Ok(Expression::Load { address, when: self.when() })
            }
            OpCode::Subpiece => {
                let at = raw.inputs.get(1).ok_or("an extraction without position")?.address.offset;
                let from = operand(0)?;
                match u8::try_from(at) {
                    Ok(at) if at.checked_add(size).is_some_and(|end| end <= from.size) => {
                        Ok(Expression::Extract { from, at })
                    }
                    _ => Err("an extraction outside its value".to_string()),
                }
            }
            OpCode::Piece => Ok(Expression::Concat { high: operand(0)?, low: operand(1)? }),
            other => Err(format!("{other:?} at {:#x} has no translation", self.address)),
        }
    }
}

/// None for what rounds in a way that SLEIGH leaves open.
fn float(operation: FloatOp) -> Option<Float> {
    Some(match operation {
        FloatOp::Equal => Float::Equal,
        FloatOp::NotEqual => Float::NotEqual,
        FloatOp::LessThan => Float::Less,
        FloatOp::LessThanOrEqual => Float::LessEqual,
        FloatOp::IsNaN => Float::IsNan,
        FloatOp::Add => Float::Add,
        FloatOp::Subtract => Float::Subtract,
        FloatOp::Multiply => Float::Multiply,
        FloatOp::Divide => Float::Divide,
        FloatOp::Negate => Float::Negate,
        FloatOp::AbsoluteValue => Float::Absolute,
        FloatOp::SquareRoot => Float::SquareRoot,
        FloatOp::IntToFloat => Float::FromInteger,
        FloatOp::FloatToFloat => Float::Convert,
        FloatOp::Truncate => Float::Truncate,
        FloatOp::Ceiling | FloatOp::Floor | FloatOp::Round => return None,
    })
}

fn unary(code: OpCode) -> Option<Unary> {
    Some(match code {
        OpCode::Popcount => Unary::CountOnes,
        OpCode::LzCount => Unary::LeadingZeros,
        OpCode::Bool(BoolOp::Negate) => Unary::BoolNot,
        OpCode::Int(IntOp::Bitwise(BoolOp::Negate)) => Unary::Not,
        OpCode::Int(IntOp::Negate) => Unary::Negate,
        OpCode::Int(IntOp::Extension(IntSign::Unsigned)) => Unary::ZeroExtend,
        OpCode::Int(IntOp::Extension(IntSign::Signed)) => Unary::SignExtend,
        _ => return None,
    })
}

fn binary(code: OpCode) -> Option<Binary> {
    let operation = match code {
        OpCode::Bool(operation) => IntOp::Bitwise(operation),
        OpCode::Int(operation) => operation,
        _ => return None,
    };
    Some(match operation {
        IntOp::Add => Binary::Add,
        IntOp::Subtract => Binary::Subtract,
        IntOp::Multiply => Binary::Multiply,
        IntOp::Divide(IntSign::Unsigned) => Binary::Divide,
        IntOp::Divide(IntSign::Signed) => Binary::DivideSigned,
        IntOp::Remainder(IntSign::Unsigned) => Binary::Remainder,
        IntOp::Remainder(IntSign::Signed) => Binary::RemainderSigned,
        IntOp::Bitwise(BoolOp::And) => Binary::And,
        IntOp::Bitwise(BoolOp::Or) => Binary::Or,
        IntOp::Bitwise(BoolOp::Xor) => Binary::Xor,
        IntOp::ShiftLeft => Binary::ShiftLeft,
        IntOp::ShiftRight(IntSign::Unsigned) => Binary::ShiftRight,
        IntOp::ShiftRight(IntSign::Signed) => Binary::ShiftRightSigned,
        IntOp::Equal => Binary::Equal,
        IntOp::NotEqual => Binary::NotEqual,
        IntOp::LessThan(IntSign::Unsigned) => Binary::Less,
        IntOp::LessThan(IntSign::Signed) => Binary::LessSigned,
        IntOp::LessThanOrEqual(IntSign::Unsigned) => Binary::LessEqual,
        IntOp::LessThanOrEqual(IntSign::Signed) => Binary::LessEqualSigned,
        IntOp::Carry(IntSign::Unsigned) => Binary::Carry,
        IntOp::Carry(IntSign::Signed) => Binary::CarrySigned,
        IntOp::Borrow => Binary::BorrowSigned,
        IntOp::Bitwise(BoolOp::Negate) | IntOp::Negate | IntOp::Extension(_) => return None,
    })
}
