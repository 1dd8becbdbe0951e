//! The report about a kernel, on the small kernel that tests of its regions use.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn small() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/tests/suite/small")
}

/// Runs the analyser on the small kernel, with its description where that of the kernel is looked for.
fn timing(name: &str, arguments: &[&str]) -> Output {
    timing_with(name, "", arguments)
}

/// The same with more in the description, and a list of proved theorems.
fn timing_with(name: &str, more: &str, arguments: &[&str]) -> Output {
    timing_of(name, &[], more, arguments)
}

/// The same of the kernel as the compiler's options make it.
fn timing_of(name: &str, options: &[&str], more: &str, arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let description = std::fs::read_to_string(small().join("timing.toml")).expect("the description");
    let write = |path: &str, text: &str| {
        std::fs::create_dir_all(root.join(path).parent().expect("a folder")).expect("a folder");
        std::fs::write(root.join(path), text).expect("a file");
    };
    write("kernel/timing.toml", &format!("{description}\n{more}"));
    write("proof/certified.toml", "[layer]\nfunction = \"Small.function_proved\"\n# other = \"Small.planned\"\n");
    write(
        "proof/assumptions.txt",
        "# Comment.\n\nSmall.whole\n    Closed under the global context\n\nSmall.rests\n    Axioms: choice\n",
    );
    let file = root.join("kernel.elf");
    std::fs::write(&file, testing::kernel(&small().join("kernel.S"), options)).expect("a file");
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines/timing/x86-inorder.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wcet"));
    command.arg(&file).arg("--kernel").arg("--machine").arg(machine).args(arguments).env("ASHLAR_ROOT", &root);
    command.output().expect("the analyser runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_report_has_all_regions_the_response_and_the_stacks() {
    let output = timing("report", &["--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let regions = report["regions"].as_array().expect("regions");
    let cycles = |region: &Value| region["wcet_cycles"].as_u64();
    assert!(regions.iter().all(|region| cycles(region).is_some_and(|cycles| cycles > 0)), "{regions:#?}");
    assert!(regions.windows(2).all(|pair| cycles(&pair[0]) >= cycles(&pair[1])), "longest first");
    for kind in ["system call", "exception", "interrupt", "preemption point", "thread start", "resumed thread"] {
        let region = regions.iter().find(|region| region["kind"] == kind).unwrap_or_else(|| panic!("{kind}"));
        assert!(region["name"].as_str().is_some_and(|name| name.starts_with(kind)), "{region}");
        assert!(region["dominated_by"].as_str().is_some_and(|most| most.contains('%')), "{region}");
    }
    assert!(report["worst_response_cycles"].as_u64() > cycles(&regions[0]));
    assert_eq!(report["worst_response_cycles"], report["wcet_cycles"]);
    let responses = report["responses"].as_array().expect("responses");
    assert_eq!((responses.len(), &responses[0]["vector"], &responses[0]["name"]), (1, &1.into(), &"line".into()));
    // Nothing is said of who waits, nor of who serves.
    assert_eq!((&responses[0]["handler"], &responses[0]["cycles"]), (&"any thread".into(), &report["wcet_cycles"]));
    assert_eq!(responses[0]["lock_wait_cycles"], serde_json::json!({}));
    let looped = report["response_loops"].as_array().expect("loops of responses");
    let chase = looped.iter().find(|one| one["function"] == "chase").expect("it is on the way");
    assert!(chase["bound"] == 7 && chase["times"].as_u64() >= Some(7) && chase["cycles"].as_u64() > Some(7), "{chase}");
    assert!(report["stack_bytes"].as_u64().is_some_and(|bytes| bytes > 0 && bytes <= 4096));
    let loops = report["loops"].as_array().expect("loops");
    assert!(!loops.is_empty() && loops.iter().all(|one| one["bound"].is_u64()), "{loops:#?}");
    // What a person says of a list is told beside the bounds.
    let chase = loops.iter().find(|one| one["function"] == "chase").expect("a stated loop");
    assert_eq!(chase["evidence"], "stated");
    assert!(report["assumptions"].to_string().contains("in chase executes 7 times at most"));
    assert!(report["errors"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn waits_for_locks_stand_beside_the_bounds_or_it_is_said_why_not() {
    let locks = "[locks]\nsymbol = \"tickets\"\nbytes = 128\ncount = 2\nprocessors = 3\n\
                 numbers = { inner = 0, outer = 1 }\n";
    let run = |name: &str, option: &str, locks: &str| {
        let output = timing_of(name, &[option], locks, &["--format", "json", "-q"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("one JSON object")
    };
    let report = run("with-locks", "-DLOCKS=2", locks);
    let number = |value: &Value| value.as_u64().expect("a number");
    let found = report["locks"].as_array().expect("locks");
    let wait: u64 = found.iter().map(|lock| number(&lock["wait_cycles"])).sum();
    assert_eq!((&report["lock_processors"], found.len()), (&Value::from(3), 2));
    let (inner, outer) = (&found[0], &found[1]);
    assert_eq!((&inner["name"], &inner["members"]), (&Value::from("inner"), &Value::from(1)));
    assert_eq!(number(&inner["wait_cycles"]), 2 * number(&inner["section_cycles"]));
    let held = number(&outer["section_cycles"]) + number(&inner["section_cycles"]);
    // Of the two others, the first to get the outer lock is alone in its section.
    let waited = held + number(&outer["section_cycles"]);
    assert_eq!((number(&outer["held_cycles"]), number(&outer["wait_cycles"])), (held, waited));
    assert_eq!(inner["around"], serde_json::json!([]));
    assert_eq!(outer["around"][0]["takes"], serde_json::json!({ "inner": 1 }));
    let regions = report["regions"].as_array().expect("regions");
    let of =
        |kind: &str| number(&regions.iter().find(|one| one["kind"] == kind).expect("a region")["lock_wait_cycles"]);
    assert_eq!((of("thread start"), of("system call")), (wait, 0));
    assert_eq!(number(&report["lock_wait_cycles"]), 2 * wait);
    // Among two each lock is waited for once, and no other CPU comes first in a section; it is made for no more than three.
    let two = 2 * (number(&inner["section_cycles"]) + number(&outer["section_cycles"]));
    assert_eq!(report["responses"][0]["lock_wait_cycles"], serde_json::json!({ "2": two }));
    for (name, option, locks, why) in [
        ("kept-locks", "-DLOCKS=1", locks, "a lock is held that"),
        ("no-locks", "-DLOCKS=2", "", "no time waited for locks"),
    ] {
        let other = run(name, option, locks);
        assert!(other["locks"].is_null() && other["lock_wait_cycles"].is_null() && other["lock_processors"].is_null());
        assert!(other["regions"][0]["lock_wait_cycles"].is_null());
        assert!(other["worst_response_cycles"].is_u64(), "bounds do not depend on it");
        assert!(other["assumptions"].to_string().contains(why), "{}", other["assumptions"]);
    }
}

#[test]
fn a_theorem_that_bounds_rest_on_has_to_be_proved() {
    let run = |name: &str, theorem: &str| {
        let imported = format!(
            "[[imported]]\ntheorem = \"{theorem}\"\nsays = \"frames are apart\"\nleaves = \"and their sizes\"\n"
        );
        let output = timing_with(name, &imported, &["--format", "json", "-q"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        (output.status.code(), report)
    };
    for (name, theorem) in [("function-proved", "Small.function_proved"), ("whole-proved", "Small.whole")] {
        let (status, report) = run(name, theorem);
        assert_eq!(status, Some(0), "{report:#}");
        assert!(report["worst_response_cycles"].is_u64());
        let assumptions = report["assumptions"].to_string();
        assert!(assumptions.contains(&format!("imported: theorem {theorem}: frames are apart")), "{assumptions}");
        assert!(assumptions.contains("tested by `ashlar timing observe`, not shown: and their sizes"), "{assumptions}");
    }
    for (name, theorem) in [("unknown", "Small.unheard"), ("rests", "Small.rests"), ("planned", "Small.planned")] {
        let (status, report) = run(name, theorem);
        assert_eq!(status, Some(1), "{theorem}");
        assert_eq!(report["errors"][0]["code"], "ASH-T013");
        assert!(report["errors"][0]["message"].as_str().is_some_and(|text| text.contains(theorem)), "{report:#}");
        // What has no value is null, not absent.
        for field in ["worst_response_cycles", "wcet_cycles", "seconds"] {
            assert_eq!(report.get(field), Some(&Value::Null), "{field}");
        }
    }
}

#[test]
fn a_budget_gates_the_response_and_parameters_change_it() {
    assert_eq!(timing("late", &["--budget", "10 cycles", "-q"]).status.code(), Some(1));
    assert_eq!(timing("early", &["--budget", "900000000 cycles", "-q"]).status.code(), Some(0));
    let response = |name, arguments: &[&str]| {
        let all = [&["--format", "json", "-q"], arguments].concat();
        let report: Value = serde_json::from_slice(&timing(name, &all).stdout).expect("one JSON object");
        report["worst_response_cycles"].as_u64().expect("a response")
    };
    assert!(response("slow", &["--set", "memory.latency=900"]) > response("usual", &[]));
}

#[test]
fn options_of_programs_are_refused() {
    let output = timing("refused", &["--shared", "--as-loaded"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--as-loaded, --shared"), "{}", text(&output.stderr));
}

#[test]
fn a_kernel_whose_time_is_up_has_no_bound() {
    let output = timing("timeout", &["--timeout", "0"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("parts of the kernel to be bounded") && output.stdout.is_empty());
    assert_eq!(timing("timeout-wrong", &["--timeout", "-1"]).status.code(), Some(2));
    let output = timing("timeout-ample", &["--timeout", "10000", "-q"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn the_page_is_made_from_the_report() {
    let page = text(&timing("page", &["--format", "markdown", "-q"]).stdout);
    assert!(page.starts_with("<!-- Generated by `./ashlar timing --kernel"), "{page}");
    for part in
        ["## The 10 longest regions", "## Entries", "| system call | ", "| `chase` | 7 | stated, not validated |"]
    {
        assert!(page.contains(part), "{part} is missing:\n{page}");
    }
}
