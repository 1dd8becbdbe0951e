//! One refused file per rule, and accepted files. The first line of a refused file lists all its faults.

use std::path::{Path, PathBuf};

use c2coq::rule::Rule;
use c2coq::{check, Checked, Options};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn sources(name: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    files.sort();
    files
}

fn run(path: &Path) -> Checked {
    // A second file of the same run, for what only two files show.
    let second = path.with_extension("second");
    let paths = if second.is_file() { vec![second, path.to_path_buf()] } else { vec![path.to_path_buf()] };
    check(&paths, &Options::default()).unwrap()
}

/// `rule line`, or `rule file:line` for a fault in a header.
fn found(checked: &Checked, main: &Path) -> Vec<String> {
    let mut found: Vec<String> = checked
        .faults
        .iter()
        .map(|fault| {
            let file = &checked.sources.get(fault.span.file).path;
            let (line, _) = checked.sources.position(fault.span.file, fault.span.start);
            let place = if file == main {
                line.to_string()
            } else {
                format!("{}:{line}", file.file_name().unwrap().to_string_lossy())
            };
            format!("{} {place}", fault.rule.name())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn refused_files_hold_exactly_the_faults_they_announce() {
    let mut wrong = Vec::new();
    for path in sources("reject") {
        let text = std::fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap();
        let announced = first.strip_prefix("/* expect: ").and_then(|rest| rest.strip_suffix(" */"));
        let mut expected: Vec<String> = announced.unwrap().split(", ").map(str::to_string).collect();
        expected.sort();
        let found = found(&run(&path), &path);
        if found != expected {
            wrong.push(format!("{}:\n  expected {expected:?}\n  found    {found:?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_refused_file() {
    for rule in Rule::ALL {
        let path = folder("reject").join(format!("{}.c", rule.name()));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text.lines().next().is_some_and(|line| line.contains(rule.name())), "{}", path.display());
    }
}

#[test]
fn accepted_files_hold_no_fault() {
    let files = sources("accept");
    assert!(!files.is_empty());
    for path in files {
        let checked = run(&path);
        assert_eq!(found(&checked, &path), Vec::<String>::new(), "{}", path.display());
    }
}
