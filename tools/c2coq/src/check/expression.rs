//! Values: operators, casts, and the refusal of everything that is not a plain value.

use super::constant::{apply, fold, Operand};
use super::{Checker, LocalSymbol, Symbol};
use crate::ast::{self, BinaryOp, ExprKind as Typed, Width};
use crate::number::MAX_PLAIN;
use crate::rule::Rule;
use crate::source::Span;
use crate::syntax::{Base, Expr, ExprKind};

pub(super) fn binary_operator(text: &str) -> Option<BinaryOp> {
    Some(match text {
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Sub,
        "*" => BinaryOp::Mul,
        "/" => BinaryOp::Div,
        "%" => BinaryOp::Rem,
        "&" => BinaryOp::And,
        "|" => BinaryOp::Or,
        "^" => BinaryOp::Xor,
        "<<" => BinaryOp::Shl,
        ">>" => BinaryOp::Shr,
        _ => return None,
    })
}

/// A constant in another type that holds its value: what C's own conversion would give.
fn retyped(expr: ast::Expr, width: Width) -> ast::Expr {
    let span = expr.span;
    let kind = match expr.kind {
        Typed::Const(value, name) => Typed::Const(value, name),
        _ => Typed::Cast(Box::new(expr)),
    };
    ast::Expr { kind, width, span }
}

/// What a type is called in messages.
fn described(operand: &Operand) -> String {
    match operand {
        Operand::Typed(expr) => expr.width.name().to_string(),
        Operand::Plain(value, _, _) => format!("the constant {value}"),
    }
}

