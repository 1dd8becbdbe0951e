//! Expressions: places and values. What has no side effect on the right of `&&`, `||` and `?:` stays an expression;
//! otherwise it becomes control flow.

use super::operator::truth_value;
use super::types::{Type, INT, LONG};
use super::value::{Lvalue, Storage, Value};
use super::{scan, Entity, Lower};
use crate::expr::{self, Expr};
use lang_c::ast::{
    BinaryOperator, BinaryOperatorExpression, Constant, Expression, Integer, IntegerBase, IntegerSize, MemberOperator,
    Statement, UnaryOperator, UnaryOperatorExpression,
};
use lang_c::span::Node;

impl<'a> Lower<'a> {
    pub(super) fn expression(&mut self, expression: &'a Node<Expression>) -> Value {
        if self.at.is_some() {
            self.mark(expression.span);
        }
        if let Some(place) = self.lvalue_if_any(expression) {
            return self.read(&place);
        }
        match &expression.node {
            Expression::Identifier(name) => match self.find(&name.node.name) {
                Some(Entity::Constant(value, ty)) => {
                    let (value, ty) = (*value, ty.clone());
                    Value::Int(expr::constant(value, ty.bits()), ty)
                }
                Some(Entity::Function(ty)) => {
                    let ty = Type::pointer(ty.clone());
                    Value::Pointer(expr::constant(0x4000_0000, 64), None, ty)
                }
                _ => {
                    self.fault(format!("`{}` is not declared", name.node.name));
                    Value::Int(expr::constant(0, 32), INT)
                }
            },
            Expression::Constant(constant) => self.literal(&constant.node),
            Expression::StringLiteral(_) => {
                let ty = Type::pointer(Type::Int { bits: 8, signed: true });
                Value::Pointer(expr::constant(0x4100_0000, 64), None, ty)
            }
            Expression::Call(call) => self.call(&call.node),
            Expression::SizeOfTy(one) => {
                let ty = self.named_type(&one.node.0.node);
                self.size(&ty)
            }
            Expression::SizeOfVal(one) => {
                let ty = self.type_of(&one.node.0);
                self.size(&ty)
            }
            Expression::AlignOf(one) => {
                let ty = self.named_type(&one.node.0.node);
                let (_, align) = ty.layout(&self.structs);
                Value::Int(expr::constant(align, 64), LONG)
            }
            Expression::UnaryOperator(one) => self.unary(&one.node),
            Expression::Cast(one) => {
                let ty = self.named_type(&one.node.type_name.node);
                let value = self.expression(&one.node.expression);
                match ty {
                    Type::Void => Value::Void,
                    ty => self.convert(value, &ty),
                }
            }
            Expression::BinaryOperator(one) => self.binary(&one.node),
            Expression::Conditional(one) => {
                let one = &one.node;
                self.conditional(&one.condition, &one.then_expression, &one.else_expression)
            }
            Expression::Comma(all) => all.iter().map(|one| self.expression(one)).last().unwrap_or(Value::Void),
            Expression::OffsetOf(_) => Value::Int(self.any("(offset)", 64), LONG),
            Expression::Statement(one) => self.statement_expression(one),
            _ => {
                self.fault("this form of expression is not known");
                Value::Int(expr::constant(0, 32), INT)
            }
        }
    }

    fn size(&mut self, ty: &Type) -> Value {
        Value::Int(expr::constant(ty.layout(&self.structs).0, 64), LONG)
    }

    /// The place that an expression names, if it names one.
    pub(super) fn lvalue_if_any(&mut self, expression: &'a Node<Expression>) -> Option<Lvalue> {
        match &expression.node {
            Expression::Identifier(name) => match self.find(&name.node.name) {
                Some(Entity::Object(place)) => Some(place.clone()),
                _ => None,
            },
            Expression::Member(one) => {
                let one = &one.node;
                let outer = match one.operator.node {
                    MemberOperator::Direct => match self.lvalue_if_any(&one.expression) {
                        Some(place) => place,
                        None => match self.expression(&one.expression) {
                            Value::Aggregate(place) => *place,
                            _ => Lvalue::opaque(Type::Void),
                        },
                    },
                    MemberOperator::Indirect => {
                        let pointer = self.expression(&one.expression);
                        self.target(pointer)
                    }
                };
                let name = &one.identifier.node.name;
                match self.field(&outer, name) {
                    Some(place) => Some(place),
                    None => {
                        let what = self.type_name(&outer.ty);
                        self.fault(format!("{what} has no field `{name}`"));
                        Some(Lvalue::opaque(INT))
                    }
                }
            }
            Expression::CompoundLiteral(one) => {
                let ty = self.named_type(&one.node.type_name.node);
                let ty = match ty {
                    Type::Array(element, 0) => Type::Array(element, one.node.initializer_list.len() as u64),
                    other => other,
                };
                let name = format!("(literal at {})", self.place.line);
                let place = self.literal_place(&name, ty, expression.span.start);
                self.initialize_list(&place, &one.node.initializer_list);
                Some(place)
            }
            Expression::UnaryOperator(one) if one.node.operator.node == UnaryOperator::Indirection => {
                let pointer = self.expression(&one.node.operand);
                Some(self.target(pointer))
            }
            Expression::BinaryOperator(one) if one.node.operator.node == BinaryOperator::Index => {
                Some(self.element(&one.node))
            }
            _ => None,
        }
    }

