//! Faults of a machine file: what is wrong, where, and how to mend it; all of them at once.

use crate::machine::Code;
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};
use serde_json::{json, Value};
use std::fmt::Write;

/// Byte offsets into the file.
pub type Span = std::ops::Range<usize>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub code: Code,
    pub message: String,
    /// Where the fault is; empty at 0 if the file as a whole is meant.
    pub span: Span,
    pub remedy: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// All faults of one file, in the order of their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    pub path: String,
    pub text: String,
    pub list: Vec<Fault>,
}

impl Faults {
    pub(crate) fn new(path: &str, text: String) -> Self {
        Faults { path: path.to_string(), text, list: Vec::new() }
    }

    pub(crate) fn unreadable(path: &str, why: &str) -> Self {
        let mut faults = Faults::new(path, String::new());
        let message = format!("{path} cannot be read: {why}");
        faults.add(Code::Unreadable, &(0..0), &message, "check the name, the folder and the permissions");
        faults
    }

    pub(crate) fn add(&mut self, code: Code, span: &Span, message: &str, remedy: &str) {
        let before = self.text.get(..span.start).unwrap_or(&self.text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[start..].chars().count() + 1);
        let (message, remedy) = (message.to_string(), remedy.to_string());
        self.list.push(Fault { code, message, span: span.clone(), remedy, line, column });
    }

    pub(crate) fn sort(&mut self) {
        self.list.sort_by_key(|fault| (fault.span.start, fault.code));
    }

    pub fn is_clean(&self) -> bool {
        self.list.is_empty()
    }

    /// For a person at a terminal; `color` adds ANSI colours.
    pub fn render(&self, color: bool) -> String {
        let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
        let mut out = String::new();
        for fault in &self.list {
            let text = NamedSource::new(&self.path, self.text.clone());
            // Writing to a string cannot fail.
            if handler.render_report(&mut out, &Shown { fault, text }).is_err() {
                let _ = writeln!(out, "{}:{}: {}", self.path, fault.line, fault.message);
            }
            out.push('\n');
        }
        let noun = if self.list.len() == 1 { "fault" } else { "faults" };
        let _ = writeln!(out, "{} {noun} found", self.list.len());
        out
    }

    /// For programs: `{"diagnostics": [{code, title, message, remedy, file, line, column}]}`.
    pub fn to_json(&self) -> Value {
        let one = |fault: &Fault| {
            json!({
                "code": fault.code.name(),
                "title": fault.code.title(),
                "message": fault.message,
                "remedy": fault.remedy,
                "file": self.path,
                "line": fault.line,
                "column": fault.column,
            })
        };
        json!({ "diagnostics": self.list.iter().map(one).collect::<Vec<_>>() })
    }
}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Faults {}

/// A fault as the renderer wants it.
#[derive(Debug, thiserror::Error)]
#[error("{}", .fault.message)]
struct Shown<'a> {
    fault: &'a Fault,
    text: NamedSource<String>,
}

impl miette::Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(self.fault.code.name()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(&self.fault.remedy))
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.text)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let length = self.fault.span.end.saturating_sub(self.fault.span.start);
        Some(Box::new(std::iter::once(LabeledSpan::new(None, self.fault.span.start, length))))
    }
}
