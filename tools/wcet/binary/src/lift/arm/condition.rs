//! The conditions of instructions, by their number in the encoding (ARM Architecture Reference Manual, A8.3).

use crate::lift::emit::Emitter;
use crate::lift::il::{Binary, Unary, Value};
use crate::lift::register::Registers;

/// The number of the one that always holds.
pub(super) const ALWAYS: u8 = 14;

/// Whether a condition holds; None if it always does.
pub(super) fn holds(number: u8, emitter: &mut Emitter<'_>, registers: Registers) -> Option<Value> {
    if number >= ALWAYS {
        return None;
    }
    let flag = |name| registers.named(name).map(|register| registers.value(register));
    let (negative, zero, carry, overflow) = (flag("NG")?, flag("ZR")?, flag("CY")?, flag("OV")?);
    let none = Value::constant(0, 1);
    // Conditions come in pairs, the second the contrary of the first.
    let is_contrary = number & 1 == 1;
    let equality = if is_contrary { Binary::Equal } else { Binary::NotEqual };
    let alike = |a, b| (if is_contrary { Binary::NotEqual } else { Binary::Equal }, a, b);
    Some(match number >> 1 {
        0 => emitter.binary(equality, zero, none, 1),
        1 => emitter.binary(equality, carry, none, 1),
        2 => emitter.binary(equality, negative, none, 1),
        3 => emitter.binary(equality, overflow, none, 1),
        4 if is_contrary => {
            let not = emitter.unary(Unary::BoolNot, carry, 1);
            emitter.binary(Binary::Or, not, zero, 1)
        }
        4 => {
            let not = emitter.unary(Unary::BoolNot, zero, 1);
            emitter.binary(Binary::And, carry, not, 1)
        }
        5 => {
            let (operation, a, b) = alike(negative, overflow);
            emitter.binary(operation, a, b, 1)
        }
        _ => {
            let (operation, a, b) = alike(negative, overflow);
            let signs = emitter.binary(operation, a, b, 1);
            if is_contrary {
                emitter.binary(Binary::Or, zero, signs, 1)
            } else {
                let not = emitter.unary(Unary::BoolNot, zero, 1);
                emitter.binary(Binary::And, not, signs, 1)
            }
        }
    })
}
