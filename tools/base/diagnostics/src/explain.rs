//! What a code means, for people at a terminal and for the reference page.

use crate::{CodeInfo, Table};
use std::fmt::Write;

/// The codes that `name` means: none, one, or several if a short name is used by more than one tool.
pub fn find(tables: &[Table], name: &str) -> Vec<CodeInfo> {
    let all = || tables.iter().flat_map(|table| table.codes).copied();
    match all().find(|code| code.name.eq_ignore_ascii_case(name.trim())) {
        Some(exact) => vec![exact],
        None => all().filter(|code| code.is_named(name)).collect(),
    }
}

/// Name, title, explanation and example in lines of at most `width` characters.
pub fn explanation(code: &CodeInfo, width: usize) -> String {
    let mut out = format!("{}\n\n", textwrap::fill(&format!("{}: {}", code.name, code.title), width));
    out.push_str(&textwrap::fill(code.explanation, width));
    if let Some(example) = code.example {
        let _ = write!(out, "\n\nRefused:\n    {}\n\nAccepted instead:\n    {}", example.refused, example.accepted);
    }
    out
}

/// The reference page of all codes, in Markdown.
pub fn page(first_line: &str, tables: &[Table]) -> String {
    let mut out = format!("{first_line}\n\n# Codes\n\n");
    out.push_str("Every finding of the tools has a code. `ashlar explain CODE` prints what stands here.\n");
    for table in tables {
        let _ = write!(out, "\n## {}\n\n| code | finding |\n| --- | --- |\n", table.subject);
        for code in table.codes {
            let link = match table.details {
                Some(page) => format!("{page}#{}", code.short_name()),
                None => format!("#{}", anchor(code.name)),
            };
            let _ = writeln!(out, "| [{}]({link}) | {} |", code.name, escaped(code.title.trim_end_matches('.')));
        }
        for code in table.codes.iter().filter(|_| table.details.is_none()) {
            let (title, text) = (escaped(&capitalized(code.title)), escaped(code.explanation));
            let _ = write!(out, "\n### {}\n\n{title}.\n\n{text}\n", code.name);
        }
    }
    out
}

/// The anchor that mdBook gives a heading: letters, digits, `-` and `_`, in small letters.
fn anchor(heading: &str) -> String {
    heading.to_lowercase().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_').collect()
}

/// Text that stands in a table: angle brackets would be read as HTML, bars as ends of cells.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<")
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &[CodeInfo] = &[
        CodeInfo::new("ASH-X001", "a fault", "It is one two three four five six seven."),
        CodeInfo::new("driver::emit", "a message", "Text."),
    ];
    const TWO: &[CodeInfo] = &[CodeInfo::new("subset::emit", "other", "Text.").with_example("a;", "b;")];
    const TABLES: &[Table] = &[
        Table { subject: "One", codes: ONE, details: None },
        Table { subject: "Two", codes: TWO, details: Some("two.md") },
    ];

    #[test]
    fn full_names_are_exact_and_short_ones_may_be_ambiguous() {
        assert_eq!(find(TABLES, "x001"), [ONE[0]]);
        assert_eq!(find(TABLES, "subset::emit"), [TWO[0]]);
        assert_eq!(find(TABLES, "emit"), [ONE[1], TWO[0]]);
        assert!(find(TABLES, "").is_empty());
    }

    #[test]
    fn explanations_are_wrapped() {
        let text = explanation(&ONE[0], 20);
        assert!(text.lines().all(|line| line.len() <= 20) && text.starts_with("ASH-X001: a fault\n\nIt is"), "{text}");
        assert!(explanation(&TWO[0], 80).ends_with("Accepted instead:\n    b;"));
    }

    #[test]
    fn the_page_links_each_code() {
        let page = page("<!-- -->", TABLES);
        assert!(
            page.contains("| [subset::emit](two.md#emit) | other |") && !page.contains("### subset::emit"),
            "{page}"
        );
    }
}
