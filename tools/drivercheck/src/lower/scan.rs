//! What can be read off the syntax before lowering: declared names, and names that are changed.

use crate::hash::HashSet;
use lang_c::ast::{
    BinaryOperator, BinaryOperatorExpression, Declarator, DeclaratorKind, Expression, ExternalDeclaration,
    FunctionDefinition, TranslationUnit, UnaryOperator, UnaryOperatorExpression,
};
use lang_c::span::{Node, Span};
use lang_c::visit::{self, Visit};

pub fn declared_name(declarator: &Declarator) -> Option<&str> {
    match &declarator.kind.node {
        DeclaratorKind::Identifier(name) => Some(&name.node.name),
        DeclaratorKind::Declarator(inner) => declared_name(&inner.node),
        DeclaratorKind::Abstract => None,
    }
}

/// Whether a file of the driver gives an object of this name a value.
pub fn is_defined(unit: &TranslationUnit, wanted: &str) -> bool {
    unit.0.iter().any(|item| match &item.node {
        ExternalDeclaration::Declaration(declaration) => declaration
            .node
            .declarators
            .iter()
            .any(|one| one.node.initializer.is_some() && declared_name(&one.node.declarator.node) == Some(wanted)),
        _ => false,
    })
}

#[derive(Default)]
struct Changes {
    names: HashSet<String>,
}

impl Changes {
    fn note(&mut self, expression: &Node<Expression>) {
        if let Expression::Identifier(name) = &expression.node {
            self.names.insert(name.node.name.clone());
        }
    }
}

impl<'ast> Visit<'ast> for Changes {
    fn visit_unary_operator_expression(&mut self, one: &'ast UnaryOperatorExpression, span: &'ast Span) {
        use UnaryOperator::{Address, PostDecrement, PostIncrement, PreDecrement, PreIncrement};
        if matches!(one.operator.node, Address | PostIncrement | PostDecrement | PreIncrement | PreDecrement) {
            self.note(&one.operand);
        }
        visit::visit_unary_operator_expression(self, one, span);
    }

    fn visit_binary_operator_expression(&mut self, one: &'ast BinaryOperatorExpression, span: &'ast Span) {
        if is_assignment(&one.operator.node) {
            self.note(&one.lhs);
        }
        visit::visit_binary_operator_expression(self, one, span);
    }
}

pub fn is_assignment(operator: &BinaryOperator) -> bool {
    use BinaryOperator::*;
    matches!(
        operator,
        Assign
            | AssignMultiply
            | AssignDivide
            | AssignModulo
            | AssignPlus
            | AssignMinus
            | AssignShiftLeft
            | AssignShiftRight
            | AssignBitwiseAnd
            | AssignBitwiseXor
            | AssignBitwiseOr
    )
}

pub fn changed_in(function: &FunctionDefinition) -> HashSet<String> {
    let mut changes = Changes::default();
    changes.visit_function_definition(function, &Span::none());
    changes.names
}

pub fn changed_in_unit(unit: &TranslationUnit) -> HashSet<String> {
    let mut changes = Changes::default();
    changes.visit_translation_unit(unit);
    changes.names
}