    fn element(&mut self, one: &'a BinaryOperatorExpression) -> Lvalue {
        let array = match self.lvalue_if_any(&one.lhs) {
            Some(place) if matches!(place.ty, Type::Array(..)) => place,
            Some(place) => {
                let pointer = self.read(&place);
                self.expression(&one.rhs);
                return self.behind(pointer);
            }
            None => {
                let pointer = self.expression(&one.lhs);
                self.expression(&one.rhs);
                return self.behind(pointer);
            }
        };
        let index = self.expression(&one.rhs);
        let (index, _) = self.integer(index);
        let Type::Array(element, _) = &array.ty else { return Lvalue::opaque(INT) };
        match index.value().and_then(|index| self.part(&array, index as usize)) {
            Some(place) => place,
            None => {
                self.lose(&array);
                Lvalue::opaque((**element).clone())
            }
        }
    }

    /// Something near what a pointer points to.
    fn behind(&mut self, pointer: Value) -> Lvalue {
        if let Value::Pointer(_, Some(target), _) = &pointer {
            self.lose(target);
        }
        match pointer.ty() {
            Type::Pointer(to) => Lvalue::opaque((*to).clone()),
            _ => {
                self.fault("this is neither an array nor a pointer");
                Lvalue::opaque(INT)
            }
        }
    }

    fn target(&mut self, pointer: Value) -> Lvalue {
        match pointer {
            Value::Pointer(_, Some(target), Type::Pointer(to)) if target.ty == *to => *target,
            Value::Aggregate(place) => *place,
            other => self.behind(other),
        }
    }

    fn literal(&mut self, constant: &Constant) -> Value {
        match constant {
            Constant::Integer(integer) => number(integer),
            Constant::Character(text) => {
                let value = character(text);
                Value::Int(expr::constant(value, 32), INT)
            }
            Constant::Float(_) => {
                self.fault("a floating-point number, which the checker does not know");
                Value::Int(expr::constant(0, 32), INT)
            }
        }
    }

    fn unary(&mut self, one: &'a UnaryOperatorExpression) -> Value {
        use UnaryOperator::*;
        match one.operator.node {
            Address => match self.lvalue_if_any(&one.operand) {
                Some(place) => {
                    let ty = Type::pointer(place.ty.clone());
                    let address = self.address(&place);
                    let target = (!matches!(place.storage, Storage::Opaque)).then(|| Box::new(place));
                    Value::Pointer(address, target, ty)
                }
                None => self.expression(&one.operand),
            },
            PostIncrement | PreIncrement => self.step(one, BinaryOperator::Plus),
            PostDecrement | PreDecrement => self.step(one, BinaryOperator::Minus),
            Plus | Minus | Complement => {
                let value = self.expression(&one.operand);
                let (value, ty) = self.integer(value);
                let to = ty.promoted();
                let value = super::operator::resize(value, &ty, to.bits());
                let value = match one.operator.node {
                    Minus => expr::negate(value),
                    Complement => expr::not(value),
                    _ => value,
                };
                Value::Int(value, to)
            }
            Negate => {
                let value = self.expression(&one.operand);
                let value = self.truth(&value);
                Value::Int(truth_value(expr::not(value)), INT)
            }
            // A place, so read above.
            Indirection => Value::Void,
        }
    }

    fn step(&mut self, one: &'a UnaryOperatorExpression, operator: BinaryOperator) -> Value {
        let Some(place) = self.lvalue_if_any(&one.operand) else {
            self.fault("only a place can be stepped");
            return Value::Void;
        };
        let before = self.read(&place);
        let after = self.operate(&operator, before.clone(), Value::Int(expr::constant(1, 32), INT));
        let after = self.convert(after, &place.ty.clone());
        let is_post = matches!(one.operator.node, UnaryOperator::PostIncrement | UnaryOperator::PostDecrement);
        // The old value as it was: the variable changes under it.
        let kept = if is_post { self.snapshot(before) } else { after.clone() };
        self.write(&place, after);
        kept
    }

