//! A finding: what is wrong, where, the steps that lead to it, and how to mend it.

use crate::{CodeInfo, Source, Span};
use std::sync::Arc;

/// One finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub code: CodeInfo,
    pub message: String,
    /// The first label is where the fault is; further ones show what it conflicts with.
    pub labels: Vec<Label>,
    pub remedy: String,
    /// The steps that lead to the fault, if it takes some to see it; none means that it is there from the beginning.
    pub witness: Option<Vec<String>>,
}

/// A marked place with a few words.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    pub source: Arc<Source>,
    pub span: Span,
    pub text: String,
}

impl Diagnostic {
    pub fn new(code: impl Into<CodeInfo>, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Diagnostic {
            code: code.into(),
            message: message.into(),
            labels: Vec::new(),
            remedy: remedy.into(),
            witness: None,
        }
    }

    /// Adds a label.
    pub fn at(mut self, source: &Arc<Source>, span: &Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { source: source.clone(), span: span.clone(), text: text.into() });
        self
    }

    /// Adds the steps that lead to the fault.
    pub fn after(mut self, witness: Vec<String>) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Whether it is this fault at this place.
    pub fn is_at(&self, code: impl Into<CodeInfo>, span: &Span) -> bool {
        self.code == code.into() && self.labels.first().is_some_and(|label| label.span == *span)
    }

    /// Line of the fault (from 1), if it is in a text.
    pub fn line(&self) -> Option<usize> {
        self.labels.first().map(|label| label.source.place(&label.span).line)
    }
}

/// All findings of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// Adds a finding unless the same is there already.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Sorts by place, so that a reader walks down the file.
    pub fn sort(&mut self) {
        self.diagnostics.sort_by_key(|diagnostic| {
            let label = diagnostic.labels.first();
            (label.map(|label| label.source.path.clone()), label.map(|label| label.span.start), diagnostic.code.name)
        });
    }
}

impl From<Diagnostic> for Report {
    fn from(diagnostic: Diagnostic) -> Report {
        Report { diagnostics: vec![diagnostic] }
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(crate::Style::PLAIN))
    }
}

impl std::error::Error for Report {}
