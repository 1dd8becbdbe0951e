//! `ashlar timing` as a person uses it: forms, statuses, what-ifs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const SOURCE: &str = "int data[64];
__attribute__((noinline)) int sum(int count) {
    int total = 0;
    for (int i = 0; i < count; i++)
        total += data[i & 63];
    return total;
}
int main(int which) {
    int total = 0;
    for (int i = 0; i < 10; i++)
        total += sum(i);
    return which > 5 ? total : total + sum(40);
}
int forever(int *pointer) {
    while (*pointer)
        pointer = (int *)*pointer;
    return 0;
}
void _start(void) { for (;;) main(forever(data)); }
";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn program(name: &str) -> String {
    let (source, file) = (folder().join(format!("{name}.c")), folder().join(format!("{name}.elf")));
    std::fs::write(&source, SOURCE).unwrap();
    let options = ["-O2", "-g", "-marm", "-march=armv6", "-ffreestanding", "-nostdlib", "-static", "-o"];
    let mut compiler = Command::new("arm-linux-gnueabi-gcc");
    assert!(compiler.args(options).args([&file, &source]).status().unwrap().success());
    file.display().to_string()
}

/// In the root of the tree.
fn timing(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    Command::new(env!("CARGO_BIN_EXE_wcet")).args(arguments).current_dir(root).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn bound(file: &str, more: &[&str]) -> Output {
    timing(&[&[file, "--entry", "main", "--machine", "arm1136-kzm"], more].concat())
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

fn cycles(output: &Output) -> u64 {
    json(output)["wcet_cycles"].as_u64().unwrap()
}

#[test]
fn a_bound_in_all_forms() {
    let file = program("forms");
    let output = bound(&file, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("main on arm1136-kzm: at most "));
    assert!(text(&output.stderr).contains("[1/9] load\n"), "progress");

    let output = bound(&file, &["--format", "json", "--quiet"]);
    assert_eq!(text(&output.stderr), "");
    let report = json(&output);
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src/reference/schemas/timing.schema.json");
    schema::Schema::read(&schema).unwrap().check(&report).unwrap();
    assert_eq!(report["verdict"], "bounded");
    let seconds = report["seconds"].as_f64().unwrap();
    assert!((seconds * 532e6 - report["wcet_cycles"].as_f64().unwrap()).abs() < 1e-3);
    let steps = report["path"].as_array().unwrap();
    let sum: u64 = steps.iter().map(|step| step["cycles"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), report["analysis"]["path_cycles"].as_u64());
    assert_eq!(Some(sum), report["wcet_cycles"].as_u64(), "the worst path of this program reaches the bound");
    let loops = report["loops"].as_array().unwrap();
    let bounds: Vec<Option<u64>> = loops.iter().map(|found| found["bound"].as_u64()).collect();
    assert!(bounds.contains(&Some(10)) && bounds.contains(&Some(40)), "{loops:?}");
    assert!(loops.iter().all(|found| found["source"].as_str().unwrap().contains("forms.c:")));
    assert!(report["infeasible"].is_array() && report["errors"].as_array().unwrap().is_empty());

    let page = folder().join("report.html");
    let output = bound(&file, &["--format", "html", "--output", page.to_str().unwrap()]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("total += data[i &amp; 63];"), "source lines stand beside the code");
    assert!(text(&bound(&file, &["--format", "csv"]).stdout).starts_with("kind,function,"));
    let sarif = json(&bound(&file, &["--format", "sarif"]));
    assert_eq!((sarif["version"].as_str(), &sarif["runs"][0]["results"]), (Some("2.1.0"), &Value::Array(Vec::new())));
}

/// An argument that is the loop's limit: with its range the loop ends, and what is stated is in the report.
#[test]
fn registers_at_the_entry_can_be_stated() {
    let file = program("registers");
    let loops = |range: &str| {
        let output = timing(&["loops", &file, "--entry", "sum", "--register", range, "--format", "json"]);
        let report = json(&output);
        let bounds: Vec<Option<u64>> =
            report["loops"].as_array().unwrap().iter().map(|found| found["bound"].as_u64()).collect();
        (output.status.code(), bounds, report["assumptions"].to_string())
    };
    for (range, most) in [("r0=-5..20", 20), ("r0=7..0x20", 0x20)] {
        let (status, bounds, assumptions) = loops(range);
        assert_eq!(status, Some(0));
        assert!(bounds.iter().all(|bound| (most..=most + 1).contains(&bound.unwrap())), "{range}: {bounds:?}");
        assert!(assumptions.contains(&format!("at the entry a register holds {range}")), "{assumptions}");
    }
    let (status, _, _) = loops("r0=20..5");
    assert_eq!(status, Some(2));
}

#[test]
fn a_budget_is_a_gate() {
    let file = program("budget");
    let wcet = cycles(&bound(&file, &["--format", "json"]));
    let exact = format!("{wcet} cycles");
    assert_eq!(bound(&file, &["--budget", &exact]).status.code(), Some(0));
    let output = bound(&file, &["--budget", &format!("{} cycles", wcet - 1), "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    assert_eq!((report["verdict"].as_str(), report["budget"]["slack_cycles"].as_i64()), (Some("late"), Some(-1)));
    assert_eq!(report["wcet_cycles"].as_u64(), Some(wcet));
    assert_eq!(bound(&file, &["--budget", "1s"]).status.code(), Some(0));
    assert_eq!(bound(&file, &["--budget", "1ns"]).status.code(), Some(1));
    assert_eq!(bound(&file, &["--budget", "soon"]).status.code(), Some(2));
}

#[test]
fn another_parameter_is_solved_anew() {
    let file = program("set");
    let before = cycles(&bound(&file, &["--format", "json"]));
    let output = bound(&file, &["--set", "memory.latency=30", "--format", "json"]);
    assert!(cycles(&output) < before);
    let numbers = json(&output)["machine"]["numbers"].clone();
    let changed =
        numbers.as_array().unwrap().iter().find(|number| number["place"] == "memory.latency").unwrap().clone();
    assert_eq!((changed["value"].as_str(), changed["instead_of"].as_str()), (Some("30"), Some("60")));
    let same = bound(&file, &["--set", "memory.latency=60", "--format", "json"]);
    assert_eq!(cycles(&same), before);
    let output = bound(&file, &["--set", "memory.speed=1", "--set", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("memory.speed") && text(&output.stderr).contains("--set nothing"));
    assert_eq!(bound(&file, &["--set", "cache.l1i.ways=3"]).status.code(), Some(2), "such a cache cannot be");
}

#[test]
fn an_address_is_explained() {
    let file = program("explain");
    let output = bound(&file, &["--explain", "sum", "--format", "json"]);
    let explanation = json(&output)["explanation"].clone();
    assert_eq!(explanation["symbol"], "sum");
    let contexts = explanation["contexts"].as_array().unwrap();
    assert_eq!(contexts.len(), 2, "two calls");
    assert!(contexts.iter().any(|context| context["count"] == 10), "{contexts:?}");
    assert!(contexts.iter().all(|context| context["accesses"][0]["kind"] == "fetch"));
    assert!(text(&bound(&file, &["--explain", "sum"]).stdout).contains("called by main > sum"));
    assert_eq!(bound(&file, &["--explain", "nothing"]).status.code(), Some(2));
}

#[test]
fn time_that_is_up_leaves_a_valid_bound() {
    let file = program("timeout");
    let whole = cycles(&bound(&file, &["--format", "json"]));
    let output = bound(&file, &["--timeout", "0", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(cycles(&output) >= whole);
    assert_eq!(json(&output)["analysis"]["complete"], false);
    assert_eq!(bound(&file, &["--timeout", "-1"]).status.code(), Some(2));
}

#[test]
fn loops_whose_time_is_up_say_so() {
    let file = program("timeout-loops");
    let loops = |more: &[&str]| timing(&[&["loops", &file, "--entry", "main", "--format", "json"], more].concat());
    assert_eq!(json(&loops(&[]))["complete"], true);
    let late = loops(&["--timeout", "0"]);
    assert_eq!(json(&late)["complete"], false);
    // What is found without a search is found all the same.
    assert_eq!((late.status.code(), json(&late)["loops"].as_array().map(Vec::len)), (Some(0), Some(2)));
    assert_eq!(loops(&["--timeout", "-1"]).status.code(), Some(2));
}

#[test]
fn loops_alone() {
    let file = program("loops");
    let output = timing(&["loops", &file, "--entry", "main", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
    assert_eq!(report["loops"].as_array().unwrap().len(), 2);
    assert!(report.get("wcet_cycles").is_none());
    assert!(text(&timing(&["loops", &file, "--entry", "main"]).stdout).starts_with("2 loops, 2 bounded\n"));

    let output = timing(&["loops", &file, "--entry", "forever", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    let open = &report["loops"][0];
    assert!(open["bound"].is_null() && open["evidence"].is_null() && !open["reason"].as_str().unwrap().is_empty());
    assert_eq!(report["errors"][0]["code"], "ASH-T016");
    // The search above ended by itself; it is the same for bounds.
    let machine = ["--machine", "arm1136-kzm", "--timeout", "2"];
    let output = timing(&[&[&file, "--entry", "forever", "--format", "json"], &machine[..]].concat());
    assert_eq!((output.status.code(), &json(&output)["wcet_cycles"]), (Some(1), &Value::Null));
}

#[test]
fn constraints_hold_or_fail_the_run() {
    let file = program("stated");
    let stated = |name: &str, text: &str| {
        let path = folder().join(name);
        std::fs::write(&path, text).unwrap();
        bound(&file, &["--constraints", path.to_str().unwrap(), "--format", "json"])
    };
    let once = "[[executes]]\nplace = \"main\"\nat_most = 1\n";
    let output = stated("once.toml", once);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(json(&output)["constraints"][0]["validated"], true);
    let never = "[[executes]]\nplace = \"main\"\nat_most = 0\n";
    let output = stated("never.toml", &format!("{once}{never}"));
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    assert_eq!((&report["wcet_cycles"], report["errors"][0]["code"].as_str()), (&Value::Null, Some("ASH-T013")));
    assert_eq!(report["constraints"][1]["validated"], false);
    let output = stated("nowhere.toml", "[[executes]]\nplace = \"nowhere\"\nat_most = 1\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(json(&output)["errors"][0]["source"].as_str().unwrap().contains("nowhere.toml:"));
}

#[test]
fn what_cannot_be_carried_out() {
    let status = |arguments: &[&str]| timing(arguments).status.code();
    let file = program("wrong");
    assert_eq!(status(&["/no/such/file", "--machine", "arm1136-kzm"]), Some(2));
    assert_eq!(status(&[&file]), Some(2), "no machine");
    assert_eq!(status(&[&file, "--machine", "none"]), Some(2));
    assert_eq!(status(&[&file, "--machine", "arm1136-kzm", "--entry", "nothing"]), Some(2));
    assert_eq!(status(&["README.md", "--machine", "arm1136-kzm"]), Some(1), "no executable");
    assert_eq!(status(&[]), Some(2));
    assert_eq!(bound(&file, &["--output", "/no/such/folder/report"]).status.code(), Some(2));
    let output = timing(&["/no/such/file", "--machine", "none", "--format", "json"]);
    let codes = json(&output)["errors"].as_array().unwrap().len();
    assert_eq!(codes, 2, "both at once");
}

/// A solver that ends at once costs what it would have found, and nothing else.
#[test]
fn a_solver_that_dies_leaves_a_weaker_bound() {
    use std::os::unix::fs::PermissionsExt;
    let file = program("dying_solver");
    let tools = folder().join("dying-solver");
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::write(tools.join("z3"), "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(tools.join("z3"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let of = |entry: &str| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let options = ["--machine", "arm1136-kzm", "--format", "json", "--entry", entry, &file];
        Command::new(env!("CARGO_BIN_EXE_wcet")).args(options).env("PATH", &path).current_dir(root).output().unwrap()
    };
    let whole = cycles(&bound(&file, &["--format", "json"]));
    let weaker = of("main");
    assert_eq!(weaker.status.code(), Some(0), "{}", text(&weaker.stderr));
    assert!(cycles(&weaker) >= whole);
    assert_eq!(json(&weaker)["analysis"]["complete"], false);
    // A loop for which it was needed has no bound, and says why.
    let open = of("forever");
    assert_eq!(open.status.code(), Some(1), "{}", text(&open.stderr));
    assert!(text(&open.stdout).contains("the solver ended"), "{}", text(&open.stdout));
}
