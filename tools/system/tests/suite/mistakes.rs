//! Mistakes that a newcomer makes: each is one fault (or as many as there are mistakes), and its remedy says what to write.

use crate::common;
use std::path::Path;

/// A system without fault, in which each case changes a piece.
const GOOD: &str = "[system]\nmachine = \"q35\"\n\n[process.a]\nprogram = \"hello\"\nconsole = \"a\"\n\n[console.a]\n";

/// Codes, lines and remedies of all faults of a text.
fn faults(text: &str) -> Vec<(&'static str, usize, String, String)> {
    // Tests run side by side.
    let folder = testing::Folder::new("mistakes");
    let path = folder.join("mistake.toml");
    std::fs::write(&path, text).unwrap();
    let report = system::check(&path, &common::assets(Path::new("/nonexistent")));
    report
        .diagnostics
        .iter()
        .map(|one| (one.code.name, one.line().unwrap_or(0), one.message.clone(), one.remedy.clone()))
        .collect()
}

/// The only fault of the good system with a piece replaced.
#[track_caller]
fn only(from: &str, to: &str) -> (&'static str, usize, String, String) {
    assert!(GOOD.contains(from), "{from}");
    let mut found = faults(&GOOD.replacen(from, to, 1));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Adds a key to the process; its line is 7.
#[track_caller]
fn key(line: &str) -> (&'static str, usize, String, String) {
    only("console = \"a\"\n", &format!("console = \"a\"\n{line}\n"))
}

#[test]
fn the_good_system_is_good() {
    assert_eq!(faults(GOOD), []);
}

#[test]
fn a_misspelt_key_is_not_missing_as_well() {
    let (code, line, _, remedy) = only("program =", "progam =");
    assert_eq!((code, line, &remedy[..]), ("ASH-S004", 5, "did you mean `program`?"));
    let (code, _, _, remedy) = only("machine =", "machin =");
    assert_eq!((code, &remedy[..]), ("ASH-S004", "did you mean `machine`?"));
    let (code, _, _, remedy) = only("[process.a]", "[proces.a]");
    assert_eq!((code, &remedy[..]), ("ASH-S004", "did you mean `process`?"));
}

#[test]
fn a_faulty_budget_is_there() {
    let (code, line, ..) = key("period = \"10ms\"\nbudget = \"100ns\"");
    assert_eq!((code, line), ("ASH-S008", 8));
    let (code, line, ..) = key("budget = \"1ms\"\nperiod = \"10 minutes\"");
    assert_eq!((code, line), ("ASH-S007", 8));
}

#[test]
fn units_are_suggested() {
    for (wrong, right) in [("\"64MB\"", "64MiB"), ("\"64mib\"", "64MiB"), ("\"1.5MiB\"", "1536KiB"), ("64", "64MiB")] {
        let (_, _, _, remedy) = key(&format!("quota = {wrong}"));
        assert!(remedy.contains(&format!("`quota = \"{right}\"`")), "{wrong}: {remedy}");
    }
    let (_, _, _, remedy) = key("period = \"10msec\"\nbudget = \"1ms\"");
    assert!(remedy.contains("`period = \"10ms\"`"), "{remedy}");
}

#[test]
fn ranges_are_those_of_the_kernel() {
    for wrong in ["-1", "16", "4294967296"] {
        let (code, _, _, remedy) = key(&format!("cpu = {wrong}"));
        assert_eq!((code, &remedy[..]), ("ASH-S008", "choose a value from 0 to 15"));
    }
    let (code, _, message, _) = key("cpu = 15");
    assert!(code == "ASH-S018" && message.contains("the machine has 8"), "{message}");
}

#[test]
fn values_of_the_wrong_type_are_rewritten() {
    let cases = [
        ("cpu = \"1\"", "`cpu = 1`"),
        ("power = \"true\"", "`power = true`"),
        ("devices = \"com2\"", "`devices = [\"com2\"]`"),
        ("parent = [\"a\"]", "`parent = \"a\"`"),
        ("args = \"x\"", "`args.NAME = \"TEXT\"`"),
        ("args.x = [1]", "`args.x = \"TEXT\"`"),
    ];
    for (line, right) in cases {
        let (code, _, _, remedy) = key(line);
        assert!(code == "ASH-S005" && remedy.contains(right), "{line}: {remedy}");
    }
}

#[test]
fn a_circle_of_parents_is_shown_once_with_its_path() {
    let process = |name: &str, parent: &str| format!("[process.{name}]\nprogram = \"hello\"\nparent = \"{parent}\"\n");
    let text = format!("{GOOD}{}{}{}{}", process("x", "p"), process("p", "q"), process("q", "r"), process("r", "p"));
    let found = faults(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].2.ends_with("p -> q -> r -> p"), "{}", found[0].2);
}

#[test]
fn a_table_that_stands_twice_is_one_fault() {
    let found = faults(&format!("{GOOD}\n[process.a]\nprogram = \"hello\"\nconsole = \"a\"\n"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0, &found[0].2[..]), ("ASH-S003", "the table [process.a] stands twice"));
}

#[test]
fn a_table_that_cannot_be_read_is_not_missing() {
    assert_eq!(only("[process.a]", "[process.a").0, "ASH-S002");
    assert_eq!(only("[process.a]", "[process.A]").0, "ASH-S009");
    let (code, line, _, remedy) = only("[process.a]", "[process]");
    assert!((code, line) == ("ASH-S005", 4) && remedy.contains("[process.first]"), "{remedy}");
}

#[test]
fn programs_are_named_without_folder_and_ending() {
    for wrong in ["hello.elf", "apps/hello.c", "helo"] {
        let (code, _, _, remedy) = only("\"hello\"", &format!("\"{wrong}\""));
        assert_eq!((code, &remedy[..]), ("ASH-S028", "did you mean `hello`?"));
    }
}

#[test]
fn what_is_declared_here_can_be_added_here() {
    let (code, _, _, remedy) = only("[console.a]\n", "");
    assert_eq!((code, &remedy[..]), ("ASH-S010", "add a table [console.a]"));
}

#[test]
fn devices_and_directories_are_refused_at_once() {
    for (path, what) in [("/dev/zero", "a device"), ("/", "a directory")] {
        let report = system::check(Path::new(path), &common::assets(Path::new("/nonexistent")));
        assert!(report.to_string().contains(what), "{report}");
        let (code, _, message, _) =
            only("[console.a]\n", &format!("[console.a]\n[vm.g]\nmemory = \"64MiB\"\nkernel = \"{path}\"\n"));
        assert!(code == "ASH-S033" && message.contains(what), "{message}");
    }
}

#[test]
fn the_first_thread_has_no_table_of_its_own() {
    let (code, line, message, remedy) = key("thread.main = { priority = 200 }");
    assert_eq!((code, line), ("ASH-S009", 7), "{message}");
    assert!(message.contains("first thread of `a`"), "{message}");
    assert!(remedy.contains("[process.a]"), "{remedy}");
}

#[test]
fn an_over_committed_processor_is_told_by_thread() {
    let line = "period = \"10ms\"\nbudget = \"1ms\"\nthread.x = { period = \"10ms\", budget = \"5ms\" }\n\
                thread.y = { period = \"10ms\", budget = \"5ms\" }";
    let (code, _, message, _) = key(line);
    assert_eq!(code, "ASH-S040", "{message}");
    assert_eq!(message, "CPU 0 is promised 110 % of its time: a 10 %, a.x to a.y 50 % each");
}