    /// A copy that later assignments do not change.
    pub(super) fn snapshot(&mut self, value: Value) -> Value {
        let mut copy = |value: Expr| {
            if value.value().is_some() {
                return value;
            }
            // A copy has the name of what it copies.
            let name = match value.node() {
                expr::Node::Var { var, .. } => self.program.vars[var as usize].name.clone(),
                _ => "(value)".to_string(),
            };
            let var = self.fresh(&name, value.bits());
            self.assign(var, value);
            self.var(var)
        };
        match value {
            Value::Int(value, ty) => Value::Int(copy(value), ty),
            Value::Pointer(value, None, ty) => Value::Pointer(copy(value), None, ty),
            other => other,
        }
    }

    fn binary(&mut self, one: &'a BinaryOperatorExpression) -> Value {
        let operator = &one.operator.node;
        if scan::is_assignment(operator) {
            return self.assignment(one);
        }
        match operator {
            BinaryOperator::LogicalAnd | BinaryOperator::LogicalOr => self.logical(one),
            _ => {
                let left = self.expression(&one.lhs);
                let (left, right) = self.pair(left, &one.rhs);
                self.operate(operator, left, right)
            }
        }
    }

    /// The right operand after the left one, which keeps its value if the right one has side effects.
    fn pair(&mut self, left: Value, right: &'a Node<Expression>) -> (Value, Value) {
        let before = self.state();
        let value = self.expression(right);
        if self.is_same(before) {
            return (left, value);
        }
        self.back_to(before);
        let left = self.snapshot(left);
        (left, self.expression(right))
    }

    fn assignment(&mut self, one: &'a BinaryOperatorExpression) -> Value {
        use BinaryOperator::*;
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
        let value = self.expression(&one.rhs);
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

    fn conditional(
        &mut self,
        condition: &'a Node<Expression>,
        yes: &'a Node<Expression>,
        no: &'a Node<Expression>,
    ) -> Value {
        let condition = self.expression(condition);
        let condition = self.truth(&condition);
        if let Some(known) = condition.value() {
            return self.expression(if known == 1 { yes } else { no });
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

    /// `({ …; value; })`.
    fn statement_expression(&mut self, statement: &'a Node<Statement>) -> Value {
        let Statement::Compound(items) = &statement.node else { return Value::Void };
        self.open_scope();
        let mut value = Value::Void;
        for (index, item) in items.iter().enumerate() {
            let last = index + 1 == items.len();
            value = match &item.node {
                lang_c::ast::BlockItem::Statement(Node { node: Statement::Expression(Some(one)), .. }) if last => {
                    let value = self.expression(one);
                    self.snapshot(value)
                }
                _ => {
                    self.block_item(item);
                    Value::Void
                }
            };
        }
        self.close_scope();
        value
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

fn number(integer: &Integer) -> Value {
    let radix = match integer.base {
        IntegerBase::Decimal => 10,
        IntegerBase::Octal => 8,
        IntegerBase::Hexadecimal => 16,
        IntegerBase::Binary => 2,
    };
    let value = u64::from_str_radix(&integer.number, radix).unwrap_or(0);
    let is_decimal = integer.base == IntegerBase::Decimal;
    let long = integer.suffix.size != IntegerSize::Int;
    let unsigned = integer.suffix.unsigned;
    let ty = match (unsigned, long) {
        (false, false) if value <= i32::MAX as u64 => INT,
        (false, false) if !is_decimal && value <= u64::from(u32::MAX) => Type::Int { bits: 32, signed: false },
        (true, false) if value <= u64::from(u32::MAX) => Type::Int { bits: 32, signed: false },
        (false, _) if value <= i64::MAX as u64 => Type::Int { bits: 64, signed: true },
        _ => LONG,
    };
    Value::Int(expr::constant(value, ty.bits()), ty)
}

/// The value of `'x'`, with the escapes that drivers use.
fn character(text: &str) -> u64 {
    let inner = text.trim_start_matches(['L', 'u', 'U']).trim_matches('\'');
    let mut chars = inner.chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), Some('n')) => 10,
        (Some('\\'), Some('t')) => 9,
        (Some('\\'), Some('r')) => 13,
        (Some('\\'), Some('0')) => 0,
        (Some('\\'), Some(other)) => other as u64,
        (Some(plain), _) => plain as u64,
        _ => 0,
    }
}
