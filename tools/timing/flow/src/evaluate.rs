//! Arithmetic of the intermediate language on known numbers of at most 8 bytes.

use timing_lift::il::{Binary, Unary};

/// The largest number of `size` bytes.
pub(crate) fn mask(size: u8) -> u64 {
    if size >= 8 {
        u64::MAX
    } else {
        (1 << (8 * size)) - 1
    }
}

/// The number as a signed one.
pub(crate) fn signed(number: u64, size: u8) -> i64 {
    let unused = 64 - 8 * u32::from(size.min(8));
    ((number << unused) as i64) >> unused
}

/// The result of `size` bytes; None for sizes above 8 bytes.
pub(crate) fn unary(operation: Unary, a: u64, from: u8, size: u8) -> Option<u64> {
    if from > 8 || size > 8 {
        return None;
    }
    Some(mask(size) & match operation {
        Unary::Not => !a,
        Unary::Negate => a.wrapping_neg(),
        Unary::BoolNot => u64::from(a == 0),
        Unary::ZeroExtend => a,
        Unary::SignExtend => signed(a, from) as u64,
        Unary::CountOnes => u64::from(a.count_ones()),
        Unary::LeadingZeros => u64::from(a.leading_zeros()) - (64 - 8 * u64::from(from)),
    })
}

/// The result of operands of `width` bytes; None for widths above 8 bytes and for divisions by 0.
pub(crate) fn binary(operation: Binary, a: u64, b: u64, width: u8) -> Option<u64> {
    if width > 8 {
        return None;
    }
    let bits = 8 * u64::from(width);
    let (sa, sb) = (signed(a, width), signed(b, width));
    let fits = |number: i128| number == i128::from(signed(number as u64 & mask(width), width));
    let truth = |holds: bool| Some(u64::from(holds));
    let number = |number: u64| Some(number & mask(width));
    match operation {
        Binary::Add => number(a.wrapping_add(b)),
        Binary::Subtract => number(a.wrapping_sub(b)),
        Binary::Multiply => number(a.wrapping_mul(b)),
        Binary::Divide => a.checked_div(b),
        Binary::Remainder => a.checked_rem(b),
        Binary::DivideSigned => number(sa.checked_div(sb)? as u64),
        Binary::RemainderSigned => number(sa.checked_rem(sb)? as u64),
        Binary::And => Some(a & b),
        Binary::Or => Some(a | b),
        Binary::Xor => Some(a ^ b),
        Binary::ShiftLeft => number(if b >= bits { 0 } else { a << b }),
        Binary::ShiftRight => Some(if b >= bits { 0 } else { a >> b }),
        Binary::ShiftRightSigned => number((sa >> b.min(bits - 1)) as u64),
        Binary::Equal => truth(a == b),
        Binary::NotEqual => truth(a != b),
        Binary::Less => truth(a < b),
        Binary::LessEqual => truth(a <= b),
        Binary::LessSigned => truth(sa < sb),
        Binary::LessEqualSigned => truth(sa <= sb),
        Binary::Carry => truth(u128::from(a) + u128::from(b) > u128::from(mask(width))),
        Binary::CarrySigned => truth(!fits(i128::from(sa) + i128::from(sb))),
        Binary::BorrowSigned => truth(!fits(i128::from(sa) - i128::from(sb))),
    }
}

/// Whether the result is one byte, whatever the operands' width.
pub(crate) fn is_comparison(operation: Binary) -> bool {
    use Binary::*;
    matches!(
        operation,
        Equal | NotEqual | Less | LessEqual | LessSigned | LessEqualSigned | Carry | CarrySigned | BorrowSigned
    )
}
