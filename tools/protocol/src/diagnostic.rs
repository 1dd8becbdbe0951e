//! Diagnostics: what is wrong, where, how one gets there, and how to mend it.
//!
//! Knows: the shape of a finding, its rendering as text and as JSON.
//! Does not know: any particular fault (`codes` lists them, the parser and the checks find them).

use crate::codes::Code;
use crate::source::{Source, Span};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};
use serde_json::{json, Value};
use std::fmt::Write;
use std::sync::Arc;

/// One fault of a protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub code: Code,
    pub message: String,
    /// The first label is where the fault is; further ones show what it conflicts with.
    pub labels: Vec<(Span, String)>,
    pub remedy: String,
    /// The shortest run that leads there, as `?probe !probe_ok`; nothing if no run is needed to see the fault.
    pub witness: Option<Vec<String>>,
}

impl Diagnostic {
    pub fn new(code: Code, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Diagnostic { code, message: message.into(), labels: Vec::new(), remedy: remedy.into(), witness: None }
    }

    /// Adds a label.
    pub fn at(mut self, span: &Span, text: impl Into<String>) -> Self {
        self.labels.push((span.clone(), text.into()));
        self
    }

    /// Adds the run that leads to the fault.
    pub fn after(mut self, witness: Vec<String>) -> Self {
        self.witness = Some(witness);
        self
    }

    fn help(&self) -> String {
        match &self.witness {
            None => self.remedy.clone(),
            Some(run) if run.is_empty() => format!("witness: the initial state\nremedy: {}", self.remedy),
            Some(run) => format!("witness: {}\nremedy: {}", run.join(" "), self.remedy),
        }
    }
}

/// All faults of one text, in the order of their places.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub source: Arc<Source>,
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    pub fn new(source: &Arc<Source>) -> Self {
        Report { source: source.clone(), diagnostics: Vec::new() }
    }

    pub fn is_clean(&self) -> bool {
        self.diagnostics.is_empty()
    }

    pub fn push(&mut self, diagnostic: Diagnostic) {
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Sorts by place, so that a reader walks down the file.
    pub fn sort(&mut self) {
        let start = |diagnostic: &Diagnostic| diagnostic.labels.first().map_or(0, |(span, _)| span.start);
        self.diagnostics.sort_by_key(|diagnostic| (start(diagnostic), diagnostic.code));
    }

    /// Line of a fault (from 1).
    pub fn line(&self, diagnostic: &Diagnostic) -> usize {
        diagnostic.labels.first().map_or(1, |(span, _)| self.source.point(span.start).0)
    }

    /// For a person at a terminal; `color` adds ANSI colours.
    pub fn render(&self, color: bool) -> String {
        let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(110);
        let mut out = String::new();
        for diagnostic in &self.diagnostics {
            let shown = Shown::new(&self.source, diagnostic);
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

    /// For programs: `{"diagnostics": [{code, title, message, remedy, witness, labels: [...]}]}`.
    pub fn to_json(&self) -> Value {
        json!({ "diagnostics": self.diagnostics.iter().map(|one| self.diagnostic_json(one)).collect::<Vec<_>>() })
    }

    fn diagnostic_json(&self, diagnostic: &Diagnostic) -> Value {
        let label = |(span, text): &(Span, String)| {
            let (line, column) = self.source.point(span.start);
            let (end_line, end_column) = self.source.point(span.end.max(span.start));
            json!({
                "file": self.source.path.display().to_string(),
                "line": line,
                "column": column,
                "end_line": end_line,
                "end_column": end_column,
                "text": text,
            })
        };
        json!({
            "code": diagnostic.code.name(),
            "title": diagnostic.code.title(),
            "message": diagnostic.message,
            "remedy": diagnostic.remedy,
            "witness": diagnostic.witness,
            "labels": diagnostic.labels.iter().map(label).collect::<Vec<_>>(),
        })
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Report {}

/// A diagnostic as the renderer wants it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Shown {
    message: String,
    code: &'static str,
    help: String,
    source_code: NamedSource<String>,
    spans: Vec<LabeledSpan>,
}

impl Shown {
    fn new(source: &Source, diagnostic: &Diagnostic) -> Self {
        let span = |(span, text): &(Span, String)| {
            LabeledSpan::new(Some(text.clone()), span.start, span.end.saturating_sub(span.start))
        };
        Shown {
            message: diagnostic.message.clone(),
            code: diagnostic.code.name(),
            help: diagnostic.help(),
            source_code: NamedSource::new(source.path.display().to_string(), source.text.clone()),
            spans: diagnostic.labels.iter().map(span).collect(),
        }
    }
}

impl miette::Diagnostic for Shown {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(&self.help))
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.source_code)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.spans.iter().cloned()))
    }
}
