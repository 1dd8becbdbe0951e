//! The faults of one text as they are found.

use diagnostics::{Diagnostic, Report, Source};
use std::sync::Arc;

/// The source of a protocol, and its faults so far.
#[derive(Debug, Clone)]
pub struct Findings {
    pub source: Arc<Source>,
    report: Report,
}

impl Findings {
    pub fn new(source: &Arc<Source>) -> Self {
        Findings { source: source.clone(), report: Report::default() }
    }

    pub fn is_clean(&self) -> bool {
        self.report.is_clean()
    }

    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.report.push(diagnostic);
    }

    /// All faults in the order of their places.
    pub fn into_report(mut self) -> Report {
        self.report.sort();
        self.report
    }
}
