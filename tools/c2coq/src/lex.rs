//! The lexer: from text to tokens. Keywords stay names, directives ordinary tokens.

use std::rc::Rc;

use crate::fault::{Fault, Faults};
use crate::rule::Rule;
use crate::source::{FileId, Sources, Span};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Name(Rc<str>),
    /// A number as written, suffix included.
    Number(Rc<str>),
    /// A character constant; its value, or `None` if it holds not exactly one ASCII character.
    Char(Option<u8>),
    Str(Rc<str>),
    Punct(&'static str),
    End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
    /// First token of its line (after continuation lines are joined).
    pub first: bool,
    /// White space stands before it: tells `#define X (1)` from `#define X(a)`.
    pub spaced: bool,
}

impl Token {
    pub fn is(&self, punct: &str) -> bool {
        matches!(self.kind, TokenKind::Punct(p) if p == punct)
    }

    pub fn name(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Name(name) => Some(name),
            _ => None,
        }
    }

    pub fn is_name(&self, name: &str) -> bool {
        self.name() == Some(name)
    }
}

/// Longest first, so that the first match is the token.
const PUNCTUATORS: &[&str] = &[
    "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "*=", "/=", "%=", "+=",
    "-=", "&=", "^=", "|=", "##", "[", "]", "(", ")", "{", "}", ".", "&", "*", "+", "-", "~", "!", "/", "%", "<", ">",
    "^", "|", "?", ":", ";", "=", ",", "#",
];

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    file: FileId,
    first: bool,
    spaced: bool,
    tokens: Vec<Token>,
    faults: Vec<Fault>,
}

/// The tokens of a file, without an end marker.
pub fn lex(sources: &Sources, file: FileId, faults: &mut Faults) -> Vec<Token> {
    let text = sources.get(file).text.clone();
    let mut lexer = Lexer {
        text: &text,
        bytes: text.as_bytes(),
        at: 0,
        file,
        first: true,
        spaced: false,
        tokens: Vec::new(),
        faults: Vec::new(),
    };
    while lexer.at < lexer.bytes.len() {
        lexer.step();
    }
    for fault in lexer.faults {
        faults.push(sources, fault);
    }
    lexer.tokens
}

