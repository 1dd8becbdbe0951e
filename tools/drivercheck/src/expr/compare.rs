//! Comparisons, simplified as they are built.

use super::{choose, constant, equal, intern, mask, not, signed, truth, Compare, Expr, Node, Op};

/// Whether two numbers compare so.
pub fn holds(op: Compare, a: u64, b: u64, bits: u32) -> bool {
    match op {
        Compare::Eq => a == b,
        Compare::ULt => a < b,
        Compare::SLt => signed(a, bits) < signed(b, bits),
    }
}

pub fn compare(op: Compare, a: Expr, b: Expr) -> Expr {
    let bits = a.bits();
    debug_assert_eq!(bits, b.bits());
    if a == b {
        return truth(op == Compare::Eq);
    }
    let (a, b) =
        if op == Compare::Eq && (a.value().is_some() || (b.value().is_none() && b < a)) { (b, a) } else { (a, b) };
    match (a.value(), b.value(), op) {
        (Some(left), Some(right), _) => return truth(holds(op, left, right, bits)),
        (_, Some(0), Compare::ULt) => return truth(false),
        (_, Some(1), Compare::ULt) => return equal(a, constant(0, bits)),
        (Some(0), _, Compare::ULt) => return not(equal(b, constant(0, bits))),
        (Some(left), _, Compare::ULt) if left == mask(bits) => return truth(false),
        _ => {}
    }
    if let (Some(right), Compare::Eq) = (b.value(), op) {
        if bits == 1 {
            return if right == 1 { a } else { not(a) };
        }
        match a.node() {
            Node::Zero(inner, _) if right > mask(inner.bits()) => return truth(false),
            Node::Zero(inner, _) => return equal(inner, constant(right, inner.bits())),
            Node::Sign(inner, _) => {
                let narrow = right & mask(inner.bits());
                let same = signed(narrow, inner.bits()) as u64 & mask(bits) == right;
                return if same { equal(inner, constant(narrow, inner.bits())) } else { truth(false) };
            }
            Node::Choose(condition, x, y) => match (x.value(), y.value()) {
                (Some(x), Some(y)) => {
                    return match (x == right, y == right) {
                        (true, true) => truth(true),
                        (true, false) => condition,
                        (false, true) => not(condition),
                        (false, false) => truth(false),
                    }
                }
                _ => return choose(condition, equal(x, b), equal(y, b)),
            },
            Node::Binary(Op::Add, x, y) => {
                if let Some(left) = y.value() {
                    return equal(x, constant(right.wrapping_sub(left), bits));
                }
            }
            Node::Binary(Op::Sub, x, y) if right == 0 => return equal(x, y),
            Node::Binary(Op::Xor, x, y) if right == 0 => return equal(x, y),
            Node::Not(x) => return equal(x, constant(!right, bits)),
            _ => {}
        }
    }
    // Values that were widened from unsigned ones compare as they did before.
    if let (Node::Zero(x, _), Some(right)) = (a.node(), b.value()) {
        if op != Compare::Eq && signed(right, bits) >= 0 {
            return if right > mask(x.bits()) {
                truth(true)
            } else {
                compare(Compare::ULt, x, constant(right, x.bits()))
            };
        }
    }
    if let (Some(left), Node::Zero(y, _)) = (a.value(), b.node()) {
        if op != Compare::Eq && signed(left, bits) >= 0 {
            return if left > mask(y.bits()) {
                truth(false)
            } else {
                compare(Compare::ULt, constant(left, y.bits()), y)
            };
        }
    }
    if let (Node::Zero(x, _), Node::Zero(y, _)) = (a.node(), b.node()) {
        if x.bits() == y.bits() {
            return compare(if op == Compare::Eq { op } else { Compare::ULt }, x, y);
        }
    }
    intern(Node::Compare(op, a, b))
}
