//! Tests of the command line itself: `tests/cli/NAME.toml`.
//!
//! ```toml
//! about = "one line for people"
//! arguments = ["run", "hello", "--headless", "--until", "HELLO"]
//! status = 0                 # the exit status
//! timeout = 60               # seconds
//! stdout = ["regex"]         # each must match a line of the output
//! stderr = ["regex"]
//! absent = ["regex"]         # none matches a line of either
//! environment = { COLUMNS = "60" }
//! json = "check"             # standard output is one JSON object that fits this schema of docs/src/reference/schemas;
//!                            # with "schema", it is a schema itself
//! written = { "build/trace.json" = "trace-file" }   # files that the command writes, and the schema that each fits
//! kill = "regex"             # the command is killed by SIGKILL once it has said this; `status` is then left out
//! edit = [{ file = "kernel/...", replace = "text that stands there once", by = "another" }]
//!                            # runs in a copy of kernel, proof and docs with these edits, whose proofs are built
//! needs = { seconds = 60 }   # see `needs`
//! ```
//!
//! When a command has ended, nothing that it started may still run.

use super::log::Log;
use super::needs::Needs;
use super::Outcome;
use emulator::transcript::line_regex;
use output::{Failure, Output};
use project::copies::{mirror, Edit};
use project::Project;
use schema::Schema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output as Done, Stdio};
use std::time::{Duration, Instant};

/// Lines shown of a command that did not behave.
const LAST_LINES: usize = 40;
/// How long what a command has started may run on.
const TIME_TO_END: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandTest {
    pub about: String,
    arguments: Vec<String>,
    status: Option<i32>,
    timeout: u64,
    #[serde(default)]
    stdout: Vec<String>,
    #[serde(default)]
    stderr: Vec<String>,
    #[serde(default)]
    absent: Vec<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    json: Option<String>,
    #[serde(default)]
    written: BTreeMap<PathBuf, String>,
    kill: Option<String>,
    #[serde(default)]
    edit: Vec<Edit>,
    #[serde(default)]
    pub needs: Needs,
}

impl CommandTest {
    pub fn read(path: &Path) -> Result<CommandTest, Failure> {
        let fault =
            |text: String| Failure::unable(format!("{}: {text}", path.display()), "see tools/cases/src/command.rs");
        let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
        toml::from_str(&text).map_err(|error| fault(error.to_string()))
    }

    /// What a reader would type.
    pub fn command_line(&self) -> String {
        format!("./ashlar {}", self.arguments.join(" "))
    }

    /// Runs the command in the root of the tree, or of an edited copy, with this very tool.
    pub fn run(&self, name: &str, project: &Project, output: &Output) -> Outcome {
        output.detail(&format!("+ {}", self.command_line()));
        let tool = match std::env::current_exe() {
            Ok(tool) => tool,
            Err(error) => return Outcome::Failed(format!("the tool does not know where it is: {error}")),
        };
        let root = match self.root(name, project) {
            Ok(root) => root,
            Err(why) => return Outcome::Failed(why),
        };
        // What an earlier run has left says nothing.
        self.written.keys().for_each(|path| drop(std::fs::remove_file(root.join(path))));
        // `timeout` also ends what the command has started.
        let mut command = match self.kill {
            None => Command::new("timeout"),
            Some(_) => Command::new(&tool),
        };
        if self.kill.is_none() {
            command.arg(self.timeout.to_string()).arg(tool);
        }
        command.args(&self.arguments).current_dir(&root).env("ASHLAR_ROOT", &root).envs(&self.environment);
        let mark = guardian::new_mark();
        guardian::mark(&mut command, &mark);
        let done = match &self.kill {
            None => command.output().map_err(|error| format!("timeout cannot be started: {error}")),
            Some(pattern) => killed(command, pattern),
        };
        let done = match done {
            Ok(done) => done,
            Err(why) => return Outcome::Failed(why),
        };
        let mut faults = self.faults(done.status.code(), &done.stdout, &done.stderr);
        faults
            .extend(self.json.as_ref().and_then(|name| misfit(project.root(), name, "standard output", &done.stdout)));
        faults.extend(self.written.iter().filter_map(|(path, name)| {
            let what = path.display().to_string();
            match std::fs::read(root.join(path)) {
                Ok(bytes) => misfit(project.root(), name, &what, &bytes),
                Err(error) => Some(format!("{what} cannot be read: {error}")),
            }
        }));
        faults.extend(left_behind(&mark));
        if faults.is_empty() {
            return Outcome::Passed;
        }
        let mut log = Log::new(name, project);
        log.part("standard output", &done.stdout, LAST_LINES);
        log.part("standard error", &done.stderr, LAST_LINES);
        Outcome::Failed(format!("{}\n--- ./ashlar {}{}", faults.join("\n"), self.arguments.join(" "), log.finish()))
    }

