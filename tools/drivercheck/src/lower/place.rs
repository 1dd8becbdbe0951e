//! Places: what an expression names that can be assigned, and what a pointer points to.

use super::types::{Type, INT, LONG};
use super::value::{Lvalue, Storage, Value};
use super::{Entity, Lower};
use crate::expr;
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
        let (index, ty) = self.integer(index);
        let Type::Array(element, count) = &array.ty else { return Lvalue::opaque(INT) };
        let constant = index.value().and_then(|index| self.part(&array, index as usize));
        if let (Some(place), false) = (constant, matches!(array.storage, Storage::Cells(..))) {
            return place;
        }
        // The index as it is now; it may change while the place is in use.
        let counter = index;
        let index = super::operator::resize(index, &ty, 64);
        if let Storage::ByClient(inner) = &array.storage {
            let storage = self.select_client_at(inner, index);
            return Lvalue { ty: (**element).clone(), storage, object: array.object };
        }
        let index = match self.snapshot(Value::Int(index, LONG)) {
            Value::Int(index, _) => index,
            _ => index,
        };
        let storage = match &array.storage {
            Storage::Fields(all) => {
                let is = |(number, one): (usize, &Storage)| {
                    (expr::equal(index, expr::constant(number as u64, 64)), one.clone())
                };
                Storage::one_of(&all.iter().enumerate().map(is).collect::<Vec<_>>())
            }
            Storage::Cells(inner, followed) => {
                let is_here = followed.map(|followed| expr::equal(index, self.var(followed)));
                if let Some(is_here) = is_here {
                    self.note_counter(is_here, counter, *count);
                }
                inner.select(is_here)
            }
            _ => Storage::Opaque,
        };
        Lvalue { ty: (**element).clone(), storage, object: array.object }
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
