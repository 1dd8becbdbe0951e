//! The command: exit status 0 good, 1 a finding, 2 could not run; the same findings as data.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    Command::new(env!("CARGO_BIN_EXE_c2coq")).args(arguments).current_dir(tests).output().unwrap()
}

#[test]
fn an_accepted_file_prints_nothing() {
    let output = run(&["check", "accept/layer.c"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn faults_are_told_with_place_rule_and_remedy() {
    let output = run(&["check", "reject/address-of.c"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "reject/address-of.c:8:18",
        "subset::address-of",
        "words[1] = g(&words[0]);",
        "remedy: pass the object's index",
        "1 fault found",
    ] {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

#[test]
fn faults_are_data_with_format_json() {
    let output = run(&["--format", "json", "check", "reject/address-of.c", "reject/goto.c"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = report["diagnostics"].as_array().unwrap();
    let rules: Vec<&str> = all.iter().map(|fault| fault["code"].as_str().unwrap()).collect();
    assert_eq!(rules, ["subset::address-of", "subset::goto", "subset::goto"]);
    let place = &all[0]["labels"][0];
    assert_eq!((&place["line"], &place["column"]), (&8.into(), &18.into()));
    let clean = run(&["--format", "json", "check", "accept/layer.c"]);
    assert_eq!(clean.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&clean.stdout).unwrap();
    assert_eq!(report["diagnostics"], serde_json::json!([]));
}

#[test]
fn what_cannot_be_read_is_no_finding() {
    for arguments in [&["check", "nowhere.c"][..], &["layers", "--order", "nowhere"], &["unknown"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn build_constants_choose_what_is_checked() {
    assert_eq!(run(&["check", "-D", "DEBUG=1", "accept/layer.c"]).status.code(), Some(0));
    let output = run(&["check", "-D", "DEBUG=2", "accept/layer.c"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains("subset::syntax"));
}
