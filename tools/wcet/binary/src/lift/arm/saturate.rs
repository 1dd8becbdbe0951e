//! `ssat`, `usat` and their forms for half words, which SLEIGH leaves out (ARM Architecture Reference Manual, A8.8). The flag
//! for saturation is not tracked.

use crate::lift::emit::Emitter;
use crate::lift::il::{Binary, Expression, Value};
use crate::lift::register::Registers;

use super::condition;
use super::decode::{bit, bits};

/// What is done with the operand first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shift {
    Left(u32),
    RightSigned(u32),
}

/// The number between two that is next to an operand.
pub(super) fn within(emitter: &mut Emitter<'_>, from: Value, shift: Shift, (low, high): (i64, i64)) -> Expression {
    let (operation, amount) = match shift {
        Shift::Left(amount) => (Binary::ShiftLeft, amount),
        Shift::RightSigned(amount) => (Binary::ShiftRightSigned, amount),
    };
    let value = match amount {
        0 => from,
        _ => emitter.binary(operation, from, Value::constant(amount.into(), 4), 4),
    };
    emitter.nearest(value, low, high)
}

/// An ARM instruction for which [`super::decode::saturates`] holds. Of the forms for half words the result is any value.
pub(super) fn lift(word: u32, registers: Registers, emitter: &mut Emitter<'_>) -> Result<(), String> {
    let register = |number: u32| {
        let found = registers.all().nth(number as usize).filter(|_| number < 15);
        found.ok_or_else(|| "it uses the program counter".to_string())
    };
    let (to, from) = (register(bits(word, 15, 12))?, register(bits(word, 3, 0))?);
    if bits(word, 5, 4) == 3 {
        emitter.set_register(to, 4, Expression::Unknown);
        return Ok(());
    }
    let shift = match (bit(word, 6), bits(word, 11, 7)) {
        (false, amount) => Shift::Left(amount),
        (true, 0) => Shift::RightSigned(31),
        (true, amount) => Shift::RightSigned(amount),
    };
    let top = bits(word, 20, 16);
    let range = match bit(word, 22) {
        true => (0, (1_i64 << top) - 1),
        false => (-(1_i64 << top), (1_i64 << top) - 1),
    };
    let when = condition::holds(bits(word, 31, 28) as u8, emitter, registers);
    let result = within(emitter, registers.value(from), shift, range);
    let result = match when {
        None => result,
        Some(when) => {
            let then = emitter.set(result, 4);
            Expression::Select { when, then, otherwise: registers.value(to) }
        }
    };
    emitter.set_register(to, 4, result);
    Ok(())
}