    /// The tree itself, or an edited copy.
    fn root(&self, name: &str, project: &Project) -> Result<PathBuf, String> {
        if self.edit.is_empty() {
            return Ok(project.root().to_path_buf());
        }
        let copy = project.build().join("tests").join(name);
        for (folder, compiled) in [("kernel", false), ("proof", false), ("docs", false), ("build/proof", true)] {
            // Without proofs that are built, the copy builds its own.
            if project.root().join(folder).exists() {
                mirror(project.root(), &copy, folder, compiled)
                    .map_err(|error| format!("copying {folder}: {error}"))?;
            }
        }
        for edit in &self.edit {
            let path = copy.join(&edit.file);
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", edit.file))?;
            std::fs::write(&path, edit.apply(&text)?).map_err(|error| format!("{}: {error}", edit.file))?;
        }
        Ok(copy)
    }

    fn faults(&self, status: Option<i32>, stdout: &[u8], stderr: &[u8]) -> Vec<String> {
        let mut faults = Vec::new();
        if status != self.status {
            faults.push(format!("exit status {status:?} instead of {:?}", self.status));
        }
        for (name, patterns, text) in [("output", &self.stdout, stdout), ("error", &self.stderr, stderr)] {
            for pattern in patterns {
                match line_regex(pattern) {
                    Ok(regex) if regex.is_match(text) => {}
                    Ok(_) => faults.push(format!("standard {name} does not match /{pattern}/")),
                    Err(error) => faults.push(error.to_string()),
                }
            }
        }
        for pattern in &self.absent {
            match line_regex(pattern) {
                Ok(regex) if regex.is_match(stdout) || regex.is_match(stderr) => {
                    faults.push(format!("a line matches /{pattern}/"));
                }
                Ok(_) => {}
                Err(error) => faults.push(error.to_string()),
            }
        }
        faults
    }
}

/// Why `text`, which is called `what`, is not one JSON object that fits the schema.
fn misfit(root: &Path, schema: &str, what: &str, text: &[u8]) -> Option<String> {
    let fits = || {
        let value: serde_json::Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if !value.is_object() {
            return Err("it is no object".to_string());
        }
        match schema {
            "schema" => Schema::new(value).map(drop),
            name => Schema::read(&root.join(format!("docs/src/reference/schemas/{name}.schema.json")))?.check(&value),
        }
    };
    fits().err().map(|why| format!("{what} does not fit the schema {schema}: {why}"))
}

/// Runs a command until it has said `pattern` on its standard output, then kills it, and it alone.
fn killed(mut command: Command, pattern: &str) -> Result<Done, String> {
    let regex = line_regex(pattern).map_err(|error| error.to_string())?;
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = started.map_err(|error| format!("the tool cannot be started: {error}"))?;
    let mut said = Vec::new();
    let mut stdout = BufReader::new(child.stdout.take().ok_or("no standard output")?);
    while !regex.is_match(&said) {
        match stdout.read_until(b'\n', &mut said) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return Err(format!("the tool's output cannot be read: {error}")),
        }
    }
    child.kill().map_err(|error| format!("the tool cannot be killed: {error}"))?;
    let status = child.wait().map_err(|error| format!("the tool does not end: {error}"))?;
    Ok(Done { status, stdout: said, stderr: Vec::new() })
}

/// A fault if something with this mark still runs when it had time to end.
fn left_behind(mark: &str) -> Option<String> {
    let begun = Instant::now();
    loop {
        let left = guardian::marked(mark);
        if left.is_empty() {
            return None;
        }
        if begun.elapsed() > TIME_TO_END {
            let names: Vec<String> =
                left.iter().map(|(id, name)| format!("{name} ({})", id.as_raw_nonzero())).collect();
            guardian::end_marked(mark);
            return Some(format!("left behind: {}", names.join(", ")));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::{misfit, CommandTest};
    use std::path::Path;

    #[test]
    fn sees_what_differs() {
        let text = "about = 'a'\narguments = []\nstatus = 1\ntimeout = 1\nstdout = ['^\\{']\njson = \"book\"";
        let test: CommandTest = toml::from_str(text).unwrap();
        assert!(test.faults(Some(1), b"{}", b"").is_empty());
        assert_eq!(test.faults(Some(0), b"{}", b"").len(), 1);
        assert_eq!(test.faults(None, b"none", b"").len(), 2);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert_eq!(misfit(&root, "book", "it", b"{\"findings\": []}"), None);
        for wrong in [&b"none"[..], b"[]", b"{}", b"{\"findings\": 1}"] {
            assert!(misfit(&root, "book", "it", wrong).is_some());
        }
        assert!(misfit(&root, "no such schema", "it", b"{}").is_some());
    }

    #[test]
    fn every_command_test_of_the_tree_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli");
        let names = project::stems(&folder, "toml");
        assert!(!names.is_empty());
        for name in names {
            CommandTest::read(&folder.join(format!("{name}.toml"))).unwrap();
        }
    }
}
