//! Constants: literals, enum constants, macros, array sizes, static assertions.

use std::rc::Rc;

use super::{Checker, Symbol};
use crate::ast::{self, BinaryOp, Comparison, Cond, CondKind, ExprKind, Width};
use crate::lex::{Token, TokenKind};
use crate::number::{parse_number, MAX_PLAIN};
use crate::order::locate;
use crate::parse::parse_expression;
use crate::preprocess::MacroKind;
use crate::rule::Rule;
use crate::source::Span;
use crate::syntax::{self, EnumSpec};

/// A constant's value; without width it takes its type where it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub value: u64,
    pub width: Option<Width>,
}

/// An operand before its type is settled.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Typed(ast::Expr),
    /// A constant without suffix, with the name it came from.
    Plain(u64, Option<String>, Span),
}

impl Operand {
    pub fn span(&self) -> Span {
        match self {
            Operand::Typed(expr) => expr.span,
            Operand::Plain(_, _, span) => *span,
        }
    }

    pub fn constant(&self) -> Option<u64> {
        match self {
            Operand::Typed(expr) => fold(expr),
            Operand::Plain(value, _, _) => Some(*value),
        }
    }
}

/// The value of an expression of constants.
pub(super) fn fold(expr: &ast::Expr) -> Option<u64> {
    let value = match &expr.kind {
        ExprKind::Const(value, _) => *value,
        ExprKind::Local(_) | ExprKind::Load(_) => return None,
        ExprKind::Neg(inner) => fold(inner)?.wrapping_neg(),
        ExprKind::Not(inner) => !fold(inner)?,
        ExprKind::Cast(inner) => fold(inner)?,
        ExprKind::Binary(operator, left, right) => apply(*operator, fold(left)?, fold(right)?, expr.width.bits())?,
    };
    Some(value & expr.width.max())
}

/// An operator on words; bits beyond the width are the caller's to cut off.
pub(super) fn apply(operator: BinaryOp, a: u64, b: u64, bits: u32) -> Option<u64> {
    let count = u32::try_from(b).ok().filter(|count| *count < bits);
    Some(match operator {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => a.checked_div(b)?,
        BinaryOp::Rem => a.checked_rem(b)?,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => a << count?,
        BinaryOp::Shr => a >> count?,
    })
}

fn fold_condition(condition: &Cond) -> Option<bool> {
    Some(match &condition.kind {
        CondKind::NonZero(expr) => fold(expr)? != 0,
        CondKind::Not(inner) => !fold_condition(inner)?,
        CondKind::And(left, right) => fold_condition(left)? && fold_condition(right)?,
        CondKind::Or(left, right) => fold_condition(left)? || fold_condition(right)?,
        CondKind::Compare(comparison, left, right) => {
            let (left, right) = (fold(left)?, fold(right)?);
            match comparison {
                Comparison::Eq => left == right,
                Comparison::Ne => left != right,
                Comparison::Lt => left < right,
                Comparison::Le => left <= right,
                Comparison::Gt => left > right,
                Comparison::Ge => left >= right,
            }
        }
    })
}

