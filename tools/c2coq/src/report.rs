//! Prints faults: for people with the source's lines, for programs as JSON.

use std::fmt::Write;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode,
    SourceSpan, SpanContents,
};
use serde::Serialize;

use crate::fault::Fault;
use crate::source::Sources;

/// A longer line is not shown.
const MAX_LINE: usize = 1000;

/// The one line a fault is shown with.
#[derive(Debug)]
struct Line {
    file: String,
    text: String,
    /// From 0, as the renderer counts.
    number: usize,
}

impl SourceCode for Line {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        _after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let whole = SourceSpan::from((0, self.text.len()));
        // Asked without context, the renderer wants the place for its heading.
        let column = if before == 0 { span.offset() } else { 0 };
        let contents =
            MietteSpanContents::new_named(self.file.clone(), self.text.as_bytes(), whole, self.number, column, 1);
        Ok(Box::new(contents))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Shown {
    message: String,
    code: String,
    help: String,
    label: LabeledSpan,
    line: Option<Line>,
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
        self.line.as_ref().map(|line| line as &dyn SourceCode)
    }
}

/// All faults, each with its line. Of a construct over several lines the first is shown.
pub fn human(sources: &Sources, faults: &[Fault], colour: bool) -> String {
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(110);
    let mut out = String::new();
    for fault in faults {
        let file = sources.get(fault.span.file);
        let (line, column) = sources.position(fault.span.file, fault.span.start);
        let start = fault.span.start as usize;
        let begin = start + 1 - column as usize;
        let stop = file.text[start..].find('\n').map_or(file.text.len(), |newline| start + newline);
        let end = (fault.span.end as usize).min(stop).max(start);
        let shown = Shown {
            message: format!("{}:{line}:{column}: {}", file.path.display(), fault.message),
            code: format!("subset({})", fault.rule.name()),
            help: format!("{}\nremedy: {}", fault.rule.info().says, fault.remedy()),
            label: LabeledSpan::new(None, start - begin, end - start),
            line: (stop - begin <= MAX_LINE).then(|| Line {
                file: file.path.display().to_string(),
                text: file.text[begin..stop].to_string(),
                number: line as usize - 1,
            }),
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
