//! Places: what an expression names that can be assigned, and what a pointer points to.

use super::types::{Type, INT};
use super::value::{Lvalue, Value};
use super::{Entity, Lower};
use lang_c::ast::{BinaryOperator, BinaryOperatorExpression, Expression, MemberOperator, UnaryOperator};
use lang_c::span::Node;

impl<'a> Lower<'a> {
    /// The place that an expression names, if it names one.
    pub(super) fn lvalue_if_any(&mut self, expression: &'a Node<Expression>) -> Option<Lvalue> {
        match &expression.node {
            Expression::Identifier(name) => match self.find(&name.node.name) {
                Some(Entity::Object(place)) => Some(place.clone()),
                Some(Entity::External) => {
                    self.fault(format!("`{}` is defined elsewhere: a driver has its own objects only", name.node.name));
                    Some(Lvalue::opaque(INT))
                }
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
                    Type::Array(element, 0) => {
                        Type::Array(element, super::initial::list_length(&one.node.initializer_list))
                    }
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
        let from = self.begin_operand();
        let array = match self.lvalue_if_any(&one.lhs) {
            Some(place) if matches!(place.ty, Type::Array(..)) => place,
            other => {
                let pointer = match other {
                    Some(place) => self.read(&place),
                    None => self.expression(&one.lhs),
                };
                let left = self.effects(from, &pointer);
                let from = self.begin_operand();
                let index = self.expression(&one.rhs);
                let right = self.effects(from, &index);
                self.any_order(&[left, right]);
                return self.behind(pointer);
            }
        };
        let left = self.effects(from, &Value::Void);
        let from = self.begin_operand();
        let index = self.expression(&one.rhs);
        let right = self.effects(from, &index);
        self.any_order(&[left, right]);
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
}
