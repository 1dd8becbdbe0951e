//! What operations make of sets of numbers. The result holds every result of members.

use wcet_binary::lift::evaluate::{self, mask, signed};
use wcet_binary::lift::il::{Binary, Unary};

use crate::set::{gcd, Set};

fn flag(truth: Option<bool>) -> Set {
    match truth {
        Some(truth) => Set::single(u128::from(truth), 1),
        None => Set::range(0, 1, 1),
    }
}

pub(crate) fn unary(operation: Unary, a: &Set, size: u8) -> Set {
    if size > 16 || a.size > 16 {
        return Set::full(size);
    }
    if let Some(number) = a.as_single().and_then(|number| evaluate::unary(operation, number, a.size, size)) {
        return Set::single(number, size);
    }
    match operation {
        Unary::Not => Set::new(!a.high, !a.low, a.stride, size),
        Unary::Negate => Set::new(a.high.wrapping_neg(), a.low.wrapping_neg(), a.stride, size),
        Unary::BoolNot => flag((!a.contains(0)).then_some(false)),
        Unary::ZeroExtend => {
            let straight = if a.is_straight() { *a } else { Set::aligned(a.low, a.stride, a.size) };
            Set::new(straight.low, straight.high, straight.stride, size)
        }
        Unary::SignExtend => {
            let (low, high) = a.signed();
            let direct = signed(a.low, a.size) == low && signed(a.high, a.size) == high;
            Set::new(low as u128, high as u128, if direct { a.stride } else { 1 }, size)
        }
        Unary::CountOnes => {
            let (_, most) = a.unsigned();
            Set::range(0, u128::from(128 - most.leading_zeros()), size)
        }
        Unary::LeadingZeros => {
            let (least, most) = a.unsigned();
            let zeros = |number: u128| u128::from(number.leading_zeros()) - (128 - 8 * u128::from(a.size));
            Set::range(zeros(most), zeros(least), size)
        }
    }
}

/// `size` is the result's.
pub(crate) fn binary(operation: Binary, a: &Set, b: &Set, size: u8) -> Set {
    if a.size > 16 || b.size > 16 {
        return Set::full(size);
    }
    if let (Some(x), Some(y)) = (a.as_single(), b.as_single()) {
        return match evaluate::binary(operation, x, y, a.size) {
            Some(number) => Set::single(number, size),
            None => Set::full(size),
        };
    }
    match operation {
        Binary::Add => add(a, b),
        Binary::Subtract => add(a, &unary(Unary::Negate, b, b.size)),
        Binary::Multiply => multiply(a, b),
        Binary::Divide => divide(a, b),
        Binary::DivideSigned => divide_signed(a, b),
        Binary::Remainder => remainder(a, b),
        Binary::RemainderSigned => remainder_signed(a, b),
        Binary::And => and(a, b),
        Binary::Or => or(a, b),
        Binary::Xor => {
            let ((known_a, bits_a), (known_b, bits_b)) = (bits(a), bits(b));
            of_bits(known_a & known_b, bits_a ^ bits_b, a.size)
        }
        Binary::ShiftLeft => shift_left(a, b),
        Binary::ShiftRight => shift_right(a, b),
        Binary::ShiftRightSigned => shift_right_signed(a, b),
        _ => flag(truth(operation, a, b)),
    }
}

/// Whether a comparison holds for all members, or for none.
pub(crate) fn truth(operation: Binary, a: &Set, b: &Set) -> Option<bool> {
    let ((a_least, a_most), (b_least, b_most)) = (a.unsigned(), b.unsigned());
    let ((a_low, a_high), (b_low, b_high)) = (a.signed(), b.signed());
    let decide = |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) };
    let equal = || match (a.as_single(), b.as_single()) {
        (Some(x), Some(y)) => Some(x == y),
        _ => a.meet(b).is_none().then_some(false),
    };
    match operation {
        Binary::Equal => equal(),
        Binary::NotEqual => equal().map(|equal| !equal),
        Binary::Less => decide(a_most < b_least, a_least >= b_most),
        Binary::LessEqual => decide(a_most <= b_least, a_least > b_most),
        Binary::LessSigned => decide(a_high < b_low, a_low >= b_high),
        Binary::LessEqualSigned => decide(a_high <= b_low, a_low > b_high),
        Binary::Carry => {
            let top = mask(a.size);
            decide(a_least > top - b_least, a_most <= top - b_most)
        }
        Binary::CarrySigned | Binary::BorrowSigned if a.size <= 8 => {
            let top = (mask(a.size) >> 1) as i128;
            let (low, high) = if operation == Binary::CarrySigned { (b_low, b_high) } else { (-b_high, -b_low) };
            let (least, most) = (a_low.checked_add(low)?, a_high.checked_add(high)?);
            decide(least > top || most < -top - 1, least > -top - 2 && most <= top)
        }
        _ => None,
    }
}

fn add(a: &Set, b: &Set) -> Set {
    let stride = gcd(a.stride, b.stride);
    match a.span().checked_add(b.span()).filter(|span| *span <= mask(a.size)) {
        Some(_) => Set::new(a.low.wrapping_add(b.low), a.high.wrapping_add(b.high), stride, a.size),
        None => Set::aligned(a.low.wrapping_add(b.low), stride, a.size),
    }
}

