//! Vector instructions that do the same to each part of their operands, and of which SLEIGH has no semantics, or wrong ones: it
//! shifts each part by another part (Intel's manual, volume 2). Only for a lifter that tracks vector registers.

use iced_x86::{Mnemonic, OpKind};

use crate::lift::emit::Emitter;
use crate::lift::il::{Access, AddressForm, Binary, Expression, Float, Unary, Value};
use crate::lift::register::Registers;

use super::decode;

/// Bytes of a vector register.
const WHOLE: u8 = 16;

/// What is done to each part.
#[derive(Clone, Copy)]
enum Lane {
    /// All by one number.
    Shift(Binary),
    /// A sum or a difference, or what is next to it among the numbers of a part.
    Saturating {
        operation: Binary,
        extend: Unary,
    },
    /// Of two, rounded up.
    Average,
    /// The upper half of a product.
    HighProduct(Unary),
    /// The sum of the products of both halves.
    Products,
    /// What is next to a part of twice the size among the numbers of a part: of the first operand, then of the second.
    Pack(Unary),
    /// One of the four words of the lower or the upper half, by two bits of a number.
    Shuffle {
        upper: bool,
    },
    Divide,
    Minimum,
    Maximum,
    SquareRoot,
    Truncate,
}

/// The operation and the bytes of a part.
fn lane(mnemonic: Mnemonic) -> Option<(Lane, u8)> {
    Some(match mnemonic {
        Mnemonic::Psraw => (Lane::Shift(Binary::ShiftRightSigned), 2),
        Mnemonic::Psrad => (Lane::Shift(Binary::ShiftRightSigned), 4),
        Mnemonic::Psrlw => (Lane::Shift(Binary::ShiftRight), 2),
        Mnemonic::Psrld => (Lane::Shift(Binary::ShiftRight), 4),
        Mnemonic::Psrlq => (Lane::Shift(Binary::ShiftRight), 8),
        Mnemonic::Psllw => (Lane::Shift(Binary::ShiftLeft), 2),
        Mnemonic::Pslld => (Lane::Shift(Binary::ShiftLeft), 4),
        Mnemonic::Psllq => (Lane::Shift(Binary::ShiftLeft), 8),
        Mnemonic::Paddsb => (saturating(Binary::Add, Unary::SignExtend), 1),
        Mnemonic::Paddsw => (saturating(Binary::Add, Unary::SignExtend), 2),
        Mnemonic::Paddusb => (saturating(Binary::Add, Unary::ZeroExtend), 1),
        Mnemonic::Paddusw => (saturating(Binary::Add, Unary::ZeroExtend), 2),
        Mnemonic::Psubsb => (saturating(Binary::Subtract, Unary::SignExtend), 1),
        Mnemonic::Psubsw => (saturating(Binary::Subtract, Unary::SignExtend), 2),
        Mnemonic::Psubusb => (saturating(Binary::Subtract, Unary::ZeroExtend), 1),
        Mnemonic::Psubusw => (saturating(Binary::Subtract, Unary::ZeroExtend), 2),
        Mnemonic::Pavgb => (Lane::Average, 1),
        Mnemonic::Pavgw => (Lane::Average, 2),
        Mnemonic::Pmulhw => (Lane::HighProduct(Unary::SignExtend), 2),
        Mnemonic::Pmulhuw => (Lane::HighProduct(Unary::ZeroExtend), 2),
        Mnemonic::Pmaddwd => (Lane::Products, 4),
        Mnemonic::Packsswb => (Lane::Pack(Unary::SignExtend), 1),
        Mnemonic::Packssdw => (Lane::Pack(Unary::SignExtend), 2),
        Mnemonic::Packuswb => (Lane::Pack(Unary::ZeroExtend), 1),
        Mnemonic::Pshuflw => (Lane::Shuffle { upper: false }, 2),
        Mnemonic::Pshufhw => (Lane::Shuffle { upper: true }, 2),
        Mnemonic::Divps => (Lane::Divide, 4),
        Mnemonic::Divpd => (Lane::Divide, 8),
        Mnemonic::Minps => (Lane::Minimum, 4),
        Mnemonic::Minpd => (Lane::Minimum, 8),
        Mnemonic::Maxps => (Lane::Maximum, 4),
        Mnemonic::Maxpd => (Lane::Maximum, 8),
        Mnemonic::Sqrtps => (Lane::SquareRoot, 4),
        Mnemonic::Sqrtpd => (Lane::SquareRoot, 8),
        Mnemonic::Cvttps2dq => (Lane::Truncate, 4),
        _ => return None,
    })
}

