//! Reads a TOML text against a schema: types, units, unknown and missing keys. A faulty value is reported and left out; what
//! remains is used to find further faults. `check` says whether the values make sense together.

mod document;
mod field;

pub use document::{read, Document, TableData};

use diagnostics::Spanned;

/// The value of one key, in the form its kind asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    Text(Spanned<String>),
    Number(Spanned<u64>),
    Numbers(Vec<Spanned<u64>>),
    Flag(Spanned<bool>),
    Range(Spanned<(u64, u64)>),
    Names(Vec<Spanned<String>>),
    Pairs(Vec<(Spanned<String>, Spanned<String>)>),
    Tables(Vec<TableData>),
}

/// What a name of an object may look like.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    text.len() <= 31
        && chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-')
}
