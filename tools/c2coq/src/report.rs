//! Prints faults: for people with the source's lines, for programs as JSON.

use std::fmt::Write;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use serde::Serialize;

use crate::fault::Fault;
use crate::source::Sources;

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Shown {
    message: String,
    code: String,
    help: String,
    label: LabeledSpan,
    text: NamedSource<String>,
}

impl Diagnostic for Shown {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(&self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(&self.help))
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(self.label.clone())))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.text)
    }
}

/// All faults with their lines, and a count. `colour` and pretty lines for terminals.
pub fn human(sources: &Sources, faults: &[Fault], colour: bool) -> String {
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(110).with_context_lines(1);
    let mut out = String::new();
    for fault in faults {
        let file = sources.get(fault.span.file);
        let (line, column) = sources.position(fault.span.file, fault.span.start);
        let length = (fault.span.end - fault.span.start) as usize;
        let shown = Shown {
            message: format!("{}:{line}:{column}: {}", file.path.display(), fault.message),
            code: format!("subset({})", fault.rule.name()),
            help: format!("{}\nremedy: {}", fault.rule.info().says, fault.remedy()),
            label: LabeledSpan::new(None, fault.span.start as usize, length),
            text: NamedSource::new(file.path.display().to_string(), file.text.to_string()),
        };
        if handler.render_report(&mut out, &shown).is_err() {
            // A line the renderer cannot draw is still told.
            let _ = writeln!(out, "{}", shown.message);
        }
    }
    out
}

#[derive(Serialize)]
struct FaultJson<'a> {
    rule: &'a str,
    file: String,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    message: &'a str,
    says: &'a str,
    remedy: &'a str,
}

#[derive(Serialize)]
struct ReportJson<'a> {
    files: usize,
    faults: Vec<FaultJson<'a>>,
}

/// `{"files": N, "faults": [{rule, file, line, column, end_line, end_column, message, says, remedy}]}`
pub fn json(sources: &Sources, faults: &[Fault], files: usize) -> Result<String, serde_json::Error> {
    let faults = faults
        .iter()
        .map(|fault| {
            let (line, column) = sources.position(fault.span.file, fault.span.start);
            let (end_line, end_column) = sources.position(fault.span.file, fault.span.end);
            FaultJson {
                rule: fault.rule.name(),
                file: sources.get(fault.span.file).path.display().to_string(),
                line,
                column,
                end_line,
                end_column,
                message: &fault.message,
                says: fault.rule.info().says,
                remedy: fault.remedy(),
            }
        })
        .collect();
    serde_json::to_string_pretty(&ReportJson { files, faults })
}