/// Whether the instruction is one of these; then its operations are emitted. `accesses` are those of the instruction.
pub(crate) fn lift(
    decoded: &iced_x86::Instruction,
    accesses: &[Access],
    registers: Registers,
    emitter: &mut Emitter<'_>,
) -> bool {
    let Some((lane, size)) = lane(decoded.mnemonic()) else { return false };
    let vector = |operand: u32| {
        let register = decoded.op_register(operand);
        register.is_xmm().then(|| decode::tracked(registers, register)).flatten()
    };
    let Some(target) = vector(0) else { return false };
    let to = registers.value(target);
    let number = decoded.op_kind(decoded.op_count() - 1) == OpKind::Immediate8;
    let number = number.then(|| decoded.immediate8());
    let from = match (decoded.op_kind(1), accesses) {
        (OpKind::Register, _) => match vector(1) {
            Some(register) => registers.value(register),
            None => return false,
        },
        (OpKind::Memory, [access]) => match address(&access.address, registers, emitter) {
            Some(address) => emitter.set(Expression::Load { address, when: None }, WHOLE),
            None => return false,
        },
        // A shift by a number has one operand.
        (OpKind::Immediate8, _) => to,
        _ => return false,
    };
    let mut parts = Vec::new();
    for at in (0..WHOLE).step_by(size.into()) {
        let part = |emitter: &mut Emitter<'_>, of, at| emitter.set(Expression::Extract { from: of, at }, size);
        let wide = |emitter: &mut Emitter<'_>, extend, of, at| {
            let part = emitter.set(Expression::Extract { from: of, at }, size.min(2));
            emitter.unary(extend, part, 4)
        };
        let expression = match (lane, number) {
            (Lane::Shift(operation), number) => {
                let by = amount(emitter, operation, number, from, size);
                Expression::Binary(operation, part(emitter, to, at), by)
            }
            (Lane::Shuffle { upper }, Some(number)) => {
                let (half, word) = (at / 8, at / 2 % 4);
                let chosen = if (half == 1) == upper { number >> (2 * word) & 3 } else { word };
                Expression::Copy(part(emitter, from, 8 * half + 2 * chosen))
            }
            (Lane::Shuffle { .. }, None) => return false,
            (Lane::Saturating { operation, extend }, _) => {
                let (a, b) = (wide(emitter, extend, to, at), wide(emitter, extend, from, at));
                let exact = emitter.binary(operation, a, b, 4);
                Expression::Extract { from: nearest(emitter, exact, extend, size), at: 0 }
            }
            (Lane::Average, _) => {
                let (a, b) = (wide(emitter, Unary::ZeroExtend, to, at), wide(emitter, Unary::ZeroExtend, from, at));
                let sum = emitter.binary(Binary::Add, a, b, 4);
                let up = emitter.binary(Binary::Add, sum, Value::constant(1, 4), 4);
                let half = emitter.binary(Binary::ShiftRight, up, Value::constant(1, 4), 4);
                Expression::Extract { from: half, at: 0 }
            }
            (Lane::HighProduct(extend), _) => {
                let (a, b) = (wide(emitter, extend, to, at), wide(emitter, extend, from, at));
                Expression::Extract { from: emitter.binary(Binary::Multiply, a, b, 4), at: 2 }
            }
            (Lane::Products, _) => {
                let mut product = |at| {
                    let (a, b) = (wide(emitter, Unary::SignExtend, to, at), wide(emitter, Unary::SignExtend, from, at));
                    emitter.binary(Binary::Multiply, a, b, 4)
                };
                let (low, high) = (product(at), product(at + 2));
                Expression::Binary(Binary::Add, low, high)
            }
            (Lane::Pack(extend), _) => {
                let of = if at < 8 { to } else { from };
                let part = emitter.set(Expression::Extract { from: of, at: at % 8 * 2 }, 2 * size);
                let exact = if size == 2 { part } else { emitter.unary(Unary::SignExtend, part, 4) };
                Expression::Extract { from: nearest(emitter, exact, extend, size), at: 0 }
            }
            (Lane::Divide, _) => Expression::Float(Float::Divide, part(emitter, to, at), part(emitter, from, at)),
            // The second operand where both are 0, and where one is no number.
            (Lane::Minimum | Lane::Maximum, _) => {
                let (a, b) = (part(emitter, to, at), part(emitter, from, at));
                let (less, than) = if matches!(lane, Lane::Minimum) { (a, b) } else { (b, a) };
                let when = emitter.set(Expression::Float(Float::Less, less, than), 1);
                Expression::Select { when, then: a, otherwise: b }
            }
            (Lane::SquareRoot, _) => {
                let part = part(emitter, from, at);
                Expression::Float(Float::SquareRoot, part, part)
            }
            (Lane::Truncate, _) => {
                let part = part(emitter, from, at);
                Expression::Float(Float::Truncate, part, part)
            }
        };
        parts.push((at, emitter.set(expression, size)));
    }
    let mut whole = to;
    for (at, from) in parts {
        whole = emitter.set(Expression::Insert { into: whole, from, at }, WHOLE);
    }
    emitter.set_register(target, WHOLE, Expression::Copy(whole));
    true
}

