//! The constructors of terms. Each gives a term that means the same as the operation; which one is a matter of normal forms.

pub use super::comparison::{equal, less, less_signed};
pub use super::sum::zeros;
use super::sum::{largest, parts, sum};
use super::{constant, intern, mask, Binary, Node, Term};

pub fn add(a: Term, b: Term) -> Term {
    debug_assert_eq!(a.width(), b.width());
    let ((terms, rest), (more, other)) = (parts(a), parts(b));
    sum(terms.into_iter().chain(more), rest.wrapping_add(other), a.width())
}

pub fn times(a: Term, times: u128) -> Term {
    let (terms, rest) = parts(a);
    sum(terms.into_iter().map(|(term, one)| (term, one.wrapping_mul(times))), rest.wrapping_mul(times), a.width())
}

pub fn sub(a: Term, b: Term) -> Term {
    add(a, times(b, u128::MAX))
}

pub fn add_constant(a: Term, value: u128) -> Term {
    add(a, constant(value, a.width()))
}

/// The term as multiples of terms and a constant.
pub fn as_sum(a: Term) -> (Vec<(Term, u128)>, u128) {
    parts(a)
}

pub fn from_sum(terms: Vec<(Term, u128)>, rest: u128, width: u32) -> Term {
    sum(terms, rest, width)
}

pub fn not(a: Term) -> Term {
    binary(Binary::Xor, a, constant(u128::MAX, a.width()))
}

pub fn and(a: Term, b: Term) -> Term {
    binary(Binary::And, a, b)
}

pub fn or(a: Term, b: Term) -> Term {
    binary(Binary::Or, a, b)
}

pub fn implies(a: Term, b: Term) -> Term {
    or(not(a), b)
}

pub fn binary(operation: Binary, a: Term, b: Term) -> Term {
    match operation {
        Binary::Equal => equal(a, b),
        Binary::Less => less(a, b),
        Binary::LessSigned => less_signed(a, b),
        Binary::Multiply => multiply(a, b),
        Binary::Divide | Binary::Remainder => divide(operation, a, b),
        Binary::And | Binary::Or | Binary::Xor => bitwise(operation, a, b),
        Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned => shift(operation, a, b),
    }
}

fn multiply(a: Term, b: Term) -> Term {
    match (a.value(), b.value()) {
        (_, Some(value)) => times(a, value),
        (Some(value), _) => times(b, value),
        _ => intern(Node::Binary(Binary::Multiply, a.min(b), a.max(b)), a.width()),
    }
}

fn divide(operation: Binary, a: Term, b: Term) -> Term {
    let width = a.width();
    match (a.value(), b.value()) {
        (Some(x), Some(y)) if y != 0 => constant(if operation == Binary::Divide { x / y } else { x % y }, width),
        (_, Some(y)) if y.is_power_of_two() && operation == Binary::Divide => {
            shift(Binary::ShiftRight, a, constant(u128::from(y.trailing_zeros()), width))
        }
        (_, Some(y)) if y.is_power_of_two() => and(a, constant(y - 1, width)),
        (_, Some(y)) if y != 0 && operation == Binary::Remainder => sub(a, times(divide(Binary::Divide, a, b), y)),
        _ => intern(Node::Binary(operation, a, b), width),
    }
}

fn bitwise(operation: Binary, a: Term, b: Term) -> Term {
    let width = a.width();
    debug_assert_eq!(width, b.width());
    let all = mask(width);
    // The constant second, otherwise by number.
    let (a, b) = match (a.value(), b.value()) {
        (Some(x), Some(y)) => {
            let value = match operation {
                Binary::And => x & y,
                Binary::Or => x | y,
                _ => x ^ y,
            };
            return constant(value, width);
        }
        (Some(_), None) => (b, a),
        (None, Some(_)) => (a, b),
        (None, None) => (a.min(b), a.max(b)),
    };
    match (operation, b.value()) {
        (Binary::And, Some(0)) => return b,
        (Binary::And, Some(value)) if value == all => return a,
        (Binary::Or | Binary::Xor, Some(0)) => return a,
        (Binary::Or, Some(value)) if value == all => return b,
        (Binary::And, Some(value)) if (value | zeros(a)) & all == all => return a,
        _ => {}
    }
    if a == b {
        return if operation == Binary::Xor { constant(0, width) } else { a };
    }
    if zeros(a) | zeros(b) == all && zeros(a) | zeros(b) != 0 {
        return if operation == Binary::And { constant(0, width) } else { add(a, b) };
    }
    if let (Binary::And, Some(value)) = (operation, b.value()) {
        // Bits side by side.
        let (low, size) = (value.trailing_zeros(), value.count_ones());
        if value >> low == mask(size) {
            return shift_left(zero_extend(extract(a, low, size), width), low);
        }
    }
    if let (Binary::Xor, Some(one), Node::Binary(Binary::Xor, x, y)) = (operation, b.value(), a.node()) {
        if let Some(other) = y.value() {
            return bitwise(Binary::Xor, x, constant(one ^ other, width));
        }
    }
    // not a is -1 - a.
    if operation == Binary::Xor && b.value() == Some(all) && width > 1 {
        return sub(b, a);
    }
    match (a.node(), b.node()) {
        (Node::ZeroExtend(x), Node::ZeroExtend(y)) if x.width() == y.width() => {
            return zero_extend(bitwise(operation, x, y), width);
        }
        (Node::ZeroExtend(x), Node::Constant(value)) if operation == Binary::And || value <= mask(x.width()) => {
            return zero_extend(bitwise(operation, x, constant(value, x.width())), width);
        }
        _ => {}
    }
    intern(Node::Binary(operation, a, b), width)
}

