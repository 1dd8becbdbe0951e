//! Source texts that diagnostics point into.
//!
//! Lines and columns count from 1; a column counts characters.

use std::path::{Path, PathBuf};

/// Byte offsets into a source text.
pub type Span = std::ops::Range<usize>;

/// A text file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub path: PathBuf,
    pub text: String,
}

/// A place of a source for people: from line and column to the column after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
}

impl Source {
    pub fn new(path: &Path, text: impl Into<String>) -> Self {
        Source { path: path.to_path_buf(), text: text.into() }
    }

    pub fn place(&self, span: &Span) -> Place {
        let (line, column) = self.point(span.start);
        let (end_line, end_column) = self.point(span.end.max(span.start));
        Place { line, column, end_line, end_column }
    }

    /// Line and column of a byte offset.
    pub fn point(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
    }

    /// The bytes of line `line` (from 1) without its indentation and end.
    pub fn line_span(&self, line: usize) -> Span {
        let start: usize = self.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let text = self.text[start..].lines().next().unwrap_or_default();
        let start = start + text.len() - text.trim_start().len();
        start..start + text.trim().len()
    }

    /// The text of line `line` (from 1), without its end.
    pub fn line(&self, line: usize) -> &str {
        self.text.lines().nth(line.saturating_sub(1)).unwrap_or("")
    }
}

/// A value together with the place where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

impl<T> Spanned<T> {
    pub fn new(value: T, span: Span) -> Self {
        Spanned { value, span }
    }
}