impl Lexer<'_> {
    fn span(&self, start: usize) -> Span {
        Span { file: self.file, start: start as u32, end: self.at as u32 }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn fault(&mut self, start: usize, rule: Rule, message: &str) {
        let span = self.span(start);
        self.faults.push(Fault { rule, span, message: message.to_string(), remedy: None });
    }

    fn push(&mut self, start: usize, kind: TokenKind) {
        let span = self.span(start);
        self.tokens.push(Token { kind, span, first: self.first, spaced: self.spaced });
        self.first = false;
        self.spaced = false;
    }

    fn step(&mut self) {
        let start = self.at;
        match self.peek(0) {
            b'\n' => {
                self.at += 1;
                self.first = true;
                self.spaced = true;
            }
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {
                self.at += 1;
                self.spaced = true;
            }
            b'\\' if self.peek(1) == b'\n' || (self.peek(1) == b'\r' && self.peek(2) == b'\n') => {
                self.at += if self.peek(1) == b'\r' { 3 } else { 2 };
                self.spaced = true;
            }
            b'/' if self.peek(1) == b'/' => {
                while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                    self.at += 1;
                }
                self.spaced = true;
            }
            b'/' if self.peek(1) == b'*' => self.block_comment(start),
            b'"' => self.quoted(start, b'"'),
            b'\'' => self.quoted(start, b'\''),
            c if c.is_ascii_digit() || (c == b'.' && self.peek(1).is_ascii_digit()) => self.number(start),
            c if c.is_ascii_alphabetic() || c == b'_' => {
                while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'_' {
                    self.at += 1;
                }
                let name = Rc::from(&self.text[start..self.at]);
                self.push(start, TokenKind::Name(name));
            }
            _ => self.punctuator(start),
        }
    }

    fn block_comment(&mut self, start: usize) {
        match self.text[self.at + 2..].find("*/") {
            Some(length) => self.at += length + 4,
            None => {
                self.at = self.bytes.len();
                self.fault(start, Rule::Syntax, "this comment is never closed");
            }
        }
        self.spaced = true;
    }

    fn quoted(&mut self, start: usize, quote: u8) {
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            match self.peek(0) {
                b'\\' if self.at + 1 < self.bytes.len() && self.peek(1) != b'\n' => {
                    self.at += 1;
                    bytes.push(self.escape());
                }
                c if c == quote => {
                    self.at += 1;
                    break;
                }
                b'\n' | 0 if self.at >= self.bytes.len() || self.peek(0) == b'\n' => {
                    self.fault(start, Rule::Syntax, "this quotation is not closed on its line");
                    break;
                }
                c => {
                    self.at += 1;
                    bytes.push(Some(c));
                }
            }
        }
        let kind = if quote == b'"' {
            let end = if self.at > start + 1 && self.bytes[self.at - 1] == quote { self.at - 1 } else { self.at };
            TokenKind::Str(Rc::from(self.text.get(start + 1..end).unwrap_or("")))
        } else {
            match bytes[..] {
                [Some(c)] if c < 0x80 => TokenKind::Char(Some(c)),
                _ => TokenKind::Char(None),
            }
        };
        self.push(start, kind);
    }

    /// One escape sequence, its backslash already passed. `None`: not one this subset knows.
    fn escape(&mut self) -> Option<u8> {
        let c = self.peek(0);
        self.at += 1;
        Some(match c {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'\\' | b'\'' | b'"' | b'?' => c,
            b'0'..=b'7' => {
                let mut value = u32::from(c - b'0');
                for _ in 0..2 {
                    if matches!(self.peek(0), b'0'..=b'7') {
                        value = value * 8 + u32::from(self.peek(0) - b'0');
                        self.at += 1;
                    }
                }
                return u8::try_from(value).ok();
            }
            b'x' => {
                let mut value: u32 = 0;
                while self.peek(0).is_ascii_hexdigit() {
                    let digit = char::from(self.peek(0)).to_digit(16)?;
                    value = value.saturating_mul(16).saturating_add(digit);
                    self.at += 1;
                }
                return u8::try_from(value).ok();
            }
            _ => {
                // Step over the rest of a wider character, so that the next slice starts at a boundary.
                while self.at < self.bytes.len() && !self.text.is_char_boundary(self.at) {
                    self.at += 1;
                }
                return None;
            }
        })
    }

    fn number(&mut self, start: usize) {
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'.' || self.peek(0) == b'_' {
            let exponent = matches!(self.peek(0), b'e' | b'E' | b'p' | b'P');
            let hexadecimal = matches!(self.bytes.get(start + 1), Some(b'x' | b'X'));
            let signed = exponent && matches!(self.peek(1), b'+' | b'-');
            let power = matches!(self.peek(0), b'p' | b'P');
            self.at += if signed && (!hexadecimal || power) { 2 } else { 1 };
        }
        let text = Rc::from(&self.text[start..self.at]);
        self.push(start, TokenKind::Number(text));
    }

    fn punctuator(&mut self, start: usize) {
        let rest = &self.text[start..];
        if let Some(punct) = PUNCTUATORS.iter().find(|punct| rest.starts_with(**punct)) {
            self.at += punct.len();
            self.push(start, TokenKind::Punct(punct));
            return;
        }
        self.at += rest.chars().next().map_or(1, char::len_utf8);
        self.fault(start, Rule::Syntax, "this character has no meaning in C");
        self.spaced = true;
    }
}

/// How tightly a binary operator binds.
pub fn precedence(operator: &str) -> Option<u8> {
    Some(match operator {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | ">" | "<=" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}