/// By how many bits all members are shifted at least.
fn trailing_zeros(a: &Set) -> u32 {
    let number = if a.stride == 0 { a.low } else { a.low | a.stride };
    number.trailing_zeros().min(8 * u32::from(a.size))
}

fn multiply(a: &Set, b: &Set) -> Set {
    let top = mask(a.size);
    let scaled = |a: &Set, factor: u128| {
        let span = a.span().checked_mul(factor).filter(|span| *span <= top)?;
        let low = a.low.wrapping_mul(factor);
        Some(Set::new(low, low.wrapping_add(span), a.stride * factor, a.size))
    };
    for (a, b) in [(a, b), (b, a)] {
        let Some(factor) = b.as_single() else { continue };
        if let Some(set) = scaled(a, factor) {
            return set;
        }
        if let Some(set) = scaled(a, factor.wrapping_neg() & top) {
            return unary(Unary::Negate, &set, a.size);
        }
    }
    let ((a_least, a_most), (b_least, b_most)) = (a.unsigned(), b.unsigned());
    if a_most.checked_mul(b_most).is_some_and(|most| most <= top) {
        return Set::range(a_least * b_least, a_most * b_most, a.size);
    }
    let ((a_low, a_high), (b_low, b_high)) = (a.signed(), b.signed());
    let corners = [(a_low, b_low), (a_low, b_high), (a_high, b_low), (a_high, b_high)];
    let products: Option<Vec<i128>> = corners.iter().map(|(x, y)| x.checked_mul(*y)).collect();
    let half = (top >> 1) as i128;
    if let Some(products) = products.filter(|all| all.iter().all(|one| (-half - 1..=half).contains(one))) {
        let (least, most) = products.iter().fold((i128::MAX, i128::MIN), |(l, m), one| (l.min(*one), m.max(*one)));
        return Set::range(least as u128, most as u128, a.size);
    }
    let zeros = (trailing_zeros(a) + trailing_zeros(b)).min(127);
    Set::aligned(0, 1 << zeros, a.size)
}

fn divide(a: &Set, b: &Set) -> Set {
    let ((a_least, a_most), (b_least, b_most)) = (a.unsigned(), b.unsigned());
    if b_least == 0 {
        return Set::full(a.size);
    }
    Set::range(a_least / b_most, a_most / b_least, a.size)
}

fn divide_signed(a: &Set, b: &Set) -> Set {
    let ((a_low, a_high), (b_low, b_high)) = (a.signed(), b.signed());
    if b_low <= 0 {
        return Set::full(a.size);
    }
    let corners = [a_low / b_low, a_low / b_high, a_high / b_low, a_high / b_high];
    let (least, most) = corners.iter().fold((i128::MAX, i128::MIN), |(l, m), one| (l.min(*one), m.max(*one)));
    Set::range(least as u128, most as u128, a.size)
}

fn remainder(a: &Set, b: &Set) -> Set {
    let ((_, a_most), (b_least, b_most)) = (a.unsigned(), b.unsigned());
    if b_least == 0 {
        Set::full(a.size)
    } else if a_most < b_least {
        *a
    } else {
        Set::range(0, a_most.min(b_most - 1), a.size)
    }
}

fn remainder_signed(a: &Set, b: &Set) -> Set {
    let ((a_low, a_high), (b_low, b_high)) = (a.signed(), b.signed());
    if b_low <= 0 && b_high >= 0 {
        return Set::full(a.size);
    }
    let largest = b_low.unsigned_abs().max(b_high.unsigned_abs()) as i128 - 1;
    let low = if a_low >= 0 { 0 } else { a_low.max(-largest) };
    let high = if a_high <= 0 { 0 } else { a_high.min(largest) };
    Set::range(low as u128, high as u128, a.size)
}

/// Bits that all members agree on, and what they are.
fn bits(a: &Set) -> (u128, u128) {
    let mut known = 0;
    if a.is_straight() {
        let differing = 128 - (a.low ^ a.high).leading_zeros();
        known = if differing >= 128 { 0 } else { !((1u128 << differing) - 1) };
    }
    if a.stride == 0 {
        known = u128::MAX;
    } else {
        known |= (1u128 << a.stride.trailing_zeros()) - 1;
    }
    known &= mask(a.size);
    (known, a.low & known)
}

fn of_bits(known: u128, value: u128, size: u8) -> Set {
    let unknown = !known & mask(size);
    if unknown == 0 {
        return Set::single(value, size);
    }
    let value = value & known;
    Set::new(value, value | unknown, 1 << unknown.trailing_zeros(), size)
}

