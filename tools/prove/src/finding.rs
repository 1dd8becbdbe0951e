//! A finding: a stable kind, a place, and a sentence.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    pub kind: &'static str,
    /// Relative to the root of the tree.
    pub file: Option<String>,
    pub line: Option<usize>,
    pub message: String,
}

impl Finding {
    pub fn at(kind: &'static str, file: &str, line: Option<usize>, message: impl Into<String>) -> Finding {
        Finding { kind, file: Some(file.to_string()), line, message: message.into() }
    }

    pub fn of(kind: &'static str, message: impl Into<String>) -> Finding {
        Finding { kind, file: None, line: None, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: {}", self.message),
            (Some(file), None) => write!(f, "{file}: {}", self.message),
            (None, _) => write!(f, "{}", self.message),
        }
    }
}