/// By a constant number of bits.
pub fn shift_left(a: Term, by: u32) -> Term {
    if by >= a.width() {
        return constant(0, a.width());
    }
    times(a, 1 << by)
}

/// The amount has the width of what is shifted; an amount of the width or more gives 0, or all signs.
fn shift(operation: Binary, a: Term, by: Term) -> Term {
    let width = a.width();
    debug_assert_eq!(width, by.width());
    if a.value() == Some(0) {
        return a;
    }
    let Some(amount) = by.value() else {
        return intern(Node::Binary(operation, a, by), width);
    };
    let amount = u32::try_from(amount).unwrap_or(u32::MAX).min(width);
    match operation {
        Binary::ShiftLeft => shift_left(a, amount),
        Binary::ShiftRight if amount == width => constant(0, width),
        Binary::ShiftRight => zero_extend(extract(a, amount, width - amount), width),
        _ => {
            let amount = amount.min(width - 1);
            sign_extend(extract(a, amount, width - amount), width)
        }
    }
}

pub fn zero_extend(a: Term, width: u32) -> Term {
    let from = a.width();
    debug_assert!(from <= width);
    if from == width {
        return a;
    }
    match a.node() {
        Node::Constant(value) => constant(value, width),
        Node::ZeroExtend(inner) => zero_extend(inner, width),
        // All of a quotient.
        Node::Extract(0, of) if is_quotient(of) && zeros(of) >> from == mask(of.width() - from) => {
            if of.width() >= width {
                extract(of, 0, width)
            } else {
                zero_extend(of, width)
            }
        }
        // A sum that cannot wrap around, of parts that are narrower.
        Node::Sum(terms, rest) if largest(&terms, rest).is_some_and(|most| most <= mask(from)) => {
            sum(terms.iter().map(|(term, times)| (zero_extend(*term, width), *times)), rest, width)
        }
        // Its highest bits are 0.
        _ if zeros(a) >> (from - 1) & 1 != 0 && matches!(a.node(), Node::Extract(..)) => {
            let size = 128 - (!zeros(a) & mask(from)).leading_zeros();
            if size == 0 {
                return constant(0, width);
            }
            zero_extend(extract(a, 0, size), width)
        }
        _ => intern(Node::ZeroExtend(a), width),
    }
}

pub fn sign_extend(a: Term, width: u32) -> Term {
    let from = a.width();
    if from == width {
        return a;
    }
    if zeros(a) >> (from - 1) & 1 != 0 {
        return zero_extend(a, width);
    }
    match a.value() {
        Some(value) if value >> (from - 1) & 1 != 0 => constant(value | !mask(from), width),
        _ => intern(Node::SignExtend(a), width),
    }
}

/// `width` bits from bit `low` on.
pub fn extract(a: Term, low: u32, width: u32) -> Term {
    let from = a.width();
    debug_assert!(low + width <= from && width > 0);
    if width == from {
        return a;
    }
    match a.node() {
        Node::Constant(value) => constant(value >> low, width),
        Node::Extract(inner, of) => extract(of, low + inner, width),
        Node::ZeroExtend(inner) if low >= inner.width() => constant(0, width),
        Node::ZeroExtend(inner) if low + width <= inner.width() => extract(inner, low, width),
        Node::ZeroExtend(inner) => {
            let rest = inner.width() - low;
            zero_extend(extract(inner, low, rest), width)
        }
        Node::SignExtend(inner) if low + width <= inner.width() => extract(inner, low, width),
        Node::SignExtend(inner) if low < inner.width() => {
            let rest = inner.width() - low;
            sign_extend(extract(inner, low, rest), width)
        }
        Node::Sum(terms, rest) => extract_sum(a, &terms, rest, low, width),
        Node::Binary(operation @ (Binary::And | Binary::Or | Binary::Xor), x, y) => {
            bitwise(operation, extract(x, low, width), extract(y, low, width))
        }
        Node::Binary(Binary::Multiply, x, y) if low == 0 && !a.is_any_product() => {
            multiply(extract(x, 0, width), extract(y, 0, width))
        }
        Node::If(c, x, y) if x.value().is_some() || y.value().is_some() => {
            select(c, extract(x, low, width), extract(y, low, width))
        }
        _ => intern(Node::Extract(low, a), width),
    }
}

fn is_quotient(term: Term) -> bool {
    matches!(term.node(), Node::Binary(Binary::Divide, ..))
}

