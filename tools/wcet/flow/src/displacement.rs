//! By how much registers change: what they hold after some instructions is what one held before plus a number.

use std::collections::HashMap;

use wcet_binary::lift::il::{Binary, Expression, Op, Operand, Register, Value};
use wcet_binary::lift::Instruction;

/// Registers after some instructions, each as what a register held before them plus a number.
#[derive(Debug, Default)]
pub struct Displacements {
    registers: HashMap<Register, Option<(Register, i64)>>,
}

impl Displacements {
    /// What a register holds: what one held at first, plus a number; None if it is something else.
    pub fn register(&self, register: Register) -> Option<(Register, i64)> {
        self.registers.get(&register).copied().unwrap_or(Some((register, 0)))
    }

    /// Executes an instruction. What memory holds is something else.
    pub fn execute(&mut self, instruction: &Instruction) {
        let mut temporaries: HashMap<u16, (Option<(Register, i64)>, u8)> = HashMap::new();
        for op in &instruction.ops {
            let Op::Set { to, from } = op else { continue };
            let value = |value: &Value| match value.operand {
                Operand::Register(register) => self.register(register),
                Operand::Temporary(number) => {
                    temporaries.get(&number).filter(|(_, size)| *size == value.size).and_then(|(sum, _)| *sum)
                }
                Operand::Constant(_) => None,
            };
            let plus = |a: &Value, b: &Value, sign: i64| {
                let (register, number) = value(a)?;
                Some((register, number.wrapping_add(sign.wrapping_mul(constant(b)?))))
            };
            let sum = match from {
                Expression::Copy(from) => value(from),
                Expression::Binary(Binary::Add, a, b) => plus(a, b, 1).or_else(|| plus(b, a, 1)),
                Expression::Binary(Binary::Subtract, a, b) => plus(a, b, -1),
                _ => None,
            };
            match to.operand {
                Operand::Register(register) => {
                    self.registers.insert(register, sum);
                }
                Operand::Temporary(number) => {
                    temporaries.insert(number, (sum, to.size));
                }
                Operand::Constant(_) => {}
            }
        }
    }
}

/// A constant with its sign.
fn constant(value: &Value) -> Option<i64> {
    let Operand::Constant(number) = value.operand else { return None };
    let unused = 64 - 8 * u32::from(value.size.clamp(1, 8));
    Some(((number << unused) as i64) >> unused)
}
