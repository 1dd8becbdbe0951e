//! Faults of a machine file, collected while it is read.

use crate::machine::Code;
use diagnostics::{Diagnostic, Report, Source, Span};
use std::sync::Arc;

/// The file, and what is wrong with it so far.
pub(crate) struct Faults {
    pub source: Arc<Source>,
    pub report: Report,
}

impl Faults {
    pub fn new(source: Source) -> Self {
        Faults { source: Arc::new(source), report: Report::default() }
    }

    pub fn add(&mut self, code: Code, span: &Span, message: &str, remedy: &str) {
        self.report.push(Diagnostic::new(code, message, remedy).at(&self.source, span, ""));
    }
}
