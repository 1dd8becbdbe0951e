//! Each code of a fault has a text that shows it at its line, and one text shows many at once.

use std::collections::BTreeSet;
use std::path::Path;

use diagnostics::{CodeInfo, Report, Style};
use wcet_hardware::machine::{parse, Code};

const GOOD: &str = r#"[machine]
about = "good"
[source.s]
title = "a source"
[pipeline]
issue = { value = "single", source = "s" }
front = { value = 2, source = "s" }
queue = { value = 4, source = "s" }
[branch]
taken = { value = 5, source = "s 1.2" }
not_taken = { value = 4, source = "s: table 3" }
[memory]
latency = { value = 60, source = "s" }
[cache.l1]
level = { value = 1, source = "s" }
holds = { value = "both", source = "s" }
size = { value = "1KiB", source = "s" }
ways = { value = 2, source = "s" }
line = { value = "32B", source = "s" }
policy = { value = "lru", source = "s" }
latency = { value = 1, source = "s" }
[region.device]
range = { value = "0x1000..0x101f", source = "s" }
latency = { value = 90, source = "s" }
[class.alu]
occupies = { value = 1, source = "s" }
"#;

fn faults(text: &str) -> Vec<(CodeInfo, usize)> {
    match parse("m", Path::new("m.toml"), text.to_string()) {
        Ok(_) => Vec::new(),
        Err(faults) => found(&faults),
    }
}

fn found(report: &Report) -> Vec<(CodeInfo, usize)> {
    let all = &report.diagnostics;
    assert!(all.iter().all(|fault| !fault.message.is_empty() && !fault.remedy.is_empty()), "{report}");
    all.iter().map(|fault| (fault.code, fault.line().unwrap_or(1))).collect()
}

/// `GOOD` with one line replaced.
fn with(line: usize, text: &str) -> String {
    let lines = GOOD.lines().enumerate().map(|(index, old)| if index + 1 == line { text } else { old });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_fault_is_found_at_its_line() {
    assert_eq!(faults(GOOD), []);
    let cases: &[(usize, &str, Code)] = &[
        (2, "about = good", Code::Syntax),
        (2, "about = \"good\"\nabuot = \"good\"", Code::UnknownKey),
        (25, "[class.aluminium]", Code::UnknownKey),
        (7, "front = { value = \"2\", source = \"s\" }", Code::WrongType),
        (8, "", Code::Missing),
        (7, "front = { value = 65, source = \"s\" }", Code::BadValue),
        (24, "latency = { value = 90, source = \"s\" }\n[region.Big]", Code::BadName),
        (7, "front = 2", Code::NoSource),
        (7, "front = { value = 2 }", Code::NoSource),
        (7, "front = { value = 2, source = \"t 1\" }", Code::UnknownSource),
        (17, "size = { value = \"1000B\", source = \"s\" }", Code::Geometry),
        (19, "line = { value = \"32B\", source = \"s\" }\ntaken_as = { value = 3, source = \"s\" }", Code::Reliance),
        (20, "policy = { value = \"random\", source = \"s\" }", Code::Reliance),
        (
            21,
            "latency = { value = 1, source = \"s\" }\npinned = { value = [\"0..31\"], source = \"s\" }",
            Code::Locking,
        ),
        (23, "range = { value = \"0x1000..0x1010\", source = \"s\" }", Code::Overlap),
        (10, "taken = { value = 3, source = \"s\" }", Code::Timing),
        (21, "latency = { value = 60, source = \"s\" }", Code::Timing),
    ];
    for (line, text, code) in cases {
        let found = faults(&with(*line, text));
        let near = |at: usize| at.abs_diff(*line) <= 2 || *code == Code::Missing;
        let hit = found.iter().any(|(found, at)| *found == code.info() && near(*at));
        assert!(hit, "{code:?} is not in {found:?} for {text}");
    }
}

#[test]
fn levels_must_not_clash() {
    let key = |key: &str, value: &str| format!("{key} = {{ value = {value}, source = \"s\" }}\n");
    let keys = [("level", "1"), ("holds", "\"data\""), ("size", "\"1KiB\""), ("ways", "2"), ("line", "\"64B\"")];
    let keys = keys.into_iter().chain([("policy", "\"lru\""), ("latency", "9")]);
    let table: String = keys.map(|(name, value)| key(name, value)).collect();
    let second = GOOD.replace("[region.device]", &format!("[cache.l2]\n{table}[region.device]"));
    let found = faults(&second);
    assert_eq!(found.iter().filter(|(code, _)| *code == Code::Hierarchy.info()).count(), 2, "{found:?}");
}

#[test]
fn all_faults_come_at_once_and_in_order() {
    let text = GOOD
        .replace("front = { value = 2, source = \"s\" }", "front = 2")
        .replace("1KiB", "1KB")
        .replace("\"lru\"", "\"mru\"");
    let lines: Vec<usize> = faults(&text).iter().map(|(_, line)| *line).collect();
    assert_eq!(lines, [7, 17, 20]);
}

#[test]
fn a_file_that_is_not_there_is_told() {
    let faults = wcet_hardware::machine::load(Path::new("/nonexistent/m.toml")).expect_err("there is none");
    assert_eq!(found(&faults), [(Code::Unreadable.info(), 1)]);
    assert!(faults.render(Style::PLAIN).contains("ASH-M001"));
    assert_eq!(faults.to_json()["diagnostics"][0]["code"], "ASH-M001");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    for path in ["/dev/zero", "/"] {
        let faults = wcet_hardware::machine::load(Path::new(path)).expect_err("it is no file");
        assert_eq!(found(&faults), [(Code::Unreadable.info(), 1)]);
    }
}

#[test]
fn codes_have_names_of_their_own() {
    let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(names.len(), Code::ALL.len());
}
