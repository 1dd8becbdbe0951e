//! The expressions of `#if` and `#elif`.

use std::collections::HashMap;
use std::rc::Rc;

use super::{expand, Macro, MacroKind, MAX_NESTING};
use crate::lex::{precedence, Token, TokenKind};
use crate::number::parse_number;
use crate::rule::Rule;
use crate::source::Span;

type Failure = (Span, Rule, String);

/// What the kernel's Makefile chooses between: nothing else makes the text depend on the build.
pub const SWITCHES: [&str; 5] = ["LOCK_TICKET", "LOCK_MCS", "LOCK_BIG", "DEBUG", "TRACE"];

pub fn is_switch(name: &str) -> bool {
    SWITCHES.contains(&name)
}

/// The value of a condition's tokens. A switch that the build leaves out counts 0; any other name without a meaning is
/// refused: the compiler may know it.
pub fn evaluate(macros: &HashMap<Rc<str>, Macro>, word: Span, tokens: &[Token]) -> Result<i128, Failure> {
    let mut expanded = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        if token.is_name("defined") {
            let (name, length) = match &tokens[at + 1..] {
                [open, name, close, ..] if open.is("(") && close.is(")") => (name.name(), 4),
                [name, ..] => (name.name(), 2),
                [] => (None, 1),
            };
            let Some(name) = name else {
                return Err((token.span, Rule::Syntax, "`defined` needs a name".to_string()));
            };
            if !is_switch(name) {
                return Err((token.span, Rule::BuildSwitch, format!("`{name}` is no switch of the build")));
            }
            let digit = if macros.contains_key(name) { "1" } else { "0" };
            expanded.push(Token { kind: TokenKind::Number(Rc::from(digit)), ..token.clone() });
            at += length;
            continue;
        }
        let stands = |found: &Macro| found.kind != MacroKind::Function;
        if expand(macros, token, &stands, &mut Vec::new(), &mut expanded).is_err() {
            return Err((token.span, Rule::Syntax, "this macro expands without end".to_string()));
        }
        at += 1;
    }
    let mut evaluator = Evaluator { tokens: &expanded, at: 0, depth: 0, end: word };
    let value = evaluator.conditional()?;
    match evaluator.tokens.get(evaluator.at) {
        Some(token) => Err((token.span, Rule::Syntax, "this does not continue the condition".to_string())),
        None => Ok(value),
    }
}

struct Evaluator<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    end: Span,
}

impl Evaluator<'_> {
    fn span(&self) -> Span {
        self.tokens.get(self.at).map_or(self.end, |token| token.span)
    }

    fn take(&mut self, punct: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|token| token.is(punct));
        self.at += usize::from(found);
        found
    }

    fn conditional(&mut self) -> Result<i128, Failure> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err((self.span(), Rule::Syntax, "this condition nests too deep".to_string()));
        }
        let value = self.choice();
        self.depth -= 1;
        value
    }

    fn choice(&mut self) -> Result<i128, Failure> {
        let condition = self.binary(1)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.conditional()?;
        if !self.take(":") {
            return Err((self.span(), Rule::Syntax, "`:` is missing here".to_string()));
        }
        let no = self.conditional()?;
        Ok(if condition != 0 { yes } else { no })
    }

    fn binary(&mut self, lowest: u8) -> Result<i128, Failure> {
        let mut left = self.unary()?;
        loop {
            let operator = match self.tokens.get(self.at).map(|token| &token.kind) {
                Some(TokenKind::Punct(punct)) => *punct,
                _ => return Ok(left),
            };
            let Some(level) = precedence(operator).filter(|level| *level >= lowest) else { return Ok(left) };
            let span = self.span();
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = apply(operator, left, right).ok_or((span, Rule::Syntax, "this has no value".to_string()))?;
        }
    }

    fn unary(&mut self) -> Result<i128, Failure> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err((self.span(), Rule::Syntax, "this condition nests too deep".to_string()));
        }
        let value = self.operand();
        self.depth -= 1;
        value
    }

    fn operand(&mut self) -> Result<i128, Failure> {
        let span = self.span();
        let missing = || (span, Rule::Syntax, "a number or a name is missing here".to_string());
        let kind = self.tokens.get(self.at).map(|token| token.kind.clone()).ok_or_else(missing)?;
        self.at += 1;
        match kind {
            TokenKind::Number(text) => match parse_number(&text) {
                Ok(number) => Ok(i128::from(number.value)),
                Err(message) => Err((span, Rule::Syntax, message)),
            },
            TokenKind::Char(Some(value)) => Ok(i128::from(value)),
            TokenKind::Name(name) if is_switch(&name) => Ok(0),
            TokenKind::Name(name) => {
                Err((span, Rule::BuildSwitch, format!("`{name}` is neither a switch of the build nor a constant")))
            }
            TokenKind::Punct("!") => Ok(i128::from(self.unary()? == 0)),
            TokenKind::Punct("-") => Ok(-self.unary()?),
            TokenKind::Punct("+") => self.unary(),
            TokenKind::Punct("~") => Ok(!self.unary()?),
            TokenKind::Punct("(") => {
                let value = self.conditional()?;
                if self.take(")") {
                    Ok(value)
                } else {
                    Err((self.span(), Rule::Syntax, "`)` is missing here".to_string()))
                }
            }
            _ => Err(missing()),
        }
    }
}

fn apply(operator: &str, a: i128, b: i128) -> Option<i128> {
    // 64-bit operands: no result leaves 128 bits except a product of products.
    let shift = u32::try_from(b).ok().filter(|count| *count < 64);
    let value = match operator {
        "||" => i128::from(a != 0 || b != 0),
        "&&" => i128::from(a != 0 && b != 0),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "==" => i128::from(a == b),
        "!=" => i128::from(a != b),
        "<" => i128::from(a < b),
        ">" => i128::from(a > b),
        "<=" => i128::from(a <= b),
        ">=" => i128::from(a >= b),
        "<<" => a.checked_mul(1 << shift?)?,
        ">>" => a >> shift?,
        "+" => a.checked_add(b)?,
        "-" => a.checked_sub(b)?,
        "*" => a.checked_mul(b)?,
        "/" => a.checked_div(b)?,
        "%" => a.checked_rem(b)?,
        _ => return None,
    };
    (value.unsigned_abs() <= u128::from(u64::MAX)).then_some(value)
}
