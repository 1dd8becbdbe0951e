//! Macros: definitions and their expansion as text.

use std::collections::HashMap;
use std::rc::Rc;

use super::MAX_NESTING;
use crate::lex::{Token, TokenKind};
use crate::source::Span;
use crate::words::is_beyond_expressions;

const MAX_EXPANSION: usize = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacroKind {
    /// No body: an include guard or a build switch.
    Empty,
    /// An expression; stays a name.
    Value,
    /// Anything else; expanded as text.
    Text,
    Function,
}

#[derive(Clone, Debug)]
pub struct Macro {
    pub name: Rc<str>,
    pub span: Span,
    pub body: Vec<Token>,
    pub kind: MacroKind,
}

pub(super) fn is_value(body: &[Token]) -> bool {
    let expression = body.iter().all(|token| match &token.kind {
        TokenKind::Number(_) | TokenKind::Char(_) => true,
        TokenKind::Name(name) => !is_beyond_expressions(name),
        TokenKind::Punct(punct) => !matches!(*punct, "{" | "}" | ";" | "#" | "##" | "," | "..." | "[" | "]"),
        TokenKind::Str(_) | TokenKind::End => false,
    });
    let lone_type = matches!(body, [only] if only.name().is_some_and(|n| crate::ast::Width::from_name(n).is_some()));
    expression && !lone_type
}

/// Replaces a name by its macro's body, again and again, as the preprocessor of C does. `stands` says which
/// macros are replaced. Fails if the text grows without end.
pub fn expand(
    macros: &HashMap<Rc<str>, Macro>,
    token: &Token,
    stands: &dyn Fn(&Macro) -> bool,
    active: &mut Vec<Rc<str>>,
    out: &mut Vec<Token>,
) -> Result<(), ()> {
    let found = token.name().and_then(|name| macros.get(name)).filter(|found| stands(found));
    let Some(found) = found.filter(|found| !active.contains(&found.name)) else {
        out.push(token.clone());
        return if out.len() > MAX_EXPANSION { Err(()) } else { Ok(()) };
    };
    if active.len() >= MAX_NESTING {
        return Err(());
    }
    active.push(found.name.clone());
    for inner in &found.body {
        let placed = Token { span: token.span, ..inner.clone() };
        expand(macros, &placed, stands, active, out)?;
    }
    active.pop();
    Ok(())
}
