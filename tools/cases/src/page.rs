//! A page of the book followed as a reader would, in a copy of the tree: every block of it is written, run, typed or
//! awaited. What a block is stands behind its language, which readers do not see:
//!
//! | block | what is done |
//! |---|---|
//! | `LANGUAGE,file=PATH` | it is written to this file |
//! | `sh,before` | nothing: it makes the tree and the tool with which the test begins |
//! | `sh` | each line is run and ends with status 0, or with N after `sh,status=N` |
//! | `sh,interactive` | its one line is run on a terminal, until a later block ends it |
//! | `sh,test=NAME` | the test of the command line of this name runs it |
//! | `text,typed` | each line is typed on the terminal, `Ctrl-C` and `Ctrl-] KEYS` as these keys |
//! | `text` | the last command, or the terminal since the last wait, shows each line; `...` stands for anything |

use super::needs::Needs;
use super::Outcome;
use emulator::transcript::Transcript;
use emulator::{CommandLine, End, Session};
use output::{Failure, Output};
use project::copies::mirror;
use project::Project;
use regex::bytes::Regex;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long a line may take to appear on the terminal: a system is built and a guest boots in it.
const PATIENCE: Duration = Duration::from_secs(600);
/// Lines of the terminal that are shown when something else was awaited.
const LAST_LINES: usize = 30;
/// What programs and systems are made of, and the pages that are held against the kernel when it is built.
const COPIED: [&str; 6] = ["kernel", "user", "protocols", "machines", "systems", "docs"];

#[derive(Debug, Clone)]
pub struct Page {
    path: PathBuf,
    blocks: Vec<Block>,
}

#[derive(Debug, Clone)]
struct Block {
    /// Of its opening fence.
    line: usize,
    kind: Kind,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    File(String),
    Command { status: i32 },
    Interactive,
    Before,
    Elsewhere(String),
    Typed,
    Shown,
}

impl Page {
    pub fn read(path: &Path) -> Result<Page, Failure> {
        let fault = |text: String| Failure::unable(text, "see tools/cases/src/page.rs");
        let text = std::fs::read_to_string(path).map_err(|error| fault(format!("{}: {error}", path.display())))?;
        let blocks = blocks(&text).map_err(|text| fault(format!("{}:{text}", path.display())))?;
        Ok(Page { path: path.to_path_buf(), blocks })
    }

    /// Three guests are the most that a page boots.
    pub fn needs(&self) -> Needs {
        Needs { cores: 2, memory: 3000, seconds: 150, exclusive: Some("cargo".into()), ..Needs::default() }
    }

    pub fn run(&self, name: &str, project: &Project, output: &Output) -> Outcome {
        match self.follow(name, project, output) {
            Ok(()) => Outcome::Passed,
            Err(why) => Outcome::Failed(why),
        }
    }

    fn follow(&self, name: &str, project: &Project, output: &Output) -> Result<(), String> {
        let mut reader = Reader { root: copy(name, project)?, shown: Transcript::default(), terminal: None };
        for block in &self.blocks {
            output.detail(&format!("{}:{}", self.path.display(), block.line));
            let done = reader.obey(block, project);
            done.map_err(|why| format!("{}:{}: {why}", self.path.display(), block.line))?;
        }
        reader.end_terminal().map_err(|why| format!("{}: at the end: {why}", self.path.display()))
    }
}

/// The blocks of a page. A block that says nothing of what it is for is a fault: it would go untested.
fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let kind = kind(info).ok_or_else(|| format!("{}: no test can follow a block `{info}`", index + 1))?;
        let inner: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        blocks.push(Block { line: index + 1, kind, text: inner.join("\n") + "\n" });
    }
    Ok(blocks)
}