impl Checker<'_> {
    pub(super) fn number(&mut self, text: &str, span: Span) -> Option<Operand> {
        let number = match parse_number(text) {
            Ok(number) => number,
            Err(message) => {
                self.fault(span, Rule::Literal, message);
                return None;
            }
        };
        match number.width {
            Some(width) => {
                let kind = ExprKind::Const(number.value, None);
                Some(Operand::Typed(ast::Expr { kind, width, span }))
            }
            None if number.value > MAX_PLAIN => {
                let remedy =
                    if number.value > Width::U32.max() { "add the suffix ul" } else { "add the suffix u or ul" };
                self.fault_with(span, Rule::Literal, format!("`{text}` is too large to go without suffix"), remedy);
                None
            }
            None => Some(Operand::Plain(number.value, None, span)),
        }
    }

    /// The value behind a name, if it names a constant; `Err` if it does not.
    pub(super) fn named_constant(&mut self, name: &Rc<str>, span: Span) -> Result<Option<Operand>, ()> {
        let is_macro = self.source.macros.get(name).is_some_and(|found| found.kind == MacroKind::Value);
        self.own_lock(name, span);
        let value = if is_macro {
            self.macro_value(name, span)
        } else if let Some(Symbol::EnumConstant(value)) = self.symbols.get(name) {
            Some(Value { value: *value, width: None })
        } else {
            return Err(());
        };
        let label = Some(name.to_string());
        Ok(value.map(|value| match value.width {
            Some(width) => Operand::Typed(ast::Expr { kind: ExprKind::Const(value.value, label), width, span }),
            None => Operand::Plain(value.value, label, span),
        }))
    }

    /// A lock or cell of locks.h begins with the name of its layer: no other layer may use it.
    fn own_lock(&mut self, name: &str, used: Span) {
        let Some(found) = self.source.macros.get(name) else { return };
        let table = |file| self.sources.get(file).path.file_name().is_some_and(|file| file == "locks.h");
        let Some(rest) = name.strip_prefix("LOCK_").or_else(|| name.strip_prefix("CELL_")) else { return };
        if !table(found.span.file) || table(used.file) {
            return;
        }
        let Some(layer) = locate(&self.sources.get(used.file).path).map(|location| location.layer) else { return };
        let own =
            rest.strip_prefix(&layer.to_ascii_uppercase()).is_some_and(|end| end.is_empty() || end.starts_with('_'));
        if !own {
            let remedy = "call a function of the layer that owns it";
            self.fault_with(used, Rule::Include, format!("`{name}` is no lock or cell of layer `{layer}`"), remedy);
        }
    }

    /// Evaluates a macro once. A fault stands at the definition, or at the use of a trusted file's macro.
    fn macro_value(&mut self, name: &Rc<str>, used: Span) -> Option<Value> {
        if let Some(known) = self.macros.get(name) {
            let known = *known;
            if known.is_none() && !self.trusted(used) {
                self.unusable_macro(name, used);
            }
            return known;
        }
        let definition = self.source.macros.get(name)?;
        if self.evaluating.contains(name) || self.evaluating.len() > crate::preprocess::MAX_NESTING {
            self.fault(definition.span, Rule::MacroBody, format!("macro `{name}` is defined by itself"));
            return None;
        }
        self.evaluating.push(name.clone());
        let scope = self.scope.take();
        let rule = self.constant_rule.replace(Rule::MacroBody);
        let value = self.macro_body(name);
        self.constant_rule = rule;
        self.scope = scope;
        self.evaluating.pop();
        self.macros.insert(name.clone(), value);
        if value.is_none() {
            self.unusable_macro(name, used);
        }
        value
    }

    /// A macro of a trusted file that is no constant is reported where it is used.
    fn unusable_macro(&mut self, name: &Rc<str>, used: Span) {
        let trusted = self.source.macros.get(name).is_some_and(|found| self.sources.trusted(found.span.file));
        if trusted && used.file != self.source.macros[name].span.file {
            self.fault(used, Rule::MacroBody, format!("macro `{name}` is no constant of the subset"));
        }
    }

    fn macro_body(&mut self, name: &Rc<str>) -> Option<Value> {
        let definition = self.source.macros.get(name)?;
        let mut tokens = definition.body.clone();
        let end = tokens.last()?.span;
        tokens.push(Token { kind: TokenKind::End, span: end, first: false, spaced: true });
        let expr = parse_expression(self.sources, &tokens, self.faults)?;
        let compound = matches!(
            expr.kind,
            syntax::ExprKind::Binary(..) | syntax::ExprKind::Conditional(..) | syntax::ExprKind::Comma(..)
        );
        if compound {
            let remedy = "put the whole expression in parentheses";
            let message = format!("macro `{name}` would mean something else beside another operator");
            self.fault_with(definition.span, Rule::MacroBody, message, remedy);
        }
        self.constant(&expr, Rule::MacroBody)
    }

    /// Evaluates all macros of certified files, used or not, and lists the constants.
    pub(super) fn all_macros(&mut self) {
        for name in &self.source.macro_order {
            let Some(found) = self.source.macros.get(name) else { continue };
            if found.kind != MacroKind::Value {
                continue;
            }
            if let Some(Value { value, width }) = self.macro_value(name, found.span) {
                self.unit.constants.push(ast::Constant { name: name.to_string(), value, width, span: found.span });
            }
        }
    }

    /// The value of a constant expression; `rule` is the one broken if it is not constant.
    pub(super) fn constant(&mut self, expr: &syntax::Expr, rule: Rule) -> Option<Value> {
        let outer = self.constant_rule.replace(rule);
        let operand = self.operand(expr);
        self.constant_rule = outer;
        match operand? {
            Operand::Plain(value, _, _) => Some(Value { value, width: None }),
            Operand::Typed(typed) => {
                let value = fold(&typed);
                if value.is_none() {
                    self.fault(expr.span, rule, "this is no constant");
                }
                value.map(|value| Value { value, width: Some(typed.width) })
            }
        }
    }

    pub(super) fn enumeration(&mut self, spec: &EnumSpec) {
        let mut next = 0;
        for (name, value) in spec.constants.iter().flatten() {
            let value = match value {
                Some(expr) => self.constant(expr, Rule::Literal).map(|constant| constant.value),
                None => Some(next),
            };
            match value {
                Some(value) if value <= MAX_PLAIN => {
                    next = value + 1;
                    if self.declare(name, Symbol::EnumConstant(value)) {
                        let text = name.text.to_string();
                        self.unit.constants.push(ast::Constant { name: text, value, width: None, span: name.span });
                    }
                }
                _ => {
                    if value.is_some() {
                        let message = format!("enum constant `{}` leaves the range 0 .. 2^31-1", name.text);
                        self.fault_with(name.span, Rule::Literal, message, "use #define with the suffix ul");
                    }
                    self.symbols.entry(name.text.clone()).or_insert(Symbol::Refused);
                }
            }
        }
    }

    pub(super) fn static_assert(&mut self, condition: &syntax::Expr, span: Span) {
        let outer = self.constant_rule.replace(Rule::StaticAssert);
        let checked = self.condition(condition);
        self.constant_rule = outer;
        let Some(checked) = checked else { return };
        match fold_condition(&checked) {
            Some(true) => {}
            Some(false) => self.fault(span, Rule::StaticAssert, "this assertion does not hold"),
            None => self.fault(condition.span, Rule::StaticAssert, "this is no constant"),
        }
    }
}
