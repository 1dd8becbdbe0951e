//! `strex` and its kin: the store may fail, which SLEIGH leaves out.

use yaxpeax_arm::armv7::{Instruction, Opcode};

use crate::emit::Emitter;
use crate::il::{Expression, Op, Operand, Value};
use crate::register::Registers;

pub(crate) fn is_store(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::STREX | Opcode::STREXB | Opcode::STREXH)
}

/// The store happens or not; the status is 0 or 1 accordingly, here any value.
pub(crate) fn store(
    decoded: &Instruction,
    word: u32,
    registers: Registers,
    emitter: &mut Emitter<'_>,
) -> Result<(), String> {
    let register = |number: u32| {
        let found = registers.all().nth(number as usize).filter(|_| number < 15);
        found.ok_or_else(|| "it uses the program counter".to_string())
    };
    let (status, from, base) = (register(word >> 12 & 0xf)?, register(word & 0xf)?, register(word >> 16 & 0xf)?);
    let size = match decoded.opcode {
        Opcode::STREXB => 1,
        Opcode::STREXH => 2,
        _ => 4,
    };
    let whole = Value { operand: Operand::Register(from), size: 4 };
    let from = if size == 4 { whole } else { emitter.set(Expression::Extract { from: whole, at: 0 }, size) };
    let when = emitter.unknown(1);
    emitter.ops.push(Op::Store { address: registers.value(base), from, when: Some(when) });
    emitter.set_register(status, 4, Expression::Unknown);
    Ok(())
}