fn kind(info: &str) -> Option<Kind> {
    let (language, role) = info.split_once(',').unwrap_or((info, ""));
    match (language, role.split_once('=').unwrap_or((role, ""))) {
        ("sh", ("", "")) => Some(Kind::Command { status: 0 }),
        ("sh", ("status", status)) => Some(Kind::Command { status: status.parse().ok()? }),
        ("sh", ("before", "")) => Some(Kind::Before),
        ("sh", ("interactive", "")) => Some(Kind::Interactive),
        ("sh", ("test", name)) => Some(Kind::Elsewhere(name.to_string())),
        ("text", ("typed", "")) => Some(Kind::Typed),
        ("text", ("", "")) => Some(Kind::Shown),
        (_, ("file", path)) if !path.is_empty() => Some(Kind::File(path.to_string())),
        _ => None,
    }
}

/// Where the reader is.
struct Reader {
    root: PathBuf,
    /// What the last command said that did not need a terminal.
    shown: Transcript,
    terminal: Option<Session<'static>>,
}

impl Reader {
    fn obey(&mut self, block: &Block, project: &Project) -> Result<(), String> {
        match &block.kind {
            Kind::File(path) => {
                self.end_terminal()?;
                std::fs::write(self.root.join(path), &block.text).map_err(|error| format!("{path}: {error}"))
            }
            Kind::Command { status } => {
                self.end_terminal()?;
                self.shown = Transcript::default();
                block.text.lines().try_for_each(|line| self.command(line, *status))
            }
            Kind::Interactive => {
                self.end_terminal()?;
                self.start_terminal(block.text.trim())
            }
            Kind::Before => Ok(()),
            Kind::Elsewhere(name) => is_run_by(name, block.text.trim(), project),
            Kind::Typed => block.text.lines().try_for_each(|line| self.type_line(line)),
            Kind::Shown => block.text.lines().try_for_each(|line| self.await_line(line)),
        }
    }

    fn command(&mut self, line: &str, status: i32) -> Result<(), String> {
        let done = Command::new("sh").args(["-c", line]).current_dir(&self.root).output();
        let done = done.map_err(|error| format!("sh cannot be started: {error}"))?;
        self.shown.push(&done.stdout);
        self.shown.push(&done.stderr);
        if done.status.code() == Some(status) {
            return Ok(());
        }
        let said = self.shown.last_lines(LAST_LINES).join("\n");
        Err(format!("`{line}`: {} instead of {status}\n{said}", done.status))
    }

