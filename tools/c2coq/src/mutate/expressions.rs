//! The mutation walk over expressions, conditions and calls.

use super::change::*;
use super::walk::Walk;
use super::Kind;
use crate::ast::*;

impl Walk<'_> {
    pub(super) fn right_hand_side(&mut self, value: &mut Rhs) {
        match value {
            Rhs::Expr(expr) => self.expr(expr),
            Rhs::Call(call) => self.call(call),
        }
    }

    pub(super) fn call(&mut self, call: &mut Call) {
        if self.is_hint(call) {
            return;
        }
        let callee = self.callee(call);
        let alike = |other: &&(usize, &Function)| {
            other.0 != call.function.0
                && other.1.result == callee.result
                && other.1.parameters == callee.parameters
                && other.1.name != self.function.name
                && !other.1.name.ends_with("_check")
        };
        let others: Vec<(usize, &Function)> = self.unit.functions.iter().enumerate().collect();
        // The next one, so that a constant differs from its neighbour in the header.
        let after = others.iter().filter(|(at, _)| *at > call.function.0).find(alike);
        let other = after.or_else(|| others.iter().find(alike)).map(|(at, _)| *at);
        if let Some(other) = other {
            if self.offer(Kind::WrongCallee, call.span) {
                call.function = FunctionId(other);
                return;
            }
        }
        for at in 1..call.arguments.len() {
            let (left, right) = (&call.arguments[at - 1], &call.arguments[at]);
            if left.width == right.width && !same(left, right) && self.offer(Kind::OperandsSwapped, call.span) {
                call.arguments.swap(at - 1, at);
                return;
            }
        }
        for argument in &mut call.arguments {
            self.value(argument);
        }
    }

    /// A value that is passed on as it is.
    pub(super) fn value(&mut self, value: &mut Expr) {
        let changes = matches!(value.kind, ExprKind::Local(_) | ExprKind::Load(_));
        if changes && self.offer(Kind::ValueChanged, value.span) {
            increment(value);
            return;
        }
        self.expr(value);
    }

    pub(super) fn place(&mut self, place: &mut Place) {
        let object = &self.unit.objects[place.object.0];
        for index in [&mut place.index, &mut place.element].into_iter().flatten() {
            if self.offer(Kind::IndexOffByOne, place.span) {
                increment(index);
                return;
            }
            if !matches!(index.kind, ExprKind::Const(..)) {
                self.expr(index);
            }
        }
        if let (Some(field), ElementType::Struct(id)) = (place.field, object.element) {
            let fields = &self.unit.structs[id.0].fields;
            let count = fields.len();
            let own = &fields[field.0];
            let other = (1..count).map(|step| (field.0 + step) % count).find(|at| {
                let other = &fields[*at];
                other.width == own.width && other.size == own.size && !other.name.starts_with("spare")
            });
            if let Some(other) = other {
                if self.offer(Kind::WrongField, place.span) {
                    place.field = Some(FieldId(other));
                }
            }
        }
    }

    pub(super) fn expr(&mut self, expr: &mut Expr) {
        let (width, span) = (expr.width, expr.span);
        match &mut expr.kind {
            ExprKind::Const(value, _) => {
                let value = *value;
                if self.offer(Kind::ConstantChanged, span) {
                    *expr = constant(next_value(value, width), width, span);
                }
            }
            ExprKind::Local(id) => {
                let parameters = self.function.parameters.len();
                let other = (1..parameters)
                    .map(|step| (id.0 + step) % parameters)
                    .find(|other| id.0 < parameters && self.locals[*other].width == width);
                if let Some(other) = other {
                    if self.offer(Kind::WrongVariable, span) {
                        *id = LocalId(other);
                    }
                }
            }
            ExprKind::Load(place) => self.place(place),
            ExprKind::Neg(inner) | ExprKind::Not(inner) => {
                if self.offer(Kind::OperatorChanged, span) {
                    let inner = (**inner).clone();
                    *expr = inner;
                    return;
                }
                self.expr(inner);
            }
            ExprKind::Cast(inner) => self.expr(inner),
            ExprKind::Binary(operator, left, right) => {
                // A shift's count may have another width than what is shifted.
                if left.width == right.width && self.offer(Kind::OperatorChanged, span) {
                    *operator = other_operator(*operator);
                    return;
                }
                if commutes(*operator) {
                    if self.offer_benign(Kind::OperandsCommuted, span) {
                        std::mem::swap(left, right);
                        return;
                    }
                } else if left.width == right.width && self.offer(Kind::OperandsSwapped, span) {
                    std::mem::swap(left, right);
                    return;
                }
                self.expr(left);
                self.expr(right);
            }
        }
    }

    pub(super) fn condition(&mut self, condition: &mut Cond) {
        let span = condition.span;
        match &mut condition.kind {
            CondKind::Compare(comparison, left, right) => {
                if self.offer(Kind::ComparisonChanged, span) {
                    *comparison = other_comparison(*comparison);
                    return;
                }
                if self.offer_benign(Kind::ComparisonMirrored, span) {
                    *comparison = mirrored(*comparison);
                    std::mem::swap(left, right);
                    return;
                }
                self.expr(left);
                self.expr(right);
            }
            CondKind::NonZero(expr) => {
                if matches!(expr.kind, ExprKind::Const(..)) {
                    return;
                }
                self.expr(expr);
            }
            CondKind::Not(inner) => self.condition(inner),
            CondKind::And(left, right) | CondKind::Or(left, right) => {
                let halves = [(**left).clone(), (**right).clone()];
                if let Some(half) = halves.into_iter().find(|_| self.offer(Kind::ConditionDropped, span)) {
                    *condition = half;
                    return;
                }
                self.condition(left);
                self.condition(right);
            }
        }
    }
}
