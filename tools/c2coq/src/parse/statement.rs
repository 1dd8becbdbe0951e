//! Statements and blocks.

use super::{Broken, Parsed, Parser};
use crate::rule::Rule;
use crate::syntax::*;

impl Parser<'_> {
    /// The body of a function, resilient: a missing brace ends it where the next function begins.
    pub(super) fn function_body(&mut self) -> Parsed<Block> {
        self.depth = 0;
        let block = self.block();
        self.depth = 0;
        block
    }

    fn block(&mut self) -> Parsed<Block> {
        let start = self.span();
        self.expect("{")?;
        self.enter()?;
        let depth = self.depth;
        let mut statements = Vec::new();
        while !self.is("}") {
            if self.at_end() || self.at_new_item() {
                // The function's own block tells that a brace is missing, once.
                self.leave();
                if self.depth == 0 {
                    return self.expected("`}`");
                }
                return Ok(Block { statements, span: start });
            }
            let before = self.at;
            match self.statement() {
                Ok(statement) => statements.push(statement),
                Err(Broken) => {
                    let span = self.span();
                    self.skip_statement();
                    statements.push(Statement { kind: StatementKind::Broken, span });
                }
            }
            self.depth = depth;
            if self.at == before {
                self.next();
            }
        }
        self.next();
        self.leave();
        Ok(Block { statements, span: start.to(self.last_span()) })
    }

    /// Passes the rest of a statement that could not be read.
    pub(super) fn skip_statement(&mut self) {
        let mut depth = 0usize;
        while !self.at_end() && !self.at_new_item() {
            if self.is("{") {
                depth += 1;
            } else if self.is("}") {
                if depth == 0 {
                    return;
                }
                depth -= 1;
            }
            let done = depth == 0 && (self.is(";") || self.is("}"));
            self.next();
            if done {
                return;
            }
        }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        self.enter()?;
        let start = self.span();
        let kind = self.statement_kind()?;
        self.leave();
        Ok(Statement { kind, span: start.to(self.last_span()) })
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        if self.is("{") {
            return Ok(StatementKind::Block(self.block()?));
        }
        if self.take(";") {
            return Ok(StatementKind::Empty);
        }
        match self.token().name().unwrap_or("") {
            "if" => self.if_statement(),
            "while" => {
                self.next();
                let condition = self.head()?;
                Ok(StatementKind::While(condition, Box::new(self.statement()?)))
            }
            "do" => {
                self.next();
                let body = self.statement()?;
                if !self.take_name("while") {
                    return self.expected("`while`");
                }
                let condition = self.head()?;
                self.expect(";")?;
                Ok(StatementKind::DoWhile(condition, Box::new(body)))
            }
            "for" => self.for_statement(),
            "switch" => {
                self.next();
                let value = self.head()?;
                Ok(StatementKind::Switch(value, Box::new(self.statement()?)))
            }
            "case" | "default" => {
                if self.take_name("case") {
                    self.conditional()?;
                } else {
                    self.next();
                }
                self.expect(":")?;
                self.labelled(Label::Case)
            }
            "goto" => {
                self.next();
                self.take("*");
                self.expression()?;
                self.expect(";")?;
                Ok(StatementKind::Goto)
            }
            "break" => {
                self.next();
                self.expect(";")?;
                Ok(StatementKind::Break)
            }
            "continue" => {
                self.next();
                self.expect(";")?;
                Ok(StatementKind::Continue)
            }
            "return" => {
                self.next();
                let value = if self.is(";") { None } else { Some(self.expression()?) };
                self.expect(";")?;
                Ok(StatementKind::Return(value))
            }
            "else" => self.expected("a statement (no `if` stands before this `else`)"),
            "asm" | "__asm__" | "__asm" => {
                self.skip_assembly();
                Ok(StatementKind::Broken)
            }
            "_Static_assert" | "static_assert" => {
                let span = self.span();
                self.static_assert()?;
                self.fault(span, Rule::Statement, "an assertion about constants stands at file scope");
                Ok(StatementKind::Broken)
            }
            _ if self.token().name().is_some() && self.ahead(1).is(":") => {
                self.next();
                self.next();
                self.labelled(Label::Named)
            }
            _ => self.simple(),
        }
    }

    fn labelled(&mut self, label: Label) -> Parsed<StatementKind> {
        let span = self.last_span();
        let inner = if self.is("}") { Statement { kind: StatementKind::Empty, span } } else { self.statement()? };
        Ok(StatementKind::Label(label, Box::new(inner)))
    }

    /// A declaration or an expression, with its semicolon.
    fn simple(&mut self) -> Parsed<StatementKind> {
        if self.starts_declaration() {
            let specs = self.specs()?;
            return Ok(StatementKind::Declaration(self.declaration_rest(specs, None)?));
        }
        let expr = self.expression()?;
        self.expect(";")?;
        Ok(StatementKind::Expr(expr))
    }

    /// A condition in parentheses.
    fn head(&mut self) -> Parsed<Expr> {
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        Ok(condition)
    }

    fn if_statement(&mut self) -> Parsed<StatementKind> {
        self.next();
        let condition = self.head()?;
        let yes = Box::new(self.statement()?);
        let no = if self.take_name("else") { Some(Box::new(self.statement()?)) } else { None };
        Ok(StatementKind::If(condition, yes, no))
    }

    fn for_statement(&mut self) -> Parsed<StatementKind> {
        self.next();
        self.expect("(")?;
        let start = self.span();
        let init = if self.take(";") {
            None
        } else {
            let kind = self.simple()?;
            Some(Statement { kind, span: start.to(self.last_span()) })
        };
        let condition = if self.is(";") { None } else { Some(self.expression()?) };
        self.expect(";")?;
        let step = if self.is(")") { None } else { Some(self.expression()?) };
        self.expect(")")?;
        let body = self.statement()?;
        Ok(StatementKind::For(Box::new(ForHead { init, condition, step }), Box::new(body)))
    }
}
