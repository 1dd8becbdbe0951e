//! Expressions, by precedence.

use super::{broken_expr, Parsed, Parser, MAX_HEIGHT, REFUSED_HEIGHT};
use crate::lex::{precedence, TokenKind};
use crate::rule::Rule;
use crate::source::Span;
use crate::syntax::{Declarator, Expr, ExprKind};

/// A binary operator, with how tightly it binds.
fn operator(kind: &TokenKind) -> Option<(&'static str, u8)> {
    let TokenKind::Punct(punct) = kind else { return None };
    precedence(punct).map(|level| (*punct, level))
}

impl Parser<'_> {
    /// Builds a node; one that grew too high becomes a reported, broken leaf.
    fn node(&mut self, kind: ExprKind, span: Span, children: &[u32]) -> Expr {
        let height = children.iter().max().map_or(0, |height| height + 1);
        if height <= MAX_HEIGHT {
            return Expr { kind, span, height };
        }
        if height < REFUSED_HEIGHT {
            self.fault(span, Rule::Nesting, "this expression is too long");
        }
        Expr { height: REFUSED_HEIGHT, ..broken_expr(span) }
    }

    /// An expression, comma operator included.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let mut left = self.assignment()?;
        while self.take(",") {
            let right = self.assignment()?;
            let span = left.span.to(right.span);
            let heights = [left.height, right.height];
            left = self.node(ExprKind::Comma(Box::new(left), Box::new(right)), span, &heights);
        }
        Ok(left)
    }

    pub(super) fn assignment(&mut self) -> Parsed<Expr> {
        self.enter()?;
        let left = self.conditional()?;
        let operator = match self.token().kind {
            TokenKind::Punct(punct @ ("=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | ">>=")) => {
                punct
            }
            _ => {
                self.leave();
                return Ok(left);
            }
        };
        self.next();
        let right = self.assignment()?;
        self.leave();
        let span = left.span.to(right.span);
        let heights = [left.height, right.height];
        Ok(self.node(ExprKind::Assign(operator, Box::new(left), Box::new(right)), span, &heights))
    }

    pub(super) fn conditional(&mut self) -> Parsed<Expr> {
        let condition = self.binary(1)?;
        if !self.take("?") {
            return Ok(condition);
        }
        self.enter()?;
        let yes = self.expression()?;
        self.expect(":")?;
        let no = self.conditional()?;
        self.leave();
        let span = condition.span.to(no.span);
        let heights = [condition.height, yes.height, no.height];
        let kind = ExprKind::Conditional(Box::new(condition), Box::new(yes), Box::new(no));
        Ok(self.node(kind, span, &heights))
    }

    fn binary(&mut self, lowest: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        while let Some((operator, level)) = operator(&self.token().kind).filter(|(_, level)| *level >= lowest) {
            let at = self.span();
            self.next();
            let right = self.binary(level + 1)?;
            let span = left.span.to(right.span);
            let heights = [left.height, right.height];
            left = self.node(ExprKind::Binary(operator, at, Box::new(left), Box::new(right)), span, &heights);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        self.enter()?;
        let expr = self.unary_inner()?;
        self.leave();
        Ok(expr)
    }

    fn unary_inner(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if let TokenKind::Punct(operator @ ("-" | "~" | "!" | "+" | "&" | "*" | "++" | "--")) = self.token().kind {
            self.next();
            let operand = self.unary()?;
            let span = start.to(operand.span);
            let heights = [operand.height];
            let operand = Box::new(operand);
            let kind = match operator {
                "&" => ExprKind::AddressOf,
                "*" => ExprKind::Dereference,
                "++" | "--" => ExprKind::Step(operator, operand),
                _ => ExprKind::Unary(operator, operand),
            };
            return Ok(self.node(kind, span, &heights));
        }
        if matches!(self.token().name(), Some("sizeof" | "_Alignof" | "__alignof__")) {
            return self.sizeof();
        }
        if self.is("(") {
            self.next();
            if self.starts_type() {
                return self.cast(start);
            }
            if self.is("{") {
                self.next();
                self.skip_to_closing("{", "}");
                self.expect(")")?;
                return Ok(self.node(ExprKind::StatementExpr, start.to(self.last_span()), &[]));
            }
            let inner = self.expression()?;
            self.expect(")")?;
            let heights = [inner.height];
            let paren = self.node(ExprKind::Paren(Box::new(inner)), start.to(self.last_span()), &heights);
            return self.postfix(paren);
        }
        let primary = self.primary()?;
        self.postfix(primary)
    }

    fn sizeof(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.next();
        if self.take("(") {
            self.skip_to_closing("(", ")");
            let whole = self.node(ExprKind::Sizeof, start.to(self.last_span()), &[]);
            return self.postfix(whole);
        }
        let operand = self.unary()?;
        Ok(self.node(ExprKind::Sizeof, start.to(operand.span), &[operand.height]))
    }

    /// A cast or a compound literal, behind its opening parenthesis.
    fn cast(&mut self, start: Span) -> Parsed<Expr> {
        let specs = Box::new(self.specs()?);
        let nothing = Declarator { name: None, parts: Vec::new(), span: self.span() };
        let declarator = Box::new(if self.is(")") { nothing } else { self.declarator()? });
        if declarator.name.is_some() {
            self.fault(declarator.span, Rule::Syntax, "a cast names a type only");
        }
        self.expect(")")?;
        if self.take("{") {
            self.skip_to_closing("{", "}");
            let literal = self.node(ExprKind::CompoundLiteral, start.to(self.last_span()), &[]);
            return self.postfix(literal);
        }
        let operand = self.unary()?;
        let span = start.to(operand.span);
        let heights = [operand.height];
        Ok(self.node(ExprKind::Cast(specs, declarator, Box::new(operand)), span, &heights))
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.token();
        let kind = match &token.kind {
            TokenKind::Number(text) => ExprKind::Number(text.clone()),
            TokenKind::Char(value) => ExprKind::Char(*value),
            TokenKind::Str(_) => {
                // Neighbouring strings are one.
                while matches!(self.ahead(1).kind, TokenKind::Str(_)) {
                    self.next();
                }
                ExprKind::Str
            }
            TokenKind::Name(text) if text.starts_with("__builtin_") || &**text == "_Generic" => {
                self.fault(token.span, Rule::Extension, format!("`{text}` has no meaning in the subset"));
                self.next();
                if self.take("(") {
                    self.skip_to_closing("(", ")");
                }
                return Ok(broken_expr(token.span));
            }
            TokenKind::Name(text) if !super::is_reserved(text) => ExprKind::Name(text.clone()),
            _ => return self.expected("an expression"),
        };
        self.next();
        Ok(self.node(kind, token.span, &[]))
    }

    fn postfix(&mut self, mut expr: Expr) -> Parsed<Expr> {
        loop {
            let start = expr.span;
            let mut heights = vec![expr.height];
            let kind = if self.take("(") {
                let mut arguments = Vec::new();
                if !self.is(")") {
                    arguments.push(self.assignment()?);
                    while self.take(",") {
                        arguments.push(self.assignment()?);
                    }
                }
                self.expect(")")?;
                heights.extend(arguments.iter().map(|argument| argument.height));
                ExprKind::Call(Box::new(expr), arguments)
            } else if self.take("[") {
                let index = self.expression()?;
                self.expect("]")?;
                heights.push(index.height);
                ExprKind::Index(Box::new(expr), Box::new(index))
            } else if self.take(".") {
                ExprKind::Field(Box::new(expr), self.name()?)
            } else if self.take("->") {
                self.name()?;
                ExprKind::Arrow(Box::new(expr))
            } else if self.is("++") || self.is("--") {
                let operator = if self.is("++") { "++" } else { "--" };
                self.next();
                ExprKind::Step(operator, Box::new(expr))
            } else {
                return Ok(expr);
            };
            expr = self.node(kind, start.to(self.last_span()), &heights);
        }
    }
}