/// A division by a constant as compilers write it: x * factor / 2^low is x / d for all x below 2^size, where factor * d is 2^low + e
/// with e at most 2^(low - size), as then x * e is below 2^low. None if the bits are no such quotient, or not all of it.
fn quotient(product: u32, x: Term, factor: u128, low: u32, width: u32) -> Option<Term> {
    let size = x.width();
    let fits = low >= size && low < 127 && size < product && factor < 1 << (product - size) && factor > 1;
    let divisor = fits.then(|| (1u128 << low).div_ceil(factor))?;
    let over = factor.checked_mul(divisor)?.checked_sub(1 << low)?;
    if over > 1 << (low - size) || divisor > mask(size) || divisor < 2 || mask(size) / divisor > mask(width) {
        return None;
    }
    let quotient = divide(Binary::Divide, x, constant(divisor, size));
    Some(if width < size { extract(quotient, 0, width) } else { zero_extend(quotient, width) })
}

fn extract_sum(a: Term, terms: &[(Term, u128)], rest: u128, low: u32, width: u32) -> Term {
    if let ([(term, factor)], 0) = (terms, rest) {
        if let Node::ZeroExtend(x) = term.node() {
            if let Some(quotient) = quotient(a.width(), x, *factor, low, width) {
                return quotient;
            }
        }
    }
    if low == 0 {
        return sum(terms.iter().map(|(term, times)| (extract_low(*term, width), *times)), rest, width);
    }
    // What is a multiple of 2^low, and what is below and does not carry.
    let (above, below): (Vec<_>, Vec<_>) = terms.iter().copied().partition(|(_, times)| times.trailing_zeros() >= low);
    let carries = largest(&below, rest & mask(low)).is_none_or(|most| most > mask(low));
    if !carries && (below.len() < terms.len() || rest >> low != 0) {
        let whole = a.width();
        let parts = above.into_iter().map(|(term, times)| (term, times >> low));
        return extract(sum(parts, rest >> low, whole), 0, width);
    }
    intern(Node::Extract(low, a), width)
}

/// The low bits of one term of a sum; its multiples may need none of it.
fn extract_low(term: Term, width: u32) -> Term {
    extract(term, 0, width)
}

/// `high` above `low`.
pub fn concat(high: Term, low: Term) -> Term {
    let width = high.width() + low.width();
    add(shift_left(zero_extend(high, width), low.width()), zero_extend(low, width))
}

/// `into` with the bits from `at` on replaced by `part`.
pub fn insert(into: Term, part: Term, at: u32) -> Term {
    let (width, size) = (into.width(), part.width());
    let mut whole = part;
    if at > 0 {
        whole = concat(whole, extract(into, 0, at));
    }
    if at + size < width {
        whole = concat(extract(into, at + size, width - at - size), whole);
    }
    whole
}

pub fn select(condition: Term, then: Term, otherwise: Term) -> Term {
    if then == otherwise || condition.is_true() {
        return then;
    }
    if condition.is_false() {
        return otherwise;
    }
    if then.width() == 1 {
        match (then.value(), otherwise.value()) {
            (Some(1), Some(0)) => return condition,
            (Some(0), Some(1)) => return not(condition),
            (Some(1), None) => return or(condition, otherwise),
            (Some(0), None) => return and(not(condition), otherwise),
            (None, Some(0)) => return and(condition, then),
            (None, Some(1)) => return or(not(condition), then),
            _ => {}
        }
    }
    if let Node::Binary(Binary::Xor, inner, ones) = condition.node() {
        if ones.is_true() {
            return select(inner, otherwise, then);
        }
    }
    match (then.node(), otherwise.node()) {
        (Node::ZeroExtend(x), Node::ZeroExtend(y)) if x.width() == y.width() => {
            return zero_extend(select(condition, x, y), then.width());
        }
        (Node::ZeroExtend(x), Node::Constant(value)) if value <= mask(x.width()) => {
            return zero_extend(select(condition, x, constant(value, x.width())), then.width());
        }
        (Node::Constant(value), Node::ZeroExtend(y)) if value <= mask(y.width()) => {
            return zero_extend(select(condition, constant(value, y.width()), y), then.width());
        }
        _ => {}
    }
    intern(Node::If(condition, then, otherwise), then.width())
}

pub fn leading_zeros(a: Term) -> Term {
    let width = a.width();
    match a.value() {
        Some(value) => constant(u128::from(value.leading_zeros() - (128 - width)), width),
        None => intern(Node::LeadingZeros(a), width),
    }
}

/// The array with one element replaced.
pub fn store(array: Term, index: Term, value: Term) -> Term {
    debug_assert_eq!(array.width(), value.width());
    if let Node::Store(below, same, _) = array.node() {
        if same == index {
            return store(below, index, value);
        }
    }
    if read(array, index) == value {
        return array;
    }
    intern(Node::Store(array, index, value), array.width())
}

/// The element at an index.
pub fn read(array: Term, index: Term) -> Term {
    let mut from = array;
    while let Node::Store(below, other, value) = from.node() {
        if other == index {
            return value;
        }
        // Distinct for certain: the difference is a constant.
        if !equal(other, index).is_false() {
            break;
        }
        from = below;
    }
    intern(Node::Read(from, index), array.width())
}
