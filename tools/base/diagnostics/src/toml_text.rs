//! Faults that TOML's own grammar finds, as diagnostics with their places.

use crate::{CodeInfo, Diagnostic, Report, Source, Span};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

const SYNTAX_REMEDY: &str = "texts stand in quotes, lists in [ ], headers in [ ] on a line of their own";

/// The codes that a tool gives to faults of the grammar.
#[derive(Debug, Clone, Copy)]
pub struct GrammarCodes {
    pub syntax: CodeInfo,
    pub duplicate: CodeInfo,
}

/// A file of a form that serde knows. A fault is reported under `code`.
pub fn parse<T: DeserializeOwned>(source: &Arc<Source>, code: CodeInfo) -> Result<T, Report> {
    toml::from_str(&source.text).map_err(|error| {
        let codes = GrammarCodes { syntax: code, duplicate: code };
        fault(source, &error, codes).into()
    })
}

/// The table that a text is as far as it can be read, and the faults of its grammar.
pub fn recover<'t>(
    source: &'t Arc<Source>,
    codes: GrammarCodes,
    report: &mut Report,
) -> (toml::Spanned<DeTable<'t>>, bool) {
    let (root, errors) = DeTable::parse_recoverable(&source.text);
    // The keys of a table that stands twice are no faults of their own.
    let twice: Vec<Span> = errors.iter().filter_map(|error| body(&source.text, error)).collect();
    let is_inside = |error: &toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        is_duplicate(error) && twice.iter().any(|body| body.contains(&start))
    };
    errors.iter().filter(|error| !is_inside(error)).for_each(|error| report.push(fault(source, error, codes)));
    (root, !errors.is_empty())
}

/// What kind of value stands there, for messages.
pub fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn fault(source: &Arc<Source>, error: &toml::de::Error, codes: GrammarCodes) -> Diagnostic {
    let span = error.span().unwrap_or(0..0);
    if !is_duplicate(error) {
        return Diagnostic::new(codes.syntax, error.message(), SYNTAX_REMEDY).at(source, &span, "here");
    }
    let (what, first) = first_place(&source.text, &span);
    let remedy = "keep one of the two, or give the other another name";
    let message = format!("{what} stands twice");
    let diagnostic = Diagnostic::new(codes.duplicate, message, remedy).at(source, &span, "again here");
    match first {
        Some(first) => diagnostic.at(source, &first, "first here"),
        None => diagnostic,
    }
}

fn is_duplicate(error: &toml::de::Error) -> bool {
    error.message().contains("duplicate key")
}

/// The start of the line in which a byte stands, and the line.
fn line_at(text: &str, byte: usize) -> (usize, &str) {
    let start = text.get(..byte).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
    (start, text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default())
}

/// The lines under a header that stands twice, until the next header.
fn body(text: &str, error: &toml::de::Error) -> Option<Span> {
    let (start, own) = line_at(text, error.span().filter(|_| is_duplicate(error))?.start);
    header(own)?;
    let begin = start + own.len();
    let rest = text.get(begin..)?;
    let length =
        rest.match_indices('\n').find(|(at, _)| rest[at + 1..].trim_start_matches([' ', '\t']).starts_with('['));
    Some(begin..begin + length.map_or(rest.len(), |(at, _)| at))
}

/// What stands at `span`, a table or a key, and where the same was written before.
fn first_place(text: &str, span: &Span) -> (String, Option<Span>) {
    let (start, own) = line_at(text, span.start);
    let lines = || {
        text[..start].split_inclusive('\n').scan(0, |at, line| {
            let begin = *at;
            *at += line.len();
            Some((begin, line))
        })
    };
    if own.trim_start().starts_with('[') {
        let same = |line: &str| header(line).is_some_and(|found| Some(found) == header(own));
        let found = lines().find(|(_, line)| same(line));
        return (
            format!("the table [{}]", header(own).unwrap_or_default()),
            found.map(|(begin, line)| place(begin, line)),
        );
    }
    // A key: only lines of the same table count.
    let table = lines().filter(|(_, line)| header(line).is_some()).last().map_or(0, |(begin, _)| begin);
    let found =
        lines().filter(|(begin, _)| *begin >= table).find(|(_, line)| key(line).is_some() && key(line) == key(own));
    let name = text.get(span.clone()).unwrap_or_default().trim();
    (format!("the key `{name}`"), found.map(|(begin, line)| place(begin, line)))
}

/// A line of the text without its indentation and end.
fn place(begin: usize, line: &str) -> Span {
    let start = begin + line.len() - line.trim_start().len();
    start..begin + line.trim_end().len()
}

fn header(line: &str) -> Option<String> {
    let line = line.trim_start();
    let inner = line.strip_prefix('[')?.split(']').next()?;
    Some(inner.split('.').map(|part| part.trim().trim_matches(['"', '\''])).collect::<Vec<_>>().join("."))
}

fn key(line: &str) -> Option<String> {
    let (key, _) = line.split_once('=')?;
    Some(key.split('.').map(|part| part.trim().trim_matches(['"', '\''])).collect::<Vec<_>>().join("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const CODES: GrammarCodes =
        GrammarCodes { syntax: CodeInfo::new("X-1", "", ""), duplicate: CodeInfo::new("X-2", "", "") };

    fn faults(text: &str) -> Vec<(&'static str, String, Vec<usize>)> {
        let source = Arc::new(Source::new(Path::new("a.toml"), text));
        let mut report = Report::default();
        let _ = recover(&source, CODES, &mut report);
        let lines = |one: &Diagnostic| one.labels.iter().map(|label| source.place(&label.span).line).collect();
        report.diagnostics.iter().map(|one| (one.code.name, one.message.clone(), lines(one))).collect()
    }

    #[test]
    fn a_duplicate_shows_both_places() {
        let text = "[a.one]\nx = 1\n[b]\nx = 2\n y = 3\nx = 4\n[a.one]\nx = 5\n";
        let found = faults(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].0, &found[0].2[..]), ("X-2", &[6, 4][..]), "{found:?}");
        assert_eq!((found[1].0, &found[1].2[..]), ("X-2", &[7, 1][..]), "{found:?}");
        assert_eq!(found[0].1, "the key `x` stands twice");
        assert_eq!(found[1].1, "the table [a.one] stands twice");
    }

    #[test]
    fn other_faults_have_a_place() {
        let found = faults("a = 1\nb = \n");
        assert_eq!((found[0].0, &found[0].2[..]), ("X-1", &[2][..]), "{found:?}");
    }

    #[test]
    fn a_typed_file_says_what_does_not_fit() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            #[allow(dead_code)]
            number: u32,
        }
        let source = Arc::new(Source::new(Path::new("a.toml"), "nmber = 1\n"));
        let report = parse::<File>(&source, CODES.syntax).unwrap_err();
        assert!(report.diagnostics[0].message.contains("unknown field `nmber`"), "{report}");
        assert_eq!(report.diagnostics[0].line(), Some(1));
    }
}
