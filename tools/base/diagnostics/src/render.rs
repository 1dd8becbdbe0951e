//! Findings as text for people, each with the lines of source that it is about.

use crate::{Diagnostic, Label, Report, Source, Style};
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan,
    SpanContents,
};
use std::fmt::Write;
use std::sync::Arc;

/// A longer line of source is not shown.
const LONGEST_LINE: usize = 1000;

impl Report {
    /// Every finding, then their number.
    pub fn render(&self, style: Style) -> String {
        let theme = if style.color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(style.width);
        let mut out = String::new();
        for diagnostic in &self.diagnostics {
            let shown = Shown::new(diagnostic);
            if handler.render_report(&mut out, &shown).is_err() {
                let _ = writeln!(out, "{}: {}", diagnostic.code.name, diagnostic.message);
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
}

/// A diagnostic as the renderer wants it: one source; labels of other files follow as notes.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Shown {
    message: String,
    code: Option<&'static str>,
    help: Option<String>,
    text: Option<Text>,
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
        let (source, spans) = excerpt(&here);
        let place = match (first, &source) {
            (Some(label), None) => format!("{}: ", where_it_is(label)),
            _ => String::new(),
        };
        Shown {
            message: format!("{place}{}", diagnostic.message),
            code: Some(diagnostic.code.name),
            help: Some(help(diagnostic)),
            text: source,
            spans,
            notes: elsewhere.into_iter().map(Shown::note).collect(),
        }
    }

    fn note(label: &Label) -> Self {
        let unnamed = Label { text: String::new(), ..label.clone() };
        let (source, spans) = excerpt(&[&unnamed]);
        let place = if source.is_none() { format!("{}: ", where_it_is(label)) } else { String::new() };
        Shown {
            message: format!("{place}{}", label.text),
            code: None,
            help: None,
            text: source,
            spans,
            notes: Vec::new(),
        }
    }
}

fn help(diagnostic: &Diagnostic) -> String {
    match diagnostic.witness.as_deref() {
        None => diagnostic.remedy.clone(),
        Some([]) => format!("witness: the initial state\nremedy: {}", diagnostic.remedy),
        Some(run) => format!("witness: {}\nremedy: {}", run.join(" "), diagnostic.remedy),
    }
}

fn where_it_is(label: &Label) -> String {
    let (place, path) = (label.source.place(&label.span), label.source.path.display());
    if label.source.text.is_empty() {
        return path.to_string();
    }
    format!("{path}:{}:{}", place.line, place.column)
}

/// What is drawn of a source: nothing where it is empty or a line too long for any screen.
fn excerpt(labels: &[&Label]) -> (Option<Text>, Vec<LabeledSpan>) {
    let Some(first) = labels.first() else { return (None, Vec::new()) };
    let text = &first.source.text;
    let is_long = |label: &&Label| first.source.line(first.source.place(&label.span).line).len() > LONGEST_LINE;
    if text.is_empty() || labels.iter().any(is_long) {
        return (None, Vec::new());
    }
    let spans = labels.iter().map(|label| {
        let start = label.span.start.min(text.len());
        let words = Some(label.text.clone()).filter(|words| !words.is_empty());
        LabeledSpan::new(words, start, label.span.end.min(text.len()).saturating_sub(start))
    });
    (Some(Text(first.source.clone())), spans.collect())
}

/// A source for the renderer, not copied.
#[derive(Debug)]
struct Text(Arc<Source>);

impl SourceCode for Text {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let inner = self.0.text.as_str().read_span(span, before, after)?;
        Ok(Box::new(MietteSpanContents::new_named(
            self.0.path.display().to_string(),
            inner.data(),
            *inner.span(),
            inner.line(),
            inner.column(),
            inner.line_count(),
        )))
    }
}

impl miette::Diagnostic for Shown {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.code.map(|code| Box::new(code) as Box<dyn std::fmt::Display>)
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(if self.code.is_some() { miette::Severity::Error } else { miette::Severity::Advice })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.text.as_ref().map(|source| source as &dyn SourceCode)
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

#[cfg(test)]
mod tests {
    use crate::{CodeInfo, Diagnostic, Report, Source, Style};
    use std::path::Path;
    use std::sync::Arc;

    const CODE: CodeInfo = CodeInfo::new("ASH-X001", "a fault", "an explanation");

    fn report(text: &str, span: std::ops::Range<usize>) -> Report {
        let source = Arc::new(Source::new(Path::new("a.toml"), text));
        Diagnostic::new(CODE, "it is wrong", "mend it").at(&source, &span, "here").into()
    }

    #[test]
    fn a_finding_shows_its_line_and_remedy() {
        let text = report("one = 1\ntwo = 2\n", 8..11).render(Style::PLAIN);
        for part in ["ASH-X001", "it is wrong", "a.toml:2:1", "two = 2", "here", "mend it", "1 fault found"] {
            assert!(text.contains(part), "`{part}` is missing in:\n{text}");
        }
    }

    #[test]
    fn a_long_line_is_named_and_not_drawn() {
        let text = report(&"x".repeat(5000), 7..8).render(Style::PLAIN);
        assert!(text.contains("a.toml:1:8: it is wrong") && text.len() < 500, "{text}");
    }

    #[test]
    fn a_place_behind_the_end_does_no_harm() {
        let text = report("short", 90..99).render(Style::PLAIN);
        assert!(text.contains("it is wrong"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        let mut report = report("one = 1\n", 0..3);
        report.diagnostics[0].message = "many words ".repeat(20);
        report.diagnostics[0].remedy = "other words ".repeat(20);
        let text = report.render(Style { color: false, width: 50 });
        assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
    }
}
