//! Diagnostics: what is wrong, where, and how to mend it.
//!
//! Knows: the shape of a finding, its rendering as text and as JSON.
//! Does not know: any particular fault (`codes` lists them, the checks find them).

use crate::codes::Code;
use crate::source::{Source, Span};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};
use serde_json::{json, Value};
use std::fmt::Write;
use std::sync::Arc;

/// One fault of a description, a machine file, or a file that they name.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub code: Code,
    pub message: String,
    /// The first label is where the fault is; further ones show what it conflicts with.
    pub labels: Vec<Label>,
    pub remedy: String,
}

/// A marked place with a few words.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    pub source: Arc<Source>,
    pub span: Span,
    pub text: String,
}

impl Diagnostic {
    pub fn new(code: Code, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Diagnostic { code, message: message.into(), labels: Vec::new(), remedy: remedy.into() }
    }

    /// Adds a label.
    pub fn at(mut self, source: &Arc<Source>, span: &Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { source: source.clone(), span: span.clone(), text: text.into() });
        self
    }

    /// Whether it is this fault at this place.
    pub(crate) fn is_at(&self, code: Code, span: &Span) -> bool {
        self.code == code && self.labels.first().is_some_and(|label| label.span == *span)
    }

    /// Line of the fault (from 1), if it is in a text.
    pub fn line(&self) -> Option<usize> {
        self.labels.first().map(|label| label.source.place(&label.span).line)
    }
}

/// All faults found in one go, in the order of their places.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.diagnostics.is_empty()
    }

    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Sorts by place, so that a reader walks down the file.
    pub fn sort(&mut self) {
        self.diagnostics.sort_by_key(|diagnostic| {
            let label = diagnostic.labels.first();
            (label.map(|label| label.source.path.clone()), label.map(|label| label.span.start), diagnostic.code.name())
        });
    }

    /// For a person at a terminal; `color` adds ANSI colours.
    pub fn render(&self, color: bool) -> String {
        let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
        let mut out = String::new();
        for diagnostic in &self.diagnostics {
            let shown = Shown::new(diagnostic);
            if handler.render_report(&mut out, &shown).is_err() {
                let _ = writeln!(out, "{}: {}", diagnostic.code.name(), diagnostic.message);
            }
            out.push('\n');
        }
        match self.diagnostics.len() {
            0 => {}
            1 => out.push_str("1 fault found\n"),
            count => {
                let _ = writeln!(out, "{count} faults found");
            }
        }
        out
    }

    /// For programs: `{"diagnostics": [{code, title, message, remedy, labels: [...]}]}`.
    pub fn to_json(&self) -> Value {
        json!({ "diagnostics": self.diagnostics.iter().map(diagnostic_json).collect::<Vec<_>>() })
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Report {}

fn diagnostic_json(diagnostic: &Diagnostic) -> Value {
    let labels: Vec<Value> = diagnostic.labels.iter().map(label_json).collect();
    json!({
        "code": diagnostic.code.name(),
        "title": diagnostic.code.title(),
        "message": diagnostic.message,
        "remedy": diagnostic.remedy,
        "labels": labels,
    })
}

fn label_json(label: &Label) -> Value {
    let place = label.source.place(&label.span);
    json!({
        "file": label.source.path.display().to_string(),
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "text": label.text,
    })
}

/// A diagnostic as the renderer wants it: one source; labels of other files follow as notes.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Shown {
    message: String,
    code: Option<&'static str>,
    remedy: Option<String>,
    source_code: Option<NamedSource<String>>,
    spans: Vec<LabeledSpan>,
    notes: Vec<Shown>,
}

impl Shown {
    fn new(diagnostic: &Diagnostic) -> Self {
        let first = diagnostic.labels.first();
        let (here, elsewhere): (Vec<&Label>, Vec<&Label>) = diagnostic
            .labels
            .iter()
            .partition(|label| first.is_some_and(|first| first.source.path == label.source.path));
        Shown {
            message: diagnostic.message.clone(),
            code: Some(diagnostic.code.name()),
            remedy: Some(diagnostic.remedy.clone()),
            source_code: first.map(named_source),
            spans: here.into_iter().map(labeled_span).collect(),
            notes: elsewhere.into_iter().map(Shown::note).collect(),
        }
    }

    fn note(label: &Label) -> Self {
        Shown {
            message: label.text.clone(),
            code: None,
            remedy: None,
            source_code: Some(named_source(label)),
            spans: vec![labeled_span(label)],
            notes: Vec::new(),
        }
    }
}

fn named_source(label: &Label) -> NamedSource<String> {
    NamedSource::new(label.source.path.display().to_string(), label.source.text.clone())
}

fn labeled_span(label: &Label) -> LabeledSpan {
    let length = label.span.end.saturating_sub(label.span.start);
    LabeledSpan::new(Some(label.text.clone()), label.span.start, length)
}

impl miette::Diagnostic for Shown {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.code.map(|code| Box::new(code) as Box<dyn std::fmt::Display>)
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(if self.code.is_some() { miette::Severity::Error } else { miette::Severity::Advice })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.remedy.as_ref().map(|remedy| Box::new(remedy) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source_code.as_ref().map(|source| source as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.spans.iter().cloned()))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        if self.notes.is_empty() {
            return None;
        }
        Some(Box::new(self.notes.iter().map(|note| note as &dyn miette::Diagnostic)))
    }
}
