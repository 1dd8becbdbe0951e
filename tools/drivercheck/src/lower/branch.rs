//! Binary operators, choices and conditions. What has no side effect on the right of `&&`, `||` and `?:` stays an
//! expression; otherwise it becomes control flow.

use super::operator::truth_value;
use super::order::Effects;
use super::types::{Type, INT};
use super::value::{Lvalue, Storage, Value};
use super::{scan, Lower};
use crate::expr;
use lang_c::ast::{BinaryOperator, BinaryOperatorExpression, Expression, UnaryOperator};
use lang_c::span::Node;

impl<'a> Lower<'a> {
    pub(super) fn binary(&mut self, one: &'a BinaryOperatorExpression) -> Value {
        let operator = &one.operator.node;
        if scan::is_assignment(operator) {
            return self.assignment(one);
        }
        match operator {
            BinaryOperator::LogicalAnd | BinaryOperator::LogicalOr => self.logical(one),
            _ => {
                let from = self.begin_operand();
                let left = self.expression(&one.lhs);
                let first = self.effects(from, &left);
                let (left, right, second) = self.pair(left, &one.rhs);
                self.any_order(&[first, second]);
                self.operate(operator, left, right)
            }
        }
    }

    /// The right operand after the left one, which keeps its value if the right one has side effects.
    fn pair(&mut self, left: Value, right: &'a Node<Expression>) -> (Value, Value, Effects) {
        let before = self.state();
        let value = self.expression(right);
        if self.is_same(before) {
            let effects = self.effects(before.0, &value);
            return (left, value, effects);
        }
        self.back_to(before);
        let left = self.snapshot(left);
        let from = self.begin_operand();
        let value = self.expression(right);
        let effects = self.effects(from, &value);
        (left, value, effects)
    }

    fn assignment(&mut self, one: &'a BinaryOperatorExpression) -> Value {
        use BinaryOperator::*;
        let from = self.begin_operand();
        let Some(place) = self.lvalue_if_any(&one.lhs) else {
            self.fault("only a place can be assigned");
            return Value::Void;
        };
        let plain = match one.operator.node {
            Assign => None,
            AssignMultiply => Some(Multiply),
            AssignDivide => Some(Divide),
            AssignModulo => Some(Modulo),
            AssignPlus => Some(Plus),
            AssignMinus => Some(Minus),
            AssignShiftLeft => Some(ShiftLeft),
            AssignShiftRight => Some(ShiftRight),
            AssignBitwiseAnd => Some(BitwiseAnd),
            AssignBitwiseXor => Some(BitwiseXor),
            _ => Some(BitwiseOr),
        };
        let mut left = self.effects(from, &Value::Void);
        if plain.is_some() {
            self.note_place(&mut left, &place);
        }
        let from = self.begin_operand();
        let value = self.expression(&one.rhs);
        let right = self.effects(from, &value);
        self.any_order(&[left, right]);
        let value = match plain {
            None => value,
            Some(operator) => {
                let old = self.read(&place);
                self.operate(&operator, old, value)
            }
        };
        let value = self.convert(value, &place.ty.clone());
        self.mark(one.lhs.span);
        self.write(&place, value.clone());
        match value {
            Value::Aggregate(_) => Value::Aggregate(Box::new(place)),
            // What the object holds now: the value may have been computed from what it held before.
            Value::Int(..) | Value::Pointer(_, None, _) if matches!(place.storage, Storage::Scalar(_)) => {
                self.read(&place)
            }
            // Reading an unmodelled place again would give another value.
            other => other,
        }
    }

    fn logical(&mut self, one: &'a BinaryOperatorExpression) -> Value {
        let is_and = one.operator.node == BinaryOperator::LogicalAnd;
        let left = self.expression(&one.lhs);
        let left = self.truth(&left);
        if left.value().is_some() && left.is_true() != is_and {
            return Value::Int(truth_value(left), INT);
        }
        let before = self.state();
        let right = self.expression(&one.rhs);
        let right = self.truth(&right);
        if self.is_same(before) {
            let both = if is_and { expr::and(left, right) } else { expr::or(left, right) };
            return Value::Int(truth_value(both), INT);
        }
        self.back_to(before);
        let result = self.fresh("(logical)", 1);
        let (short, done) = (self.node(), self.node());
        self.branch(if is_and { expr::not(left) } else { left }, short);
        let right = self.expression(&one.rhs);
        let right = self.truth(&right);
        self.assign(result, right);
        self.jump(done);
        self.at = Some(short);
        self.assign(result, expr::truth(!is_and));
        self.enter(done);
        Value::Int(truth_value(self.var(result)), INT)
    }

