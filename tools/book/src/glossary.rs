//! The glossary's names exist: each name in backticks stands in a file of the part of the tree that its column is about.

use crate::{files_below, has_word, read, Error, Finding};
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/src/reference/glossary.md";

/// By the column's heading: where its names are looked for, in which files.
const COLUMNS: [(&str, &[&str], &[&str]); 4] = [
    ("kernel", &["kernel"], &[".c", ".h", ".S", ".toml", ".order", ".ld"]),
    (
        "description",
        &["systems", "machines", "tools/system/src", "protocols", "docs/src/reference"],
        &[".toml", ".rs", ".proto", ".md"],
    ),
    ("proof", &["proof"], &[".v", ".toml"]),
    ("tools", &["tools", "user", "machines", "tests"], &[".rs", ".toml", ".c", ".h"]),
];

pub fn check(root: &Path) -> Result<Vec<Finding>, Error> {
    let page = read(&root.join(PAGE))?;
    let mut texts = Vec::new();
    for (_, folders, endings) in COLUMNS {
        let mut text = String::new();
        for folder in folders {
            for file in files_below(&root.join(folder), endings)? {
                text.push_str(&read(&file)?);
                text.push('\n');
            }
        }
        texts.push(text);
    }
    let exists = |column: usize, name: &str| {
        let is_path = || COLUMNS[column].1.iter().any(|folder| root.join(folder).join(name).exists());
        let is_name = || !name.contains('/') && name.split([' ', '.']).all(|word| is_named(&texts[column], word));
        root.join(name).exists() || is_path() || is_name()
    };
    Ok(findings(&page, &exists))
}

/// Whether a name stands in `text`; a `*` at one of its ends stands for any further letters.
fn is_named(text: &str, name: &str) -> bool {
    match name.contains('*') {
        true => text.contains(name.trim_matches('*')),
        false => has_word(text, name),
    }
}

/// Names of the page that do not exist, and rows that are none.
fn findings(page: &str, exists: &dyn Fn(usize, &str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut heads: Vec<Option<usize>> = Vec::new();
    let mut rows = 0;
    for (index, line) in page.lines().enumerate() {
        let Some(row) = line.trim().strip_prefix('|') else {
            heads.clear();
            continue;
        };
        let cells: Vec<&str> = row.trim_end_matches('|').split('|').map(str::trim).collect();
        let mut say = |message: String| findings.push(Finding { file: PathBuf::from(PAGE), line: index + 1, message });
        if heads.is_empty() {
            let column = |cell: &&str| COLUMNS.iter().position(|(name, _, _)| cell.to_lowercase().starts_with(name));
            heads = cells.iter().map(column).collect();
            continue;
        }
        if cells.iter().all(|cell| cell.chars().all(|letter| "-: ".contains(letter))) {
            continue;
        }
        if cells.len() != heads.len() {
            say(format!("a row of {} cells in a table of {}", cells.len(), heads.len()));
            continue;
        }
        rows += 1;
        for (cell, head) in cells.iter().zip(&heads) {
            let Some(column) = *head else { continue };
            for name in cell.split('`').skip(1).step_by(2) {
                if !exists(column, name) {
                    say(format!("`{name}` does not exist in {}", COLUMNS[column].1.join(", ")));
                }
            }
        }
    }
    if rows == 0 {
        findings.push(Finding { file: PathBuf::from(PAGE), line: 1, message: "no row was found".to_string() });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::findings;

    const PAGE: &str = "\
# Glossary

| concept | kernel | proof |
| --- | --- | --- |
| frame | `frame_alloc` | `pool` |
| queue | `queue_gone` | |
";

    #[test]
    fn a_name_that_is_gone_is_found_with_its_line() {
        let found = findings(PAGE, &|_, name| name != "queue_gone");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 6);
        assert!(found[0].message.contains("`queue_gone`"));
    }

    #[test]
    fn a_star_stands_for_further_letters() {
        assert!(super::is_named("#define VECTOR_TIMER 33", "VECTOR_*"));
        assert!(super::is_named("frame_check.c", "*_check"));
        assert!(!super::is_named("#define VECTOR_TIMER 33", "VECTOR_"));
    }

    #[test]
    fn a_page_without_rows_or_with_odd_ones_is_a_finding() {
        assert_eq!(findings("# Glossary\n", &|_, _| true).len(), 1);
        assert_eq!(findings("| kernel |\n| - |\n| a | b |\n| c |\n", &|_, _| true).len(), 1);
    }
}
