//! The replacements for an operator, a comparison, a constant or a condition.

use crate::ast::*;
use crate::source::Span;

/// An operator that makes something else of the same operands.
pub(super) fn other_operator(operator: BinaryOp) -> BinaryOp {
    match operator {
        BinaryOp::Add => BinaryOp::Sub,
        BinaryOp::Sub => BinaryOp::Add,
        BinaryOp::Mul => BinaryOp::Add,
        BinaryOp::Div => BinaryOp::Rem,
        BinaryOp::Rem => BinaryOp::Div,
        BinaryOp::And => BinaryOp::Or,
        BinaryOp::Or => BinaryOp::And,
        BinaryOp::Xor => BinaryOp::Or,
        BinaryOp::Shl => BinaryOp::Shr,
        BinaryOp::Shr => BinaryOp::Shl,
    }
}

/// The comparison one step beside this one.
pub(super) fn other_comparison(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Eq => Comparison::Ne,
        Comparison::Ne => Comparison::Eq,
        Comparison::Lt => Comparison::Le,
        Comparison::Le => Comparison::Lt,
        Comparison::Gt => Comparison::Ge,
        Comparison::Ge => Comparison::Gt,
    }
}

/// The comparison that says the same of exchanged operands.
pub(super) fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
        same => same,
    }
}

pub(super) fn commutes(operator: BinaryOp) -> bool {
    matches!(operator, BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
}

pub(super) fn constant(value: u64, width: Width, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(value, None), width, span }
}

/// One more; of the greatest number, one less.
pub(super) fn next_value(value: u64, width: Width) -> u64 {
    if value == width.max() {
        value - 1
    } else {
        value + 1
    }
}

/// Makes `expr + 1` of an expression.
pub(super) fn increment(expr: &mut Expr) {
    let (width, span) = (expr.width, expr.span);
    if let ExprKind::Const(value, _) = expr.kind {
        *expr = constant(next_value(value, width), width, span);
        return;
    }
    let old = std::mem::replace(expr, constant(0, width, span));
    let one = constant(1, width, span);
    expr.kind = ExprKind::Binary(BinaryOp::Add, Box::new(old), Box::new(one));
}

pub(super) fn is_constant(expr: &Expr, wanted: u64) -> bool {
    matches!(expr.kind, ExprKind::Const(value, _) if value == wanted)
}

/// Equal up to their places in the source.
pub(super) fn same(left: &Expr, right: &Expr) -> bool {
    match (&left.kind, &right.kind) {
        (ExprKind::Const(a, _), ExprKind::Const(b, _)) => a == b,
        (ExprKind::Local(a), ExprKind::Local(b)) => a == b,
        _ => false,
    }
}

pub(super) fn is_plain_equality(condition: &Cond) -> bool {
    matches!(condition.kind, CondKind::Compare(Comparison::Eq | Comparison::Ne, ..))
}

pub(super) fn negate(condition: &mut Cond) {
    let span = condition.span;
    let zero = Expr { kind: ExprKind::Const(0, None), width: Width::U32, span };
    let old = std::mem::replace(condition, Cond { kind: CondKind::NonZero(zero), span });
    condition.kind = CondKind::Not(Box::new(old));
}