/// By how much parts are shifted: by a number, or by the lower half of an operand. What is too much shifts all out, or leaves the sign.
fn amount(emitter: &mut Emitter<'_>, operation: Binary, number: Option<u8>, from: Value, size: u8) -> Value {
    let most = 8 * u64::from(size) - u64::from(operation == Binary::ShiftRightSigned);
    if let Some(number) = number {
        return Value::constant(u64::from(number).min(most), size);
    }
    let asked = emitter.set(Expression::Extract { from, at: 0 }, 8);
    let most = Value::constant(most, 8);
    let when = emitter.binary(Binary::Less, most, asked, 1);
    let by = emitter.set(Expression::Select { when, then: most, otherwise: asked }, 8);
    if size == 8 {
        by
    } else {
        emitter.set(Expression::Extract { from: by, at: 0 }, size)
    }
}

fn saturating(operation: Binary, extend: Unary) -> Lane {
    Lane::Saturating { operation, extend }
}

/// What is next to a number of 4 bytes, with its sign, among those of `size` bytes that are extended so.
fn nearest(emitter: &mut Emitter<'_>, exact: Value, extend: Unary, size: u8) -> Value {
    let bits = 8 * u32::from(size);
    let (low, high) = match extend {
        Unary::SignExtend => (-1i64 << (bits - 1), (1i64 << (bits - 1)) - 1),
        _ => (0, (1i64 << bits) - 1),
    };
    let nearest = emitter.nearest(exact, low, high);
    emitter.set(nearest, 4)
}

fn address(form: &AddressForm, registers: Registers, emitter: &mut Emitter<'_>) -> Option<Value> {
    let AddressForm::Known { base, index, displacement, segment } = form else { return None };
    let mut sum = Value::constant(*displacement as u64, 8);
    for register in [*base, *segment].into_iter().flatten() {
        sum = emitter.binary(Binary::Add, sum, registers.value(register), 8);
    }
    if let Some((register, shift)) = index {
        let scale = Value::constant((*shift).into(), 8);
        let scaled = emitter.binary(Binary::ShiftLeft, registers.value(*register), scale, 8);
        sum = emitter.binary(Binary::Add, sum, scaled, 8);
    }
    Some(sum)
}