    pub(super) fn conditional(
        &mut self,
        condition: &'a Node<Expression>,
        yes: &'a Node<Expression>,
        no: &'a Node<Expression>,
    ) -> Value {
        let condition = self.expression(condition);
        let condition = self.truth(&condition);
        if let Some(known) = condition.value() {
            let (taken, other) = if known == 1 { (yes, no) } else { (no, yes) };
            let value = self.expression(taken);
            let faults = self.faults.len();
            let other = self.type_of(other);
            // What is never computed counts by its type only.
            self.faults.truncate(faults);
            return match (&value.ty(), &other) {
                (own @ Type::Int { .. }, Type::Int { .. }) => self.convert(value, &own.common(&other)),
                _ => value,
            };
        }
        let (left, right) = (self.type_of(yes), self.type_of(no));
        let ty = match (&left, &right) {
            (Type::Int { .. }, Type::Int { .. }) => left.common(&right),
            (Type::Int { .. }, _) => right,
            _ => left,
        };
        let before = self.state();
        let (a, b) = (self.expression(yes), self.expression(no));
        if self.is_same(before) {
            match (self.convert(a, &ty), self.convert(b, &ty)) {
                (Value::Int(a, _), Value::Int(b, _)) => return Value::Int(expr::choose(condition, a, b), ty),
                (Value::Pointer(a, None, _), Value::Pointer(b, None, _)) => {
                    return Value::Pointer(expr::choose(condition, a, b), None, ty)
                }
                (Value::Void, _) => return Value::Void,
                _ => {}
            }
        }
        self.back_to(before);
        let storage = if ty.is_scalar() { Storage::Scalar(self.fresh("(choice)", ty.bits())) } else { Storage::Opaque };
        let result = Lvalue { ty: ty.clone(), storage, object: None };
        let (other, done) = (self.node(), self.node());
        self.branch(expr::not(condition), other);
        for (branch, after) in [(yes, Some(other)), (no, None)] {
            let value = self.expression(branch);
            let value = self.convert(value, &ty);
            self.write(&result, value);
            self.jump(done);
            self.at = after;
        }
        self.at = Some(done);
        self.read(&result)
    }

    /// Goes to `yes` or to `no`; nothing follows here.
    pub(super) fn condition(&mut self, expression: &'a Node<Expression>, yes: usize, no: usize) {
        match &expression.node {
            Expression::BinaryOperator(one) if one.node.operator.node == BinaryOperator::LogicalAnd => {
                let middle = self.node();
                self.condition(&one.node.lhs, middle, no);
                self.at = Some(middle);
                self.condition(&one.node.rhs, yes, no);
            }
            Expression::BinaryOperator(one) if one.node.operator.node == BinaryOperator::LogicalOr => {
                let middle = self.node();
                self.condition(&one.node.lhs, yes, middle);
                self.at = Some(middle);
                self.condition(&one.node.rhs, yes, no);
            }
            Expression::UnaryOperator(one) if one.node.operator.node == UnaryOperator::Negate => {
                self.condition(&one.node.operand, no, yes);
            }
            _ => {
                let value = self.expression(expression);
                let value = self.truth(&value);
                self.mark(expression.span);
                self.branch(value, yes);
                self.jump(no);
            }
        }
    }

    fn state(&self) -> (usize, usize, Option<usize>, usize) {
        (self.program.edges.len(), self.program.nodes, self.at, self.faults.len())
    }

    fn is_same(&self, before: (usize, usize, Option<usize>, usize)) -> bool {
        self.program.edges.len() == before.0 && self.at == before.2
    }

    fn back_to(&mut self, before: (usize, usize, Option<usize>, usize)) {
        self.program.edges.truncate(before.0);
        self.program.nodes = before.1;
        self.at = before.2;
        self.faults.truncate(before.3);
    }
}
