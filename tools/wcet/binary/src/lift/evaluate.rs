//! What the operations mean: their results on known numbers of at most 16 bytes.
//!
//! Numbers are unsigned and fit their size; so do the results.

use crate::lift::il::{Binary, Unary};

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
