//! Expressions: their values.

use super::operator::truth_value;
use super::types::{Type, INT, LONG};
use super::value::{Storage, Value};
use super::{Entity, Lower};
use crate::expr::{self, Expr};
use lang_c::ast::{
    BinaryOperator, Constant, Expression, Integer, IntegerBase, IntegerSize, Statement, UnaryOperator,
    UnaryOperatorExpression,
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
                    if self.functions.contains_key(name.node.name.as_str()) {
                        let text = format!("the address of `{}`: it may be called from where", name.node.name);
                        self.fault(format!("{text} the checker cannot follow"));
                        return Value::Void;
                    }
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
            Expression::SizeOfVal(one) if matches!(one.node.0.node, Expression::StringLiteral(_)) => {
                Value::Int(self.any("sizeof", 64), LONG)
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
        if !ty.has_known_size(&self.structs) {
            return Value::Int(self.any("sizeof", 64), LONG);
        }
        Value::Int(expr::constant(ty.layout(&self.structs).0, 64), LONG)
    }

    fn literal(&mut self, constant: &Constant) -> Value {
        match constant {
            Constant::Integer(integer) => number(integer),
            Constant::Character(text) => {
                let value = character(text).unwrap_or_else(|| {
                    self.fault("a character that the checker does not know");
                    0
                });
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
        // A copy: the variable changes under the value.
        if is_post {
            let kept = self.snapshot(before);
            self.write(&place, after);
            return kept;
        }
        let kept = self.snapshot(after.clone());
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

/// The value of `'x'`, with the escapes of C; none for those that it does not know, and for several characters.
fn character(text: &str) -> Option<u64> {
    let mut chars = text.strip_prefix('\'')?.strip_suffix('\'')?.chars();
    let first = chars.next()?;
    let rest = chars.as_str();
    let byte = match (first, rest.chars().next()) {
        ('\\', Some('x')) => u8::from_str_radix(&rest[1..], 16).ok()?,
        ('\\', Some('0'..='7')) => u8::from_str_radix(rest, 8).ok()?,
        ('\\', Some(_)) => match rest {
            "n" => 10,
            "t" => 9,
            "r" => 13,
            "a" => 7,
            "b" => 8,
            "f" => 12,
            "v" => 11,
            "\\" | "'" | "\"" | "?" => rest.as_bytes()[0],
            _ => return None,
        },
        (plain, None) if plain.is_ascii() => plain as u8,
        _ => return None,
    };
    // `char` is signed.
    Some(byte as i8 as u64)
}
