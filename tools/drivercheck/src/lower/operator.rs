//! Operators on values: conversions and arithmetic.

use super::types::{Type, BOOL, INT, LONG};
use super::value::Value;
use super::Lower;
use crate::expr::{self, Compare, Expr, Op};
use lang_c::ast::BinaryOperator;

impl Lower<'_> {
    /// As if assigned to an object of the type.
    pub(super) fn convert(&mut self, value: Value, to: &Type) -> Value {
        match (value, to) {
            (Value::Int(value, _), to) if *to == BOOL => Value::Int(expr::non_zero(value), BOOL),
            (Value::Int(value, from), Type::Int { bits, .. }) => Value::Int(resize(value, &from, *bits), to.clone()),
            (Value::Int(value, from), Type::Pointer(_)) => {
                if value.value() != Some(0) && self.at.is_some() {
                    self.fault("a pointer made of a number: registers are reached by `register_read32` and its like, memory by its address or `dma_memory`");
                }
                Value::Pointer(resize(value, &from, 64), None, to.clone())
            }
            (Value::Pointer(value, Some(target), _), Type::Pointer(pointee)) if super::payload::is_payload(&target) => {
                Value::Pointer(value, Some(Box::new(self.payload_as(pointee))), to.clone())
            }
            (Value::Pointer(value, target, from), Type::Pointer(pointee)) => {
                let is_other = from != *to && value.value() != Some(0);
                if is_other && pointee.has_pointer(&self.structs) && self.at.is_some() {
                    self.fault(
                        "bytes read as pointers: give the object the type that it has, or keep pointers out of it",
                    );
                }
                let target = target.filter(|target| {
                    let fits = **pointee == Type::Void || target.ty == **pointee;
                    if !fits {
                        self.lose(target);
                    }
                    fits
                });
                Value::Pointer(value, target, to.clone())
            }
            (Value::Pointer(value, target, _), Type::Int { bits, .. }) => {
                if let Some(target) = target {
                    if *to != BOOL {
                        self.lose(&target);
                    }
                }
                let value = if *to == BOOL { expr::non_zero(value) } else { expr::cut(value, *bits) };
                Value::Int(value, to.clone())
            }
            (value, _) => value,
        }
    }

    /// Whether a value counts as true.
    pub(super) fn truth(&mut self, value: &Value) -> Expr {
        match value {
            Value::Int(value, _) | Value::Pointer(value, _, _) => expr::non_zero(*value),
            Value::Aggregate(_) | Value::Void => {
                self.fault("this is no condition");
                expr::truth(false)
            }
        }
    }

    pub(super) fn operate(&mut self, operator: &BinaryOperator, left: Value, right: Value) -> Value {
        match (left, right) {
            (Value::Int(a, left), Value::Int(b, right)) => self.arithmetic(operator, (a, left), (b, right)),
            (Value::Pointer(a, _, ty), Value::Pointer(b, _, _)) => match comparison(operator, a, b, false) {
                Some(result) => Value::Int(truth_value(result), INT),
                // A distance, in elements.
                None => {
                    let _ = ty;
                    Value::Int(self.any("(distance)", 64), Type::Int { bits: 64, signed: true })
                }
            },
            (Value::Pointer(a, target, ty), Value::Int(b, from))
            | (Value::Int(b, from), Value::Pointer(a, target, ty)) => {
                if let Some(result) = comparison(operator, a, resize(b, &from, 64), false) {
                    return Value::Int(truth_value(result), INT);
                }
                if b.value() == Some(0) {
                    return Value::Pointer(a, target, ty);
                }
                if let Some(target) = target {
                    self.lose(&target);
                }
                let size = match &ty {
                    Type::Pointer(to) => to.layout(&self.structs).0,
                    _ => 1,
                };
                let by = expr::binary(Op::Mul, resize(b, &from, 64), expr::constant(size, 64));
                let op = if *operator == BinaryOperator::Minus { Op::Sub } else { Op::Add };
                Value::Pointer(expr::binary(op, a, by), None, ty)
            }
            _ => {
                self.fault("this operator has no meaning for a struct");
                Value::Void
            }
        }
    }

    fn arithmetic(&mut self, operator: &BinaryOperator, (a, left): (Expr, Type), (b, right): (Expr, Type)) -> Value {
        use BinaryOperator::{BitwiseAnd, BitwiseOr, BitwiseXor, Divide, Minus, Modulo, Multiply, Plus};
        use BinaryOperator::{ShiftLeft, ShiftRight};
        if matches!(operator, ShiftLeft | ShiftRight) {
            let ty = left.promoted();
            let (a, b) = (resize(a, &left, ty.bits()), resize(b, &right, ty.bits()));
            // By more bits than there are it has no meaning in C; the processor takes the lower bits of the distance.
            let b = expr::binary(Op::And, b, expr::constant(u64::from(ty.bits()) - 1, ty.bits()));
            let op = match (operator, ty.is_signed()) {
                (ShiftLeft, _) => Op::Shl,
                (_, true) => Op::AShr,
                (_, false) => Op::LShr,
            };
            return Value::Int(expr::binary(op, a, b), ty);
        }
        let ty = left.common(&right);
        let (a, b) = (resize(a, &left, ty.bits()), resize(b, &right, ty.bits()));
        if let Some(result) = comparison(operator, a, b, ty.is_signed()) {
            return Value::Int(truth_value(result), INT);
        }
        let op = match (operator, ty.is_signed()) {
            (Plus, _) => Op::Add,
            (Minus, _) => Op::Sub,
            (Multiply, _) => Op::Mul,
            (Divide, true) => Op::SDiv,
            (Divide, false) => Op::UDiv,
            (Modulo, true) => Op::SRem,
            (Modulo, false) => Op::URem,
            (BitwiseAnd, _) => Op::And,
            (BitwiseOr, _) => Op::Or,
            (BitwiseXor, _) => Op::Xor,
            _ => {
                self.fault("this operator is not known");
                return Value::Void;
            }
        };
        // Servers divide what they have by shares that are variables, too; what they promise does not rest on how much each gets.
        let is_product = matches!(op, Op::Mul) && a.value().is_none() && b.value().is_none();
        let is_quotient = matches!(op, Op::SDiv | Op::UDiv | Op::SRem | Op::URem) && b.value().is_none();
        if self.clients.is_some() && (is_product || is_quotient) {
            return Value::Int(self.guess_product(ty.bits()), ty);
        }
        Value::Int(expr::binary(op, a, b), ty)
    }

    /// Any value, where the solver would take too long to find the right ones: of a product or quotient of two variables.
    fn guess_product(&mut self, bits: u32) -> Expr {
        let value = self.fresh("(product)", bits);
        self.op(crate::program::Op::Havoc(value));
        self.program.vars[value as usize].is_guess = true;
        self.var(value)
    }

    pub(super) fn integer(&mut self, value: Value) -> (Expr, Type) {
        match value {
            Value::Int(value, ty) => (value, ty),
            Value::Pointer(value, target, _) => {
                if let Some(target) = target {
                    self.lose(&target);
                }
                (value, LONG)
            }
            Value::Aggregate(_) | Value::Void => {
                self.fault("a number is needed here");
                (expr::constant(0, 32), INT)
            }
        }
    }
}