impl Checker<'_> {
    /// A value of exactly this type.
    pub(super) fn value(&mut self, expr: &Expr, width: Width, what: &str) -> Option<ast::Expr> {
        let operand = self.operand(expr)?;
        self.coerce(operand, width, what)
    }

    /// Settles an operand's type to the one its place asks for.
    pub(super) fn coerce(&mut self, operand: Operand, width: Width, what: &str) -> Option<ast::Expr> {
        match operand {
            Operand::Typed(expr) if expr.width == width => Some(expr),
            Operand::Typed(expr) if fold(&expr).is_some_and(|value| value <= width.max()) => Some(retyped(expr, width)),
            Operand::Typed(expr) => {
                let (have, want) = (expr.width.name(), width.name());
                let message = format!("{what} is a {want}, but this is a {have}");
                let remedy = format!("write the conversion: ({want})");
                self.fault_with(expr.span, Rule::ImplicitConversion, message, remedy);
                None
            }
            Operand::Plain(value, name, span) => {
                if value > width.max() {
                    let message = format!("{what} is a {}, which cannot hold {value}", width.name());
                    self.fault_with(span, Rule::Literal, message, "use a value that fits, or a wider type");
                    return None;
                }
                Some(ast::Expr { kind: Typed::Const(value, name), width, span })
            }
        }
    }

    /// An operand of an operator, condition or index: refuses the narrow types.
    pub(super) fn arithmetic(&mut self, operand: &Operand, what: &str) -> bool {
        match operand {
            Operand::Typed(expr) if !expr.width.is_arithmetic() => {
                let message = format!("{what} is a {}", expr.width.name());
                self.fault(expr.span, Rule::NarrowArithmetic, message);
                false
            }
            _ => true,
        }
    }

    /// An expression whose type may still be open. Reports what is no value.
    pub(super) fn operand(&mut self, expr: &Expr) -> Option<Operand> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Broken => None,
            ExprKind::Number(text) => self.number(text, span),
            ExprKind::Char(Some(value)) => Some(Operand::Plain(u64::from(*value), None, span)),
            ExprKind::Char(None) => {
                self.fault_with(span, Rule::Literal, "this is not one ASCII character", "write its number");
                None
            }
            ExprKind::Str => {
                self.fault(span, Rule::StringLiteral, "a string");
                None
            }
            ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Field(..) => self.named(expr),
            ExprKind::Paren(inner) => self.operand(inner),
            ExprKind::Unary(operator, inner) => self.unary(operator, inner, span),
            ExprKind::Binary(operator, at, left, right) => self.binary(operator, *at, left, right, span),
            ExprKind::Cast(specs, declarator, inner) => self.cast(expr, specs, declarator, inner),
            _ => {
                self.refused(expr);
                None
            }
        }
    }

    /// Constructs that have no place in an expression of the subset; looks for faults inside them.
    fn refused(&mut self, expr: &Expr) {
        let span = expr.span;
        match &expr.kind {
            ExprKind::AddressOf => self.fault(span, Rule::AddressOf, "an address is taken"),
            ExprKind::Dereference => self.fault(span, Rule::Dereference, "a pointer is followed"),
            ExprKind::Arrow(inner) => {
                self.fault(span, Rule::Dereference, "a field is reached through a pointer");
                if !matches!(inner.bare().kind, ExprKind::Name(_)) {
                    self.operand(inner);
                }
            }
            ExprKind::Assign(operator, left, right) => {
                self.fault(span, Rule::AssignmentInExpression, format!("`{operator}` inside an expression"));
                self.operand(left);
                self.operand(right);
            }
            ExprKind::Step(operator, inner) => {
                self.fault(span, Rule::AssignmentInExpression, format!("`{operator}` inside an expression"));
                self.operand(inner);
            }
            ExprKind::Conditional(condition, yes, no) => {
                self.fault(span, Rule::ConditionalOperator, "the operator ?:");
                self.condition(condition);
                self.operand(yes);
                self.operand(no);
            }
            ExprKind::Comma(left, right) => {
                self.fault(span, Rule::Comma, "the comma operator");
                self.operand(left);
                self.operand(right);
            }
            ExprKind::Call(..) => {
                if let Some(callee) = self.call(expr).and_then(|call| self.unit.functions.get(call.function.0)) {
                    let message = format!("`{}` is called inside an expression", callee.name);
                    self.fault(span, Rule::CallInExpression, message);
                }
            }
            ExprKind::CompoundLiteral => self.fault(span, Rule::Place, "a compound literal"),
            ExprKind::Sizeof => self.fault(span, Rule::Sizeof, "a size in bytes"),
            ExprKind::StatementExpr => self.fault(span, Rule::Extension, "a statement inside an expression"),
            _ => {}
        }
    }

    /// A name, alone or with indices and fields.
    fn named(&mut self, expr: &Expr) -> Option<Operand> {
        let span = expr.span;
        let ExprKind::Name(name) = &expr.kind else { return self.load(expr) };
        let local = self.local(name);
        if local.is_none() {
            if let Ok(constant) = self.named_constant(name, span) {
                return constant;
            }
        }
        match local {
            Some(LocalSymbol::Local(id)) => {
                let width = self.scope.as_ref()?.locals[id.0].width;
                Some(Operand::Typed(ast::Expr { kind: Typed::Local(id), width, span }))
            }
            Some(LocalSymbol::Refused) => None,
            None => match self.symbols.get(name).copied() {
                Some(Symbol::Object(_)) => self.load(expr),
                Some(Symbol::Function(_)) => {
                    self.fault(span, Rule::FunctionPointer, format!("function `{name}` is used as a value"));
                    None
                }
                Some(Symbol::EnumConstant(_) | Symbol::Refused) => None,
                None => {
                    self.undeclared(name, span);
                    None
                }
            },
        }
    }

    pub(super) fn undeclared(&mut self, name: &std::rc::Rc<str>, span: Span) {
        if !self.source.incomplete {
            self.fault(span, Rule::Undeclared, format!("`{name}` is not declared"));
        }
        // Later uses of a name that does not exist say nothing new.
        if self.constant_rule.is_none() {
            self.symbols.insert(name.clone(), Symbol::Refused);
        }
    }

    fn load(&mut self, expr: &Expr) -> Option<Operand> {
        if let Some(rule) = self.constant_rule {
            self.fault(expr.span, rule, "this is no constant");
            return None;
        }
        let (place, width) = self.place(expr)?;
        Some(Operand::Typed(ast::Expr { kind: Typed::Load(place), width, span: expr.span }))
    }

    fn unary(&mut self, operator: &str, inner: &Expr, span: Span) -> Option<Operand> {
        if operator == "!" {
            self.fault(span, Rule::Condition, "`!` outside of a condition");
            self.condition(inner);
            return None;
        }
        let operand = self.operand(inner)?;
        if !self.arithmetic(&operand, &format!("the operand of `{operator}`")) {
            return None;
        }
        match operand {
            _ if operator == "+" => Some(operand),
            Operand::Plain(value, ..) => {
                self.fault(span, Rule::Literal, format!("`{operator}{value}` is signed without a suffix"));
                None
            }
            Operand::Typed(inner) => {
                let width = inner.width;
                let inner = Box::new(inner);
                let kind = if operator == "-" { Typed::Neg(inner) } else { Typed::Not(inner) };
                Some(Operand::Typed(ast::Expr { kind, width, span }))
            }
        }
    }

    fn binary(&mut self, operator: &str, at: Span, left: &Expr, right: &Expr, span: Span) -> Option<Operand> {
        let Some(operation) = binary_operator(operator) else {
            self.fault(at, Rule::Condition, format!("`{operator}` outside of a condition"));
            if matches!(operator, "&&" | "||") {
                self.condition(left);
                self.condition(right);
            } else {
                self.operand(left);
                self.operand(right);
            }
            return None;
        };
        let left = self.operand(left);
        let right = self.operand(right);
        self.operation(operation, operator, at, left?, right?, span)
    }

    /// Types an operation on two operands.
    pub(super) fn operation(
        &mut self,
        operation: BinaryOp,
        operator: &str,
        at: Span,
        left: Operand,
        right: Operand,
        span: Span,
    ) -> Option<Operand> {
        let left_fits = self.arithmetic(&left, &format!("the left operand of `{operator}`"));
        let right_fits = self.arithmetic(&right, &format!("the right operand of `{operator}`"));
        if !left_fits || !right_fits {
            return None;
        }
        if let (Operand::Plain(a, ..), Operand::Plain(b, ..)) = (&left, &right) {
            let value = apply(operation, *a, *b, 31).filter(|value| *value <= MAX_PLAIN);
            if value.is_none() {
                self.fault(span, Rule::Literal, format!("{a} {operator} {b} leaves the range 0 .. 2^31-1"));
            }
            return value.map(|value| Operand::Plain(value, None, span));
        }
        let shift = matches!(operation, BinaryOp::Shl | BinaryOp::Shr);
        let (left, right) = if shift {
            (self.shifted(left, operator)?, self.count(right)?)
        } else {
            self.unify(left, right, operator, at)?
        };
        let bad_count = shift && fold(&right).is_some_and(|count| count >= u64::from(left.width.bits()));
        let bad_divisor = matches!(operation, BinaryOp::Div | BinaryOp::Rem) && fold(&right) == Some(0);
        if bad_count || bad_divisor {
            self.fault(right.span, Rule::DivisionByZero, format!("this operand of `{operator}` gives no result"));
            return None;
        }
        let width = left.width;
        let kind = Typed::Binary(operation, Box::new(left), Box::new(right));
        Some(Operand::Typed(ast::Expr { kind, width, span }))
    }

    fn shifted(&mut self, left: Operand, operator: &str) -> Option<ast::Expr> {
        match left {
            Operand::Typed(expr) => Some(expr),
            Operand::Plain(value, _, span) => {
                let message = format!("the constant {value} before `{operator}` needs a type");
                self.fault(span, Rule::Literal, message);
                None
            }
        }
    }

    fn count(&mut self, right: Operand) -> Option<ast::Expr> {
        match right {
            Operand::Typed(expr) => Some(expr),
            plain => self.coerce(plain, Width::U32, "the count of a shift"),
        }
    }

    /// Gives both operands one type.
    pub(super) fn unify(
        &mut self,
        left: Operand,
        right: Operand,
        operator: &str,
        at: Span,
    ) -> Option<(ast::Expr, ast::Expr)> {
        let what = format!("the other operand of `{operator}`");
        match (left, right) {
            (Operand::Typed(left), Operand::Typed(right)) if left.width == right.width => Some((left, right)),
            (Operand::Typed(left), right @ Operand::Plain(..)) => {
                let right = self.coerce(right, left.width, &what)?;
                Some((left, right))
            }
            (left @ Operand::Plain(..), Operand::Typed(right)) => {
                let left = self.coerce(left, right.width, &what)?;
                Some((left, right))
            }
            (left @ Operand::Plain(..), right @ Operand::Plain(..)) => {
                let what = "an operand of constants without suffix";
                let left = self.coerce(left, Width::U32, what)?;
                let right = self.coerce(right, Width::U32, what)?;
                Some((left, right))
            }
            // A constant of the narrower type widens, as in C.
            (Operand::Typed(left), Operand::Typed(right)) if left.width < right.width && fold(&left).is_some() => {
                let left = retyped(left, right.width);
                Some((left, right))
            }
            (Operand::Typed(left), Operand::Typed(right)) if left.width > right.width && fold(&right).is_some() => {
                let right = retyped(right, left.width);
                Some((left, right))
            }
            (left, right) => {
                let message =
                    format!("`{operator}` has {} on its left and {} on its right", described(&left), described(&right));
                self.fault(at, Rule::MixedWidth, message);
                None
            }
        }
    }

    fn cast(
        &mut self,
        expr: &Expr,
        specs: &crate::syntax::Specs,
        declarator: &crate::syntax::Declarator,
        inner: &Expr,
    ) -> Option<Operand> {
        let to = specs.span;
        let width = match (&specs.base, &declarator.parts[..]) {
            (Base::Scalar(width), []) if specs.specifiers.is_empty() => Some(*width),
            (_, [_, ..]) => {
                self.fault(to.to(declarator.span), Rule::Cast, "a cast to a pointer");
                None
            }
            (Base::Void, _) => {
                self.fault_with(to, Rule::Cast, "a cast to void", "call the function without the cast");
                None
            }
            (Base::Other(name), _) => {
                self.fault(to, Rule::Cast, format!("a cast to `{name}`"));
                None
            }
            _ => {
                self.fault(to, Rule::Cast, "a cast to something that is no unsigned scalar");
                None
            }
        };
        let operand = self.operand(inner);
        let (width, operand) = (width?, operand?);
        let span = expr.span;
        let inner = match operand {
            // A constant stays a constant, and keeps its name with its value.
            Operand::Typed(ast::Expr { kind: Typed::Const(value, name), .. }) => {
                let kind = Typed::Const(value & width.max(), name.filter(|_| value <= width.max()));
                return Some(Operand::Typed(ast::Expr { kind, width, span }));
            }
            Operand::Typed(inner) => inner,
            plain @ Operand::Plain(..) => {
                // (uint64_t)NAME: the constant is written in the type the cast asks for.
                return self
                    .coerce(plain, width, "this cast's result")
                    .map(|typed| Operand::Typed(ast::Expr { span, ..typed }));
            }
        };
        Some(Operand::Typed(ast::Expr { kind: Typed::Cast(Box::new(inner)), width, span }))
    }
}
