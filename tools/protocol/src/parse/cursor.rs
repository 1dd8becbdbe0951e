//! Reading the words of one line.

use super::line::Token;
use diagnostics::{Span, Spanned};

/// The words of a line, one after the other.
pub struct Cursor<'a> {
    tokens: &'a [(Token, Span)],
    /// Where the line ends.
    end: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(tokens: &'a [(Token, Span)]) -> Self {
        Cursor { tokens, end: tokens.last().map_or(0, |(_, span)| span.end) }
    }

    pub fn is_done(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Where the next word stands, or the end of the line.
    pub fn span(&self) -> Span {
        self.tokens.first().map_or(self.end..self.end, |(_, span)| span.clone())
    }

    /// From the next word to the end of the line.
    pub fn rest(&self) -> Span {
        self.span().start..self.end
    }

    pub fn word(&mut self) -> Option<Spanned<String>> {
        match self.tokens.split_first() {
            Some(((Token::Word(word), span), rest)) => {
                self.tokens = rest;
                Some(Spanned::new(word.clone(), span.clone()))
            }
            _ => None,
        }
    }

    pub fn number(&mut self) -> Option<Spanned<u64>> {
        match self.tokens.split_first() {
            Some(((Token::Number(number), span), rest)) => {
                self.tokens = rest;
                Some(Spanned::new(*number, span.clone()))
            }
            _ => None,
        }
    }

    /// Steps over `symbol` if it is next.
    pub fn symbol(&mut self, symbol: &str) -> bool {
        match self.tokens.split_first() {
            Some(((Token::Symbol(found), _), rest)) if *found == symbol => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }
}
