//! What terms mean: their values on known leaves.

use std::collections::HashMap;

use crate::term::{Operation, Shape, Term, Terms};

/// The largest number of `width` bits.
pub(crate) fn mask(width: u16) -> u128 {
    if width >= 128 {
        u128::MAX
    } else {
        (1 << width) - 1
    }
}

pub(crate) fn signed(number: u128, width: u16) -> i128 {
    let unused = 128 - u32::from(width.clamp(1, 128));
    ((number << unused) as i128) >> unused
}

/// The result; none where the language leaves it open.
pub(crate) fn operate(operation: Operation, a: u128, b: u128, width: u16) -> Option<u128> {
    let (sa, sb) = (signed(a, width), signed(b, width));
    let bits = u128::from(width);
    let number = match operation {
        Operation::Add => a.wrapping_add(b),
        Operation::Subtract => a.wrapping_sub(b),
        Operation::Multiply => a.wrapping_mul(b),
        Operation::Divide => a.checked_div(b)?,
        Operation::Remainder => a.checked_rem(b)?,
        Operation::DivideSigned => sa.checked_div(sb)? as u128,
        Operation::RemainderSigned => sa.checked_rem(sb)? as u128,
        Operation::And => a & b,
        Operation::Or => a | b,
        Operation::Xor => a ^ b,
        Operation::ShiftLeft if b >= bits => 0,
        Operation::ShiftLeft => a << b,
        Operation::ShiftRight if b >= bits => 0,
        Operation::ShiftRight => a >> b,
        Operation::ShiftRightSigned => (sa >> b.min(bits - 1)) as u128,
    };
    Some(number & mask(width))
}

impl Terms {
    /// The value, truth values as 0 and 1. None where a part is wider than 128 bits, or a division is by 0.
    pub fn value(&self, root: Term, leaf: &dyn Fn(u32) -> u128) -> Option<u128> {
        let mut values: HashMap<Term, u128> = HashMap::new();
        for term in self.cone(&[root]) {
            if self.width(term) > 128 {
                return None;
            }
            let value = self.value_over(term, &|part| values.get(&part).copied().unwrap_or(0), leaf);
            values.insert(term, value);
        }
        values.get(&root).copied()
    }

    /// The value of a term of 128 bits at most, from the values of its parts.
    pub(crate) fn value_over(&self, term: Term, of: &dyn Fn(Term) -> u128, leaf: &dyn Fn(u32) -> u128) -> u128 {
        let (width, wide) = (self.width(term), |part: Term| self.width(part));
        match self.shape(term) {
            Shape::Truth(holds) => u128::from(holds),
            Shape::Number(number) => number,
            Shape::Leaf(number) => leaf(number) & if width == 0 { 1 } else { mask(width) },
            Shape::Not(a) => 1 - of(a),
            Shape::Both(a, b) => of(a) & of(b),
            Shape::Either(a, b) => of(a) | of(b),
            Shape::Equal(a, b) => u128::from(of(a) == of(b)),
            Shape::Less(a, b) => u128::from(of(a) < of(b)),
            Shape::LessSigned(a, b) => u128::from(signed(of(a), wide(a)) < signed(of(b), wide(b))),
            Shape::Select(when, a, b) => of(if of(when) == 1 { a } else { b }),
            // A division by 0 that matters is not selected: see `executor.rs`.
            Shape::Binary(operation, a, b) => operate(operation, of(a), of(b), width).unwrap_or(0),
            Shape::Complement(a) => !of(a) & mask(width),
            Shape::Extract(a, low) => of(a) >> low & mask(width),
            Shape::Concat(a, b) => of(a) << wide(b) | of(b),
            Shape::Extend(a) => of(a),
            Shape::ExtendSigned(a) => signed(of(a), wide(a)) as u128 & mask(width),
        }
    }
}
