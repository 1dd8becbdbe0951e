//! The evidence for what is packed. A record stands in `build/evidence`: a command's result, with the hashes of the binaries
//! that it speaks of. It is packed only if these are the binaries that are packed.

use super::{hash, write};
use builder::{build_kernel, KernelOptions};
use output::{Failure, Output};
use project::Project;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kind of evidence: its name, what it shows, and the command that makes it.
struct Kind {
    name: &'static str,
    shows: &'static str,
    command: &'static [&'static str],
    binaries: fn(&Project) -> Vec<PathBuf>,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "theorems",
        shows: "what is proved of the C that the kernel was compiled from",
        command: &["prove"],
        binaries: kernel,
    },
    Kind {
        name: "bounds",
        shows: "the kernel's bounds on time, from its binary",
        command: &["timing", "--kernel", "--machine", "x86-inorder"],
        binaries: kernel,
    },
    Kind {
        name: "drivers",
        shows: "the drivers' C held against their protocols",
        command: &["drivers", "verify"],
        binaries: drivers,
    },
];

/// What evidence of the kernel speaks of: the one with ticket locks that checks nothing and records nothing.
fn kernel(_: &Project) -> Vec<PathBuf> {
    vec![Path::new("build/kernel").join(KernelOptions::default().configuration()).join("ashlar.elf")]
}

fn drivers(project: &Project) -> Vec<PathBuf> {
    let names = project::folders(&project.root().join("user/drivers"));
    names.iter().map(|name| Path::new("build/user").join(format!("{name}.elf"))).collect()
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    command: String,
    /// Path in the tree and SHA-256.
    binaries: BTreeMap<String, String>,
    result: Value,
}

/// What there is to show.
#[derive(Debug, PartialEq)]
enum State {
    Included(String),
    NotRun,
    OfOthers,
}

pub(super) struct Evidence {
    pub(super) name: &'static str,
    shows: &'static str,
    command: String,
    state: State,
}

impl Evidence {
    pub(super) fn state(&self) -> &'static str {
        match self.state {
            State::Included(_) => "included",
            State::NotRun => "not run",
            State::OfOthers => "of other binaries",
        }
    }

    /// The record, if it is packed.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.state {
            State::Included(text) => Some(text),
            State::NotRun | State::OfOthers => None,
        }
    }
}

/// Each kind of evidence, made first where it is missing if `make` says so.
pub(super) fn all(project: &Project, make: bool, output: &Output) -> Result<Vec<Evidence>, Failure> {
    let mut all = Vec::new();
    for kind in KINDS {
        let path = project.build().join("evidence").join(format!("{}.json", kind.name));
        let binaries = hashes(project, &(kind.binaries)(project))?;
        let mut state = compare(std::fs::read_to_string(&path).ok(), &binaries);
        if make && !matches!(state, State::Included(_)) {
            write(&path, &made(&kind, &binaries, project, output)?)?;
            state = compare(std::fs::read_to_string(&path).ok(), &binaries);
        }
        all.push(Evidence { name: kind.name, shows: kind.shows, command: words(&kind), state });
    }
    Ok(all)
}

fn compare(text: Option<String>, binaries: &BTreeMap<String, String>) -> State {
    // What cannot be read is no evidence.
    let Some(text) = text else { return State::NotRun };
    match serde_json::from_str::<Record>(&text) {
        Ok(record) if record.binaries == *binaries => State::Included(text),
        Ok(_) => State::OfOthers,
        Err(_) => State::NotRun,
    }
}

fn words(kind: &Kind) -> String {
    format!("ashlar {}", kind.command.join(" "))
}

fn hashes(project: &Project, binaries: &[PathBuf]) -> Result<BTreeMap<String, String>, Failure> {
    binaries.iter().map(|path| Ok((path.display().to_string(), hash(&project.root().join(path))?))).collect()
}

/// Runs the command, and gives its record. The binaries must be the same afterwards, built anew if a source has changed.
fn made(kind: &Kind, before: &BTreeMap<String, String>, project: &Project, output: &Output) -> Result<String, Failure> {
    let words = words(kind);
    let mut command = Command::new(std::env::current_exe().unwrap_or_else(|_| Project::tool("ashlar")));
    command.args(["--format", "json", "--quiet"]).args(kind.command);
    command.env("ASHLAR_ROOT", project.root()).current_dir(project.root());
    output.detail(&format!("+ {command:?}"));
    let done = command
        .output()
        .map_err(|error| Failure::unable(format!("{words} cannot be started: {error}"), "build the tool again"))?;
    if !done.status.success() {
        let message = format!("`{words}` ended with {}: that is no evidence for a distribution", done.status);
        return Err(Failure::Finding(format!("{message}\n{}", String::from_utf8_lossy(&done.stderr).trim_end())));
    }
    let result = serde_json::from_slice(&done.stdout).map_err(|error| {
        Failure::unable(format!("the result of `{words}` is not JSON: {error}"), "build the tool again")
    })?;
    build_kernel(&KernelOptions::default(), project, output)?;
    builder::build_programs(&KernelOptions::default(), project, output)?;
    if hashes(project, &(kind.binaries)(project))? != *before {
        return Err(Failure::unable(
            format!("sources have changed while `{words}` ran"),
            "try again, and change nothing",
        ));
    }
    let record = Record { command: words, binaries: before.clone(), result };
    serde_json::to_string_pretty(&record)
        .map(|text| text + "\n")
        .map_err(|error| Failure::unable(format!("the record is not JSON: {error}"), ""))
}

/// The page that says what there is.
pub(super) fn page(all: &[Evidence]) -> String {
    let mut page =
        "# Evidence\n\nA file here is the result of the command, with the SHA-256 of each binary that it speaks of. \
                    Of the other binaries in this\ndistribution it says nothing. What a result means is in the book: \
                    caveats.html.\n\n| evidence | shows | made by | state |\n|---|---|---|---|\n"
            .to_string();
    for one in all {
        page += &format!("| {} | {} | `{}` | {} |\n", one.name, one.shows, one.command, one.state());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{compare, State};
    use std::collections::BTreeMap;

    #[test]
    fn a_record_of_other_binaries_is_not_taken() {
        let binaries = |hash: &str| BTreeMap::from([("kernel".to_string(), hash.to_string())]);
        let text = r#"{ "command": "ashlar prove", "binaries": { "kernel": "1a" }, "result": {} }"#.to_string();
        assert_eq!(compare(Some(text.clone()), &binaries("1a")), State::Included(text.clone()));
        assert_eq!(compare(Some(text.clone()), &binaries("1b")), State::OfOthers);
        assert_eq!(compare(Some(text), &BTreeMap::new()), State::OfOthers);
        assert_eq!(compare(Some("{}".into()), &binaries("1a")), State::NotRun);
        assert_eq!(compare(None, &binaries("1a")), State::NotRun);
    }
}