fn and(a: &Set, b: &Set) -> Set {
    for (a, b) in [(a, b), (b, a)] {
        // The low bits of numbers that are close together.
        if let Some(low) = b.as_single().filter(|low| low & low.wrapping_add(1) == 0 && *low != u128::MAX) {
            if a.span() <= low && a.low & low <= a.high & low {
                return Set::new(a.low & low, a.high & low, a.stride, a.size);
            }
        }
    }
    let ((known_a, bits_a), (known_b, bits_b)) = (bits(a), bits(b));
    let zero = known_a & !bits_a | known_b & !bits_b;
    let one = known_a & bits_a & known_b & bits_b;
    let set = of_bits(zero | one, one, a.size);
    let most = a.unsigned().1.min(b.unsigned().1);
    set.meet(&Set::range(0, most, a.size)).unwrap_or(set)
}

fn or(a: &Set, b: &Set) -> Set {
    let ((known_a, bits_a), (known_b, bits_b)) = (bits(a), bits(b));
    let one = known_a & bits_a | known_b & bits_b;
    let zero = known_a & !bits_a & known_b & !bits_b;
    let set = of_bits(zero | one, one, a.size);
    let least = a.unsigned().0.max(b.unsigned().0);
    set.meet(&Set::range(least, mask(a.size), a.size)).unwrap_or(set)
}

fn shift_left(a: &Set, b: &Set) -> Set {
    let bits = 8 * u128::from(a.size);
    let (least, most) = b.unsigned();
    if most >= bits {
        return if least >= bits { Set::single(0, a.size) } else { Set::full(a.size) };
    }
    if b.stride == 0 {
        return multiply(a, &Set::single(1 << least, a.size));
    }
    let (a_least, a_most) = a.unsigned();
    let stride = 1u128 << (u128::from(trailing_zeros(a)) + least).min(127);
    if a_most.leading_zeros() as u128 >= most && a_most << most <= mask(a.size) {
        return Set::new(a_least << least, a_most << most, stride, a.size);
    }
    Set::aligned(0, stride, a.size)
}

fn shift_right(a: &Set, b: &Set) -> Set {
    let shift = |number: u128, amount: u128| if amount >= 8 * u128::from(a.size) { 0 } else { number >> amount };
    let ((least, most), (a_least, a_most)) = (b.unsigned(), a.unsigned());
    let stride = match b.as_single() {
        Some(amount) if amount < 127 && a.is_straight() && a.stride % (1 << amount) == 0 => a.stride >> amount,
        _ => 1,
    };
    Set::new(shift(a_least, most), shift(a_most, least), stride, a.size)
}

fn shift_right_signed(a: &Set, b: &Set) -> Set {
    let last = 8 * u128::from(a.size) - 1;
    let ((least, most), (low, high)) = (b.unsigned(), a.signed());
    let (least, most) = (least.min(last), most.min(last));
    let low = low >> if low < 0 { least } else { most };
    let high = high >> if high < 0 { most } else { least };
    Set::range(low as u128, high as u128, a.size)
}

/// `size` bytes of the members, from byte `at` on.
pub(crate) fn extract(from: &Set, at: u8, size: u8) -> Set {
    if from.size > 16 {
        return Set::full(size);
    }
    let from = if at == 0 { *from } else { shift_right(from, &Set::single(8 * u128::from(at), from.size)) };
    if from.span() <= mask(size) {
        Set::new(from.low, from.high, from.stride, size)
    } else {
        Set::aligned(from.low, from.stride, size)
    }
}

pub(crate) fn concat(high: &Set, low: &Set) -> Set {
    let size = high.size.saturating_add(low.size);
    if size > 16 {
        return Set::full(size);
    }
    let low = if low.is_straight() { *low } else { Set::aligned(low.low, low.stride, low.size) };
    let shift = 8 * u32::from(low.size);
    let stride = gcd(high.stride << shift, low.stride);
    Set::new(high.low << shift | low.low, high.high << shift | low.high, stride, size)
}

/// What is left of both operands where the comparison holds; None if it cannot.
pub(crate) fn refine(operation: Binary, a: &Set, b: &Set) -> Option<(Set, Set)> {
    let (size, top) = (a.size, mask(a.size));
    let half = (top >> 1) as i128;
    match operation {
        Binary::Equal => {
            let both = a.meet(b)?;
            Some((both, both))
        }
        Binary::NotEqual => {
            let a_left = b.as_single().map_or(Some(*a), |number| a.without(number))?;
            let b_left = a.as_single().map_or(Some(*b), |number| b.without(number))?;
            Some((a_left, b_left))
        }
        Binary::Less | Binary::LessEqual => {
            let strict = u128::from(operation == Binary::Less);
            let (least, most) = (a.unsigned().0.checked_add(strict)?, b.unsigned().1.checked_sub(strict)?);
            if least > top {
                return None;
            }
            Some((a.meet(&Set::range(0, most, size))?, b.meet(&Set::range(least, top, size))?))
        }
        Binary::LessSigned | Binary::LessEqualSigned if size <= 8 => {
            let strict = i128::from(operation == Binary::LessSigned);
            let (least, most) = (a.signed().0 + strict, b.signed().1 - strict);
            if least > half || most < -half - 1 {
                return None;
            }
            let low = Set::range((-half - 1) as u128, most as u128, size);
            let high = Set::range(least as u128, half as u128, size);
            Some((a.meet(&low)?, b.meet(&high)?))
        }
        _ => Some((*a, *b)),
    }
}