/// Widens as the value's own type says, or cuts off.
pub(super) fn resize(value: Expr, from: &Type, bits: u32) -> Expr {
    match value.bits().cmp(&bits) {
        std::cmp::Ordering::Equal => value,
        std::cmp::Ordering::Greater => expr::cut(value, bits),
        std::cmp::Ordering::Less if from.is_signed() => expr::sign_extend(value, bits),
        std::cmp::Ordering::Less => expr::zero_extend(value, bits),
    }
}

/// A truth value as the `int` that C makes of it.
pub(super) fn truth_value(value: Expr) -> Expr {
    expr::zero_extend(value, 32)
}

fn comparison(operator: &BinaryOperator, a: Expr, b: Expr, signed: bool) -> Option<Expr> {
    let less = if signed { Compare::SLt } else { Compare::ULt };
    Some(match operator {
        BinaryOperator::Equals => expr::equal(a, b),
        BinaryOperator::NotEquals => expr::not(expr::equal(a, b)),
        BinaryOperator::Less => expr::compare(less, a, b),
        BinaryOperator::Greater => expr::compare(less, b, a),
        BinaryOperator::LessOrEqual => expr::not(expr::compare(less, b, a)),
        BinaryOperator::GreaterOrEqual => expr::not(expr::compare(less, a, b)),
        _ => return None,
    })
}