    /// `script` gives the command a terminal and passes on what it reads.
    fn start_terminal(&mut self, line: &str) -> Result<(), String> {
        let there = format!("cd '{}' && {line}", self.root.display());
        let arguments = ["-q", "-e", "-c", &there, "/dev/null"].map(String::from).to_vec();
        let session = Session::start(&CommandLine { program: "script".into(), arguments, ..Default::default() });
        self.terminal = Some(session.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// The command on the terminal must have been told to end.
    fn end_terminal(&mut self) -> Result<(), String> {
        let Some(mut session) = self.terminal.take() else { return Ok(()) };
        match session.wait_end(Duration::from_secs(60)) {
            Ok(End::Exit(0)) => Ok(()),
            other => Err(format!("the command on the terminal does not end well: {other:?}\n{}", last(&mut session))),
        }
    }

    fn type_line(&mut self, line: &str) -> Result<(), String> {
        let session = self.terminal.as_mut().ok_or("nothing runs on a terminal")?;
        session.send(0, &keys(line));
        Ok(())
    }

    fn await_line(&mut self, line: &str) -> Result<(), String> {
        let regex = pattern(line)?;
        let missing = |why: String| format!("`{line}` is not shown: {why}");
        match &mut self.terminal {
            Some(session) => match session.wait_for(0, &regex, PATIENCE) {
                Ok(_) => Ok(()),
                Err(error) => Err(missing(format!("{error}\n{}", last(session)))),
            },
            None => {
                let found = self.shown.find(&regex);
                found.map(|_| ()).ok_or_else(|| missing(format!("\n{}", self.shown.last_lines(LAST_LINES).join("\n"))))
            }
        }
    }
}

fn last(session: &mut Session<'_>) -> String {
    session.transcript(0).last_lines(LAST_LINES).join("\n")
}

fn keys(line: &str) -> Vec<u8> {
    match (line, line.strip_prefix("Ctrl-] ")) {
        ("Ctrl-C", _) => vec![3],
        (_, Some(keys)) => [0x1d].into_iter().chain(keys.bytes().filter(|&key| key != b' ')).collect(),
        _ => format!("{line}\r").into_bytes(),
    }
}

fn pattern(line: &str) -> Result<Regex, String> {
    let parts: Vec<String> = line.trim_end().split("...").map(regex::escape).collect();
    Regex::new(&parts.join(".*")).map_err(|error| error.to_string())
}

/// A fault unless the test `cli-NAME` runs this line.
fn is_run_by(name: &str, line: &str, project: &Project) -> Result<(), String> {
    let stem = name.strip_prefix("cli-").ok_or("only tests of the command line run commands")?;
    let test = super::command::CommandTest::read(&project.root().join(format!("tests/cli/{stem}.toml")))
        .map_err(|failure| failure.to_string())?;
    let runs = test.command_line();
    if runs.starts_with(line) {
        Ok(())
    } else {
        Err(format!("{name} runs `{runs}` instead"))
    }
}

/// A tree to follow the page in. It shares the tools and the guests' files with this one.
fn copy(name: &str, project: &Project) -> Result<PathBuf, String> {
    let root = project.root();
    let copy = project.build().join("tests").join(name);
    let fault = |error: std::io::Error| format!("the copy of the tree: {error}");
    COPIED.iter().try_for_each(|folder| mirror(root, &copy, folder, false)).map_err(fault)?;
    std::fs::create_dir_all(project.guest()).map_err(fault)?;
    std::fs::create_dir_all(project.build().join("tools")).map_err(fault)?;
    std::fs::create_dir_all(copy.join("build")).map_err(fault)?;
    for shared in ["tools", "build/guest", "build/tools"] {
        let link = copy.join(shared);
        if !link.exists() {
            std::os::unix::fs::symlink(root.join(shared), link).map_err(fault)?;
        }
    }
    let tool = std::env::current_exe().map_err(fault)?;
    let entry = copy.join("ashlar");
    let text = format!("#!/bin/sh\nASHLAR_ROOT='{}' exec '{}' \"$@\"\n", copy.display(), tool.display());
    std::fs::write(&entry, text).map_err(fault)?;
    std::fs::set_permissions(&entry, std::os::unix::fs::PermissionsExt::from_mode(0o755)).map_err(fault)?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_a_purpose() {
        let page =
            "text\n```c,file=a.c\nint x;\n```\nmore\n```sh,status=1\n./ashlar check\n```\n```text\na ... b\n```\n";
        let kinds: Vec<Kind> = blocks(page).unwrap().into_iter().map(|block| block.kind).collect();
        assert_eq!(kinds, [Kind::File("a.c".into()), Kind::Command { status: 1 }, Kind::Shown]);
        assert_eq!(blocks(page).unwrap()[0].text, "int x;\n");
        assert_eq!(blocks("a\n```toml\n```\n").unwrap_err(), "2: no test can follow a block `toml`");
    }

    #[test]
    fn keys_and_dots_are_understood() {
        assert_eq!(keys("Ctrl-C"), [3]);
        assert_eq!(keys("Ctrl-] m 2"), b"\x1dm2");
        assert_eq!(keys("ls"), b"ls\r");
        assert!(pattern("beat | TICK 10: ... us (late)").unwrap().is_match(b"beat | TICK 10: worst 5 us (late)"));
        assert!(!pattern("a.c").unwrap().is_match(b"abc"));
    }

    #[test]
    fn the_pages_of_the_book_can_be_followed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for page in super::super::PAGES {
            Page::read(&root.join("docs/src").join(format!("{page}.md"))).unwrap();
        }
    }
}
