//! The text of a protocol, as diagnostics point into it.
//!
//! Knows: how byte offsets become lines and columns (both from 1; a column counts characters).

use std::path::{Path, PathBuf};

/// Byte offsets into a source text.
pub type Span = std::ops::Range<usize>;

/// A text file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub path: PathBuf,
    pub text: String,
}

impl Source {
    pub fn new(path: &Path, text: impl Into<String>) -> Self {
        Source { path: path.to_path_buf(), text: text.into() }
    }

    /// Line and column of a byte offset.
    pub fn point(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
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
