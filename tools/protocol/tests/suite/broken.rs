//! `tests/broken` holds a protocol for every diagnostic. Its first line says what must be found and where:
//! `# ASH-P010 line 7`, several separated by commas, in the order of their lines. `after ?a !b` gives the witness.

use crate::common;
use protocol::codes::Code;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

fn expected(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("it is there");
    let first = text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("a list of codes");
    // `good` is a protocol that another one needs.
    first.split(',').map(|item| item.trim().to_string()).collect()
}

#[test]
fn each_broken_protocol_is_found_out_at_its_line_with_its_witness() {
    let mut wrong = Vec::new();
    for path in common::files(&folder()) {
        let Err(report) = protocol::load(&path) else {
            if expected(&path) == ["good"] {
                continue;
            }
            wrong.push(format!("{}: no fault found", path.display()));
            continue;
        };
        let found: Vec<String> = report
            .diagnostics
            .iter()
            .map(|one| {
                assert!(!one.message.is_empty() && !one.remedy.is_empty(), "{report}");
                let witness = one.witness.as_ref().map(|run| format!(" after {}", run.join(" ")));
                let text =
                    format!("{} line {}{}", one.code.name(), one.line().unwrap_or(1), witness.unwrap_or_default());
                text.trim_end().to_string()
            })
            .collect();
        if found != expected(&path) {
            wrong.push(format!("{}\nfound # {}\n{report}", path.display(), found.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_has_a_broken_protocol() {
    let shown: BTreeSet<String> = common::files(&folder())
        .iter()
        .flat_map(|path| expected(path))
        .filter_map(|item| item.split(' ').next().map(str::to_string))
        .collect();
    // No file can be unreadable and stand in the folder; a decomposition is no fault of a file, a name one of projects only.
    let elsewhere = [Code::Unreadable, Code::Decomposition, Code::Name];
    let missing: Vec<&str> = Code::ALL
        .iter()
        .filter(|code| !elsewhere.contains(code))
        .map(|code| code.name())
        .filter(|name| !shown.contains(*name))
        .collect();
    assert!(missing.is_empty(), "no protocol shows {missing:?}");
}

#[test]
fn a_protocol_that_is_not_there_is_reported() {
    let report = protocol::load(&folder().join("no-such-file.proto")).expect_err("there is no such file");
    assert_eq!(report.diagnostics[0].code, Code::Unreadable);
}

#[test]
fn reports_render_for_people_and_for_programs() {
    let report = protocol::load(&folder().join("unknown-name.proto")).expect_err("it is broken");
    let text = report.to_string();
    assert!(
        text.contains("ASH-P005") && text.contains("unknown-name.proto") && text.contains("did you mean"),
        "{text}"
    );
    let json = report.to_json();
    assert_eq!(json["diagnostics"][0]["code"], "ASH-P005");
    assert!(json["diagnostics"][0]["labels"][0]["line"].is_u64());
}
