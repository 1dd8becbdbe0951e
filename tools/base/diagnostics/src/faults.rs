//! A text that is being read, and its faults so far.

use crate::{CodeInfo, Diagnostic, Report, Source, Span};
use std::path::Path;
use std::sync::Arc;

#[derive(Debug)]
pub struct Faults {
    pub source: Arc<Source>,
    pub report: Report,
}

impl Faults {
    pub fn new(path: &Path, text: impl Into<String>) -> Faults {
        Faults { source: Arc::new(Source::new(path, text)), report: Report::default() }
    }

    pub fn add(&mut self, code: impl Into<CodeInfo>, span: &Span, message: &str, remedy: &str) {
        self.report.push(Diagnostic::new(code, message, remedy).at(&self.source, span, ""));
    }

    pub fn is_clean(&self) -> bool {
        self.report.is_clean()
    }

    /// What was read, or all faults in the order of their places.
    pub fn or<T>(mut self, read: T) -> Result<T, Report> {
        if self.is_clean() {
            return Ok(read);
        }
        self.report.sort();
        Err(self.report)
    }
}
