//! Arithmetic and bit operations, simplified as they are built.

use super::{constant, intern, mask, not, signed, Expr, Node, Op};

/// The result for two numbers.
pub fn compute(op: Op, a: u64, b: u64, bits: u32) -> u64 {
    let (left, right) = (signed(a, bits), signed(b, bits));
    let result = match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        // As SMT-LIB has it; in C, division by zero has no meaning.
        Op::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
        Op::URem => a.checked_rem(b).unwrap_or(a),
        Op::SDiv if b == 0 => {
            if left < 0 {
                1
            } else {
                u64::MAX
            }
        }
        Op::SDiv => left.wrapping_div(right) as u64,
        Op::SRem if b == 0 => a,
        Op::SRem => left.wrapping_rem(right) as u64,
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl => {
            if b >= u64::from(bits) {
                0
            } else {
                a << b
            }
        }
        Op::LShr => {
            if b >= u64::from(bits) {
                0
            } else {
                a >> b
            }
        }
        Op::AShr => (left >> b.min(u64::from(bits) - 1)) as u64,
    };
    result & mask(bits)
}

/// A number that it is not above, by its form alone.
fn most(of: Expr) -> u64 {
    match of.node() {
        Node::Const { value, .. } => value,
        Node::Zero(inner, _) => most(inner),
        Node::Binary(Op::And, inner, by) => by.value().unwrap_or(u64::MAX).min(most(inner)),
        Node::Binary(Op::URem, _, by) => by.value().filter(|by| *by != 0).map_or(mask(of.bits()), |by| by - 1),
        Node::Binary(Op::LShr, inner, by) => by.value().map_or(mask(of.bits()), |by| most(inner) >> by.min(63)),
        _ => mask(of.bits()),
    }
}

pub fn binary(op: Op, a: Expr, b: Expr) -> Expr {
    let bits = a.bits();
    debug_assert_eq!(bits, b.bits());
    let commutes = matches!(op, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor);
    // Constants stand behind, otherwise the older expression first.
    let (a, b) = if commutes && (a.value().is_some() || (b.value().is_none() && b < a)) { (b, a) } else { (a, b) };
    let all = mask(bits);
    match (op, a.value(), b.value()) {
        (_, Some(left), Some(right)) => return constant(compute(op, left, right, bits), bits),
        (Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Shl | Op::LShr | Op::AShr, _, Some(0)) => return a,
        (Op::And | Op::Mul, _, Some(0)) => return b,
        (Op::Mul | Op::UDiv | Op::SDiv, _, Some(1)) => return a,
        (Op::And, _, Some(right)) if right == all || ((right + 1).is_power_of_two() && most(a) <= right) => return a,
        (Op::Or, _, Some(right)) if right == all => return b,
        (Op::Xor, _, Some(right)) if right == all => return not(a),
        // By powers of two, which the solver need not find out.
        (Op::URem, _, Some(right)) if right.is_power_of_two() => return binary(Op::And, a, constant(right - 1, bits)),
        (Op::UDiv, _, Some(right)) if right.is_power_of_two() => {
            return binary(Op::LShr, a, constant(u64::from(right.trailing_zeros()), bits));
        }
        (Op::Sub, _, Some(right)) => return binary(Op::Add, a, constant(right.wrapping_neg(), bits)),
        _ => {}
    }
    if a == b {
        match op {
            Op::And | Op::Or => return a,
            Op::Xor | Op::Sub => return constant(0, bits),
            _ => {}
        }
    }
    if matches!(op, Op::And | Op::Or) && not(a) == b {
        return constant(if op == Op::And { 0 } else { all }, bits);
    }
    if let (Op::Add | Op::And | Op::Or, Some(right), Node::Binary(inner, x, y)) = (op, b.value(), a.node()) {
        if let (true, Some(left)) = (inner == op, y.value()) {
            return binary(op, x, constant(compute(op, left, right, bits), bits));
        }
    }
    intern(Node::Binary(op, a, b))
}
