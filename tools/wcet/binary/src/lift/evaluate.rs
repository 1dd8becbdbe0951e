//! What the operations mean: their results on known numbers of at most 16 bytes.
//!
//! Numbers are unsigned and fit their size; so do the results.

use crate::lift::il::{Binary, Float, Unary};

/// The largest number of `size` bytes.
pub fn mask(size: u8) -> u128 {
    if size >= 16 {
        u128::MAX
    } else {
        (1 << (8 * size)) - 1
    }
}

/// The number as a signed one.
pub fn signed(number: u128, size: u8) -> i128 {
    let unused = 128 - 8 * u32::from(size.min(16));
    ((number << unused) as i128) >> unused
}

/// The result of `size` bytes from an operand of `from` bytes.
pub fn unary(operation: Unary, a: u128, from: u8, size: u8) -> Option<u128> {
    if from > 16 || size > 16 {
        return None;
    }
    let width = 8 * u32::from(from);
    Some(
        mask(size)
            & match operation {
                Unary::Not => !a,
                Unary::Negate => a.wrapping_neg(),
                Unary::BoolNot => u128::from(a == 0),
                Unary::ZeroExtend => a,
                Unary::SignExtend => signed(a, from) as u128,
                Unary::CountOnes => u128::from(a.count_ones()),
                Unary::LeadingZeros => u128::from(a.leading_zeros() - (128 - width)),
            },
    )
}

/// The result of operands of `width` bytes. None for a division by 0, or one that overflows.
pub fn binary(operation: Binary, a: u128, b: u128, width: u8) -> Option<u128> {
    if width > 16 {
        return None;
    }
    let bits = 8 * u128::from(width);
    let (sa, sb) = (signed(a, width), signed(b, width));
    let (top, sign) = (mask(width), |number: u128| signed(number, width) < 0);
    let number = |number: u128| Some(number & top);
    let truth = |holds: bool| Some(u128::from(holds));
    let (sum, difference) = (a.wrapping_add(b) & top, a.wrapping_sub(b) & top);
    match operation {
        Binary::Add => Some(sum),
        Binary::Subtract => Some(difference),
        Binary::Multiply => number(a.wrapping_mul(b)),
        Binary::Divide => a.checked_div(b),
        Binary::Remainder => a.checked_rem(b),
        Binary::DivideSigned => number(sa.checked_div(sb)? as u128),
        Binary::RemainderSigned => number(sa.checked_rem(sb)? as u128),
        Binary::And => Some(a & b),
        Binary::Or => Some(a | b),
        Binary::Xor => Some(a ^ b),
        Binary::ShiftLeft => number(if b >= bits { 0 } else { a << b }),
        Binary::ShiftRight => Some(if b >= bits { 0 } else { a >> b }),
        Binary::ShiftRightSigned => number((sa >> b.min(bits - 1)) as u128),
        Binary::Equal => truth(a == b),
        Binary::NotEqual => truth(a != b),
        Binary::Less => truth(a < b),
        Binary::LessEqual => truth(a <= b),
        Binary::LessSigned => truth(sa < sb),
        Binary::LessEqualSigned => truth(sa <= sb),
        Binary::Carry => truth(sum < a),
        Binary::CarrySigned => truth(sign(a) == sign(b) && sign(sum) != sign(a)),
        Binary::BorrowSigned => truth(sign(a) != sign(b) && sign(difference) != sign(a)),
    }
}

/// The result of `size` bytes from operands of `from` bytes, rounded to nearest, with subnormal numbers as they are. None for
/// numbers of other sizes than 4 and 8, for what has no result but a NaN, whose bits processors choose each in their own way,
/// and for an integer that does not fit.
pub fn float(operation: Float, a: u128, b: u128, from: u8, size: u8) -> Option<u128> {
    let truth = |holds: bool| Some(u128::from(holds));
    let number = |number: f64| (!number.is_nan()).then(|| u128::from(number.to_bits()));
    let single = |number: f32| (!number.is_nan()).then(|| u128::from(number.to_bits()));
    if operation == Float::FromInteger {
        let integer = if from <= 8 { signed(a, from) as i64 } else { return None };
        return match size {
            4 => single(integer as f32),
            8 => number(integer as f64),
            _ => None,
        };
    }
    // Wider numbers hold each narrower one, so that comparisons and truncation of those are exact.
    let wide = |bits: u128| match from {
        4 => Some(f64::from(f32::from_bits(bits as u32))),
        8 => Some(f64::from_bits(bits as u64)),
        _ => None,
    };
    let (x, y) = (wide(a)?, wide(b)?);
    let (sign, others) = (1 << (8 * u32::from(from) - 1), mask(from) >> 1);
    match operation {
        Float::Equal => truth(x == y),
        Float::NotEqual => truth(x != y),
        Float::Less => truth(x < y),
        Float::LessEqual => truth(x <= y),
        Float::IsNan => truth(x.is_nan()),
        Float::Negate => Some(a ^ sign),
        Float::Absolute => Some(a & others),
        Float::Convert if size == 8 => number(x),
        Float::Convert if size == 4 => single(x as f32),
        Float::Truncate => {
            // One beyond the largest, and the least that an integer of that size holds.
            let limit = -f64::from(i32::MIN) * if size == 8 { 2f64.powi(32) } else { 1.0 };
            let fits = matches!(size, 4 | 8) && x.trunc() < limit && x.trunc() >= -limit;
            fits.then(|| x.trunc() as i128 as u128 & mask(size))
        }
        _ if size != from => None,
        _ if from == 4 => {
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            match operation {
                Float::Add => single(x + y),
                Float::Subtract => single(x - y),
                Float::Multiply => single(x * y),
                Float::Divide => single(x / y),
                Float::SquareRoot => single(x.sqrt()),
                _ => None,
            }
        }
        Float::Add => number(x + y),
        Float::Subtract => number(x - y),
        Float::Multiply => number(x * y),
        Float::Divide => number(x / y),
        Float::SquareRoot => number(x.sqrt()),
        _ => None,
    }
}
