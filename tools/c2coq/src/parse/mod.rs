//! The parser: from tokens to `crate::syntax`. It covers the C that people write, so that constructs outside the subset can
//! be reported precisely. After a syntax fault the parser resumes at the next statement or declaration.

mod declaration;
mod expression;
mod statement;

use std::collections::HashSet;
use std::rc::Rc;

use crate::ast::Width;
use crate::fault::{Fault, Faults};
use crate::lex::{Token, TokenKind};
use crate::preprocess::MAX_NESTING;
use crate::rule::Rule;
use crate::source::{Sources, Span};
use crate::syntax::{Expr, ExprKind, Item, Name};
use crate::words;

/// A syntax fault was reported; the caller resynchronises.
pub(crate) struct Broken;
pub(crate) type Parsed<T> = Result<T, Broken>;

pub struct Parser<'a> {
    sources: &'a Sources,
    faults: &'a mut Faults,
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    /// Names that typedefs made types.
    types: HashSet<Rc<str>>,
    /// A brace is missing or in excess somewhere: layout tells where functions end.
    unbalanced: bool,
}

/// Parses a whole file. `tokens` ends with an end marker.
pub fn parse(sources: &Sources, tokens: &[Token], faults: &mut Faults) -> Vec<Item> {
    let mut parser = Parser::new(sources, tokens, faults);
    let mut items = Vec::new();
    while !parser.at_end() {
        let before = parser.at;
        match parser.item() {
            Ok(Some(item)) => items.push(item),
            Ok(None) => {}
            Err(Broken) => parser.skip_item(before),
        }
        if parser.at == before {
            parser.at += 1;
        }
    }
    items
}

/// Parses tokens that must be one expression; `None` after a fault.
pub fn parse_expression(sources: &Sources, tokens: &[Token], faults: &mut Faults) -> Option<Expr> {
    let mut parser = Parser::new(sources, tokens, faults);
    let expr = parser.expression().ok()?;
    if !parser.at_end() {
        let _ = parser.expected::<()>("an operator");
        return None;
    }
    Some(expr)
}

impl<'a> Parser<'a> {
    fn new(sources: &'a Sources, tokens: &'a [Token], faults: &'a mut Faults) -> Parser<'a> {
        let open = tokens.iter().filter(|token| token.is("{")).count();
        let close = tokens.iter().filter(|token| token.is("}")).count();
        Parser { sources, faults, tokens, at: 0, depth: 0, types: HashSet::new(), unbalanced: open != close }
    }

    fn token(&self) -> &'a Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn ahead(&self, count: usize) -> &'a Token {
        &self.tokens[(self.at + count).min(self.tokens.len() - 1)]
    }

    fn at_end(&self) -> bool {
        self.token().kind == TokenKind::End
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// Span of the token just passed.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1).min(self.tokens.len() - 1)].span
    }

    fn next(&mut self) {
        if !self.at_end() {
            self.at += 1;
        }
    }

    fn is(&self, punct: &str) -> bool {
        self.token().is(punct)
    }

    fn is_name(&self, name: &str) -> bool {
        self.token().is_name(name)
    }

    fn take(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        if found {
            self.next();
        }
        found
    }

    fn take_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.next();
        }
        found
    }

    fn fault(&mut self, span: Span, rule: Rule, message: impl Into<String>) {
        self.faults.push(self.sources, Fault { rule, span, message: message.into(), remedy: None });
    }

    /// Reports that something else was expected here.
    fn expected<T>(&mut self, what: &str) -> Parsed<T> {
        let found = match &self.token().kind {
            TokenKind::End => "the end of the file".to_string(),
            TokenKind::Name(text) | TokenKind::Number(text) => format!("`{text}`"),
            TokenKind::Char(_) => "a character".to_string(),
            TokenKind::Str(_) => "a string".to_string(),
            TokenKind::Punct(punct) => format!("`{punct}`"),
        };
        // What is missing stands behind the last token, where the writer looks for it.
        let new_line = self.at > 0 && self.token().first;
        let span = if new_line || self.at_end() { self.last_span() } else { self.span() };
        let place = if new_line || self.at_end() { "behind this" } else { "here" };
        self.fault(span, Rule::Syntax, format!("{what} is expected {place}, but {found} follows"));
        Err(Broken)
    }

    fn expect(&mut self, punct: &str) -> Parsed<()> {
        if self.take(punct) {
            Ok(())
        } else {
            self.expected(&format!("`{punct}`"))
        }
    }

    fn name(&mut self) -> Parsed<Name> {
        let token = self.token();
        match &token.kind {
            TokenKind::Name(text) if !is_reserved(text) => {
                self.next();
                Ok(Name { text: text.clone(), span: token.span })
            }
            _ => self.expected("a name"),
        }
    }

    /// Enters one level of nesting; reports and fails where that goes too deep.
    fn enter(&mut self) -> Parsed<()> {
        if self.depth >= MAX_NESTING {
            self.fault(self.span(), Rule::Nesting, "this nests too deep");
            return Err(Broken);
        }
        self.depth += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn trusted(&self) -> bool {
        self.sources.trusted(self.span().file)
    }

    /// Passes everything up to the bracket that closes the one just passed.
    fn skip_to_closing(&mut self, open: &str, close: &str) {
        let mut depth = 1;
        while !self.at_end() && depth > 0 {
            if self.is(open) {
                depth += 1;
            } else if self.is(close) {
                depth -= 1;
            }
            self.next();
        }
    }

    /// A declaration that begins in the first column: where a reader, too, would resume.
    fn at_new_item(&self) -> bool {
        self.unbalanced && self.token().first && self.sources.at_line_start(self.span()) && self.starts_declaration()
    }

    /// Passes what cannot be read of an item that began at token `begin`.
    fn skip_item(&mut self, begin: usize) {
        self.depth = 0;
        let mut depth = 0usize;
        while !self.at_end() {
            if self.at > begin && self.at_new_item() {
                return;
            }
            if self.is("{") {
                depth += 1;
            } else if self.is("}") {
                depth = depth.saturating_sub(1);
            }
            let done = depth == 0 && (self.is(";") || self.is("}"));
            self.next();
            if done {
                self.take(";");
                return;
            }
        }
    }
}

/// Height above which an expression is refused, so that walks over it cannot run out of stack.
const MAX_HEIGHT: u32 = 2 * MAX_NESTING as u32;
/// Height of what was refused for its height: whatever is built on it is not reported again.
const REFUSED_HEIGHT: u32 = u32::MAX / 2;

fn broken_expr(span: Span) -> Expr {
    Expr { kind: ExprKind::Broken, span, height: 0 }
}

fn scalar(name: &str) -> Option<Width> {
    Width::from_name(name)
}

/// Words that cannot be names.
fn is_reserved(name: &str) -> bool {
    words::is_reserved(name) || scalar(name).is_some()
}
