//! The committed schemas accept what people write and what commands print, and refuse mistakes.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

struct Schema(schema::Schema);

impl Schema {
    fn read(name: &str) -> Schema {
        let path = root().join(format!("docs/src/reference/schemas/{name}.schema.json"));
        Schema(schema::Schema::read(&path).unwrap())
    }

    #[track_caller]
    fn accepts(&self, value: &Value) {
        if let Err(error) = self.0.check(value) {
            panic!("{error}\n{value:#}");
        }
    }

    #[track_caller]
    fn refuses(&self, value: &Value) {
        assert!(self.0.check(value).is_err(), "{value:#}");
    }
}

fn toml_files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect()
}

fn toml_value(text: &str) -> Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

/// What a command prints with `--format json`, with its exit status.
fn printed(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_ashlar"))
        .args(["--format", "json"])
        .args(arguments)
        .current_dir(root())
        .env("ASHLAR_ROOT", root())
        .output()
        .unwrap();
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), value)
}

#[test]
fn all_descriptions_and_machines_of_the_tree_fit() {
    for (name, folder) in [("system", "systems"), ("machine", "machines")] {
        let schema = Schema::read(name);
        let files = toml_files(folder);
        assert!(!files.is_empty());
        for file in files {
            schema.accepts(&toml_value(&std::fs::read_to_string(file).unwrap()));
        }
    }
}

#[test]
fn mistakes_in_a_description_do_not_fit() {
    let schema = Schema::read("system");
    let good = "[system]\nmachine = \"q35\"\n[process.a]\nprogram = \"hello\"\n";
    schema.accepts(&toml_value(good));
    let mistakes = [
        ("machine =", "machin ="),
        ("[process.a]", "[proces.a]"),
        ("[process.a]", "[process.A]"),
        ("program = \"hello\"", "program = \"hello\"\ncpu = 16"),
        ("program = \"hello\"", "program = \"hello\"\nquota = \"64MB\""),
        ("program = \"hello\"", "program = \"hello\"\nstart = \"never\""),
        ("program = \"hello\"", "program = \"hello\"\ndevices = \"com2\""),
    ];
    for (from, to) in mistakes {
        schema.refuses(&toml_value(&good.replace(from, to)));
    }
}

#[test]
fn what_commands_print_fits() {
    for (arguments, status, schema) in [
        (&["check", "hello"][..], 0, "check"),
        (&["check", "tests/descriptions/unknown-key.toml"], 1, "check"),
        (&["check", "tests/descriptions/own-ancestor.toml"], 1, "check"),
        (&["explain"], 0, "explain"),
        (&["test", "--list"], 0, "test"),
        (&["campaign"], 0, "campaign"),
        (&["report", "tests/cli/records/1of2.json", "tests/cli/records/2of2-finding.json"], 1, "report"),
        (&["report", "tests/cli/records/2of2.json"], 1, "report"),
        (&["explain", "goto"], 0, "explain"),
        (&["explain", "nothing"], 2, "error"),
        (&["build", "nosuch"], 2, "error"),
        (&["check", "--nope"], 2, "error"),
    ] {
        let (found, value) = printed(arguments);
        assert_eq!(found, Some(status), "{arguments:?}");
        Schema::read(schema).accepts(&value);
    }
    // Whether something is missing depends on the machine.
    Schema::read("doctor").accepts(&printed(&["doctor"]).1);
}
