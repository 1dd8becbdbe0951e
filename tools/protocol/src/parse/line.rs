//! Lines of a text: their depth, words and comment.

use crate::codes::Code;
use crate::findings::Findings;
use diagnostics::{Diagnostic, Span};

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    Word(String),
    Number(u64),
    Symbol(&'static str),
}

/// One line that says something, or a comment alone on its line (then without tokens).
#[derive(Debug, Clone)]
pub struct Line {
    /// Columns before the first word.
    pub depth: usize,
    /// From the first word to the last.
    pub span: Span,
    pub tokens: Vec<(Token, Span)>,
    pub comment: Option<String>,
}

/// Longest first: `->` before any shorter symbol.
const SYMBOLS: &[&str] = &["->", "..", "?", "!", ",", "[", "]"];

/// The lines of a text. Faults go to `report`, and the rest of the line is read all the same.
pub fn lines(text: &str, report: &mut Findings) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut offset = 0;
    for text in text.split_inclusive('\n') {
        lines.extend(line(text.trim_end_matches(['\n', '\r']), offset, report));
        offset += text.len();
    }
    lines
}

fn line(text: &str, offset: usize, report: &mut Findings) -> Option<Line> {
    let depth = text.len() - text.trim_start_matches([' ', '\t']).len();
    if let Some(tab) = text[..depth].find('\t') {
        let remedy = "use spaces, two for each depth";
        let span = offset + tab..offset + tab + 1;
        report.push(Diagnostic::new(Code::Indentation, "a tab at the start of a line", remedy).at(
            &report.source,
            &span,
            "tab",
        ));
    }
    let (code, comment) = match text.find('#') {
        Some(hash) => (&text[..hash], Some(text[hash..].trim_start_matches('#').trim().to_string())),
        None => (text, None),
    };
    let tokens = tokens(code, depth, offset, report);
    let start = offset + depth;
    let end = tokens.last().map_or(start, |(_, span)| span.end);
    (!tokens.is_empty() || comment.is_some()).then_some(Line { depth, span: start..end, tokens, comment })
}

fn tokens(code: &str, depth: usize, offset: usize, report: &mut Findings) -> Vec<(Token, Span)> {
    let mut tokens = Vec::new();
    let mut at = depth.min(code.len());
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let token = if length > 0 {
            word(&rest[..length], offset + at, report)
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            length = symbol.len();
            Some(Token::Symbol(symbol))
        } else {
            length = first.len_utf8();
            if !first.is_whitespace() {
                let span = offset + at..offset + at + length;
                let remedy = "names are letters, digits and `_`; a comment begins with `#`";
                let message = format!("`{}` means nothing here", first.escape_debug());
                report.push(Diagnostic::new(Code::Syntax, message, remedy).at(&report.source, &span, "this character"));
            }
            None
        };
        tokens.extend(token.map(|token| (token, offset + at..offset + at + length)));
        at += length;
    }
    tokens
}

/// A word; one that begins with a digit is a number, decimal or `0x` hexadecimal.
fn word(word: &str, start: usize, report: &mut Findings) -> Option<Token> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(Token::Word(word.to_string()));
    }
    let digits = word.replace('_', "");
    let number = match digits.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => digits.parse(),
    };
    if number.is_err() {
        let remedy = "write a number below 2^64, decimal or hexadecimal with 0x; names begin with a letter";
        let message = format!("`{word}` is neither a number nor a name");
        report.push(Diagnostic::new(Code::Syntax, message, remedy).at(
            &report.source,
            &(start..start + word.len()),
            "this word",
        ));
    }
    number.ok().map(Token::Number)
}
