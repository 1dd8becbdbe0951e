//! Arithmetic on known numbers of at most 8 bytes, as the language defines it.

use wcet_binary::lift::evaluate;
use wcet_binary::lift::il::{Binary, Unary};

/// The largest number of `size` bytes.
pub(crate) fn mask(size: u8) -> u64 {
    evaluate::mask(size) as u64
}

/// The number as a signed one.
pub(crate) fn signed(number: u64, size: u8) -> i64 {
    evaluate::signed(number.into(), size.min(8)) as i64
}

/// The result of `size` bytes.
pub(crate) fn unary(operation: Unary, a: u64, from: u8, size: u8) -> Option<u64> {
    if from > 8 || size > 8 {
        return None;
    }
    evaluate::unary(operation, a.into(), from, size).map(|number| number as u64)
}

/// The result of operands of `width` bytes.
pub(crate) fn binary(operation: Binary, a: u64, b: u64, width: u8) -> Option<u64> {
    if width > 8 {
        return None;
    }
    evaluate::binary(operation, a.into(), b.into(), width).map(|number| number as u64)
}

/// Whether the result is one byte, whatever the operands' width.
pub(crate) fn is_comparison(operation: Binary) -> bool {
    use Binary::*;
    matches!(
        operation,
        Equal | NotEqual | Less | LessEqual | LessSigned | LessEqualSigned | Carry | CarrySigned | BorrowSigned
    )
}
