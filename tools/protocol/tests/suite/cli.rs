//! The command line: exit status 0 good, 1 a finding, 2 could not run; text for people, JSON for programs.

use crate::common;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_protocol"))
        .current_dir(common::root())
        .args(arguments)
        .output()
        .expect("the program runs")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

const BROKEN: &str = "tools/protocol/tests/broken/two-regions.proto";

#[test]
fn exit_status_says_what_happened() {
    assert_eq!(run(&["check", "protocols/pci.proto", "protocols/timer.proto"]).status.code(), Some(0));
    assert_eq!(run(&["check", BROKEN]).status.code(), Some(1));
    assert_eq!(run(&["explain", "nothing"]).status.code(), Some(2));
    assert_eq!(run(&["decompose", "protocols/timer.proto", "--alphabet", "arm,frid"]).status.code(), Some(2));
    assert_eq!(run(&["decompose", "protocols/timer.proto", "--alphabet", "arm,fired"]).status.code(), Some(1));
    assert_eq!(run(&["picture", "protocols/timer.proto", "--trace", "!arm !arm"]).status.code(), Some(2));
}

#[test]
fn faults_of_all_files_are_told_in_both_formats() {
    let other = "tools/protocol/tests/broken/timed-stuck.proto";
    let text = run(&["check", BROKEN, other]);
    let shown = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(shown.contains("ASH-P010") && shown.contains("ASH-P014") && shown.contains("witness: ?go ?go"), "{shown}");
    let value = json(&run(&["check", "--format", "json", BROKEN, other]));
    let list = value["diagnostics"].as_array().expect("a list");
    assert_eq!(list.len(), 2);
    assert_eq!(list[0]["witness"], serde_json::json!(["?go", "?go"]));
    assert_eq!(json(&run(&["check", "--format", "json", "protocols/pci.proto"]))["diagnostics"], serde_json::json!([]));
}

#[test]
fn sizes_stand_beside_the_papers() {
    let value = json(&run(&["sizes", "--format", "json", "protocols/pci.proto"]));
    let sizes = &value["protocols"][0];
    assert_eq!(sizes["paper"], serde_json::json!([13, 41, 11]));
    assert!(sizes["subprotocols"].as_u64() > Some(5) && sizes["written"]["states"].as_u64() > Some(5));
}

#[test]
fn generated_files_are_compared_with_a_fresh_generation() {
    let folder = std::env::temp_dir().join(format!("protocol-cli-{}", std::process::id()));
    let out = folder.to_str().expect("a name");
    assert_eq!(run(&["generate", "--out", out, "protocols/timer.proto"]).status.code(), Some(0));
    assert_eq!(run(&["generate", "--check", "--out", out, "protocols/timer.proto"]).status.code(), Some(0));
    std::fs::write(folder.join("timer.md"), "changed").expect("written");
    let stale = run(&["generate", "--check", "--out", out, "protocols/timer.proto"]);
    assert_eq!(stale.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&stale.stderr).contains("timer.md"));
}

#[test]
fn pictures_show_a_run() {
    let output = run(&["picture", "protocols/timer.proto", "--trace", "!arm ?fired", "--coverage"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("class=\"red\">?fired") && text.contains("class=\"orange faint\">!cancel"), "{text}");
}
