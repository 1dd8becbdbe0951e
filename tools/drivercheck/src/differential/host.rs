//! Drivers compiled for this machine with the run-time monitor, and run in every way (`differential/explore.c`).

use super::drivers;
use crate::driver::Framework;
use protocol::{generate, Checked};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("{0}")]
    Text(String),
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    #[error("{0} fails:\n{1}")]
    Program(String, String),
    #[error("what the drivers print has another form: {0}")]
    Form(String),
}

/// Protocols, and a driver of them.
pub struct Pair {
    pub protocols: Vec<Checked>,
    pub driver: drivers::Text,
}

/// A state of a run: whether a cookie or a payload was wrong before, the protocols' states, what is waited for.
pub struct Node {
    pub is_marked: bool,
    pub states: Vec<usize>,
    pub awaited: Option<BTreeSet<u32>>,
}

/// All runs of a driver.
#[derive(Default)]
pub struct Runs {
    pub nodes: Vec<Node>,
    /// From, to, and the mailboxes of the messages between.
    pub edges: Vec<(usize, usize, Vec<u32>)>,
    /// Rules that a step breaks; by a run that broke none before, or by others only.
    pub broken: Vec<(u8, bool)>,
    pub is_whole: bool,
}

pub struct Host<'a> {
    root: &'a Path,
    scratch: &'a Path,
    framework: &'a Framework,
}

impl<'a> Host<'a> {
    /// Compiles what all drivers share.
    pub fn new(root: &'a Path, scratch: &'a Path, framework: &'a Framework) -> Result<Self, HostError> {
        std::fs::create_dir_all(scratch).map_err(|error| HostError::File(scratch.to_path_buf(), error))?;
        let host = Host { root, scratch, framework };
        let own = root.join("tools/drivercheck/differential/explore.c");
        host.compile(&["-O2", "-c", "-o", "explore.o"], &[own])?;
        host.compile(&["-O2", "-c", "-o", "monitor.o"], &[root.join("user/runtime/monitor.c")])?;
        Ok(host)
    }

    fn compile(&self, flags: &[&str], files: &[PathBuf]) -> Result<(), HostError> {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let mut command = Command::new("gcc");
        command.current_dir(self.scratch).args([
            "-std=gnu11",
            "-w",
            "-fno-stack-protector",
            "-DDOMAIN_ELSEWHERE",
            "-I",
        ]);
        command.arg(absolute(&self.root.join("tools/drivercheck/differential")));
        command.arg("-I").arg(absolute(&self.root.join("user/include")));
        command.args(flags).args(files.iter().map(|file| absolute(file)));
        let output = command.output().map_err(|error| HostError::File(PathBuf::from("gcc"), error))?;
        if output.status.success() {
            return Ok(());
        }
        Err(HostError::Program("gcc".to_string(), String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, HostError> {
        let path = self.scratch.join(name);
        std::fs::write(&path, text).map_err(|error| HostError::File(path.clone(), error))?;
        Ok(path)
    }

    /// The texts of drivers as the checker gets them: preprocessed, behind the framework's.
    pub fn expand(&self, pairs: &[Pair]) -> Result<Vec<String>, HostError> {
        let mut source = String::from("#include \"ashlar/driver.h\"\n");
        for (index, pair) in pairs.iter().enumerate() {
            let _ = writeln!(source, "@{index}");
            for checked in &pair.protocols {
                source.push_str(&generate::header::header(&checked.protocol, "A protocol made by chance."));
            }
            source.push_str(&pair.driver.text);
        }
        let file = self.write("drivers.c", &source)?;
        let text = self.framework.expand(&file).map_err(|error| HostError::Text(error.to_string()))?;
        let mut all = Vec::new();
        for line in text.lines() {
            if line.starts_with('@') {
                all.push(String::new());
            } else if let Some(last) = all.last_mut() {
                last.push_str(line);
                last.push('\n');
            }
        }
        Ok(all)
    }

    /// Runs the drivers, whose texts are expanded. None has more than so many states.
    pub fn run(&self, pairs: &[Pair], texts: &[String], most: usize) -> Result<Vec<Runs>, HostError> {
        let mut source = String::from(
            "#include <stddef.h>\n#include \"ashlar/driver.h\"\n#include \"ashlar/mail_port.h\"\n\
             #include \"ashlar/monitor_check.h\"\n#include \"explore.h\"\n",
        );
        let mut subjects = String::new();
        for (index, (pair, text)) in std::iter::zip(pairs, texts).enumerate() {
            source.push_str(&text.replace("void driver(void)", &format!("void driver_{index}(void)")));
            for checked in &pair.protocols {
                source.push_str(&tables(checked));
            }
            let regions: Vec<String> =
                pair.driver.objects.iter().map(|name| format!("{{&{name}, sizeof {name}}}")).collect();
            let _ = writeln!(source, "static const struct region regions_{index}[] = {{{}}};", or_none(&regions));
            let protocols: Vec<String> =
                pair.protocols.iter().map(|one| format!("&{}_protocol", one.protocol.name)).collect();
            let _ = writeln!(
                subjects,
                "    {{driver_{index}, {{{}}}, {}, regions_{index}, {}}},",
                protocols.join(", "),
                protocols.len(),
                regions.len()
            );
        }
        let _ = write!(
            source,
            "const struct subject subjects[] = {{\n{subjects}}};\nconst uint32_t num_subject = {};\n",
            pairs.len()
        );
        let file = self.write("batch.c", &source)?;
        self.compile(&["-O1", "-fsanitize-coverage=trace-pc", "-c", "-o", "batch.o"], &[file])?;
        let objects = ["explore.o", "monitor.o", "batch.o"].map(|name| self.scratch.join(name));
        self.compile(&["-o", "batch"], &objects)?;
        let program = std::path::absolute(self.scratch.join("batch")).unwrap_or_default();
        let output = Command::new(&program).arg(most.to_string()).output();
        let output = output.map_err(|error| HostError::File(program.clone(), error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(HostError::Program(program.display().to_string(), format!("{} {said}", output.status)));
        }
        parse(&String::from_utf8_lossy(&output.stdout), pairs)
    }
}

fn or_none(all: &[String]) -> String {
    if all.is_empty() {
        "{0, 0}".to_string()
    } else {
        all.join(", ")
    }
}

/// The names in the monitor's tables of a protocol that those of others have, too.
fn names(checked: &Checked) -> Vec<String> {
    const TABLES: [&str; 11] = [
        "next",
        "states",
        "promises",
        "fields",
        "messages",
        "requests",
        "check",
        "take_as_driver",
        "take_as_client",
        "send_as_driver",
        "send_as_client",
    ];
    const STEPS: [&str; 5] = ["step", "check", "tell", "give", "take"];
    let own = checked.protocol.messages.iter().flat_map(|message| STEPS.map(|step| format!("{step}_{}", message.name)));
    let words = (0..=protocol::model::MAX_PAYLOAD / 8).map(|words| format!("pass_{words}"));
    TABLES.iter().map(|name| name.to_string()).chain(own).chain(words).collect()
}

/// The monitor's tables of a protocol, under names that no other's have.
fn tables(checked: &Checked) -> String {
    let name = &checked.protocol.name;
    let names = names(checked);
    let mut out = String::new();
    for one in &names {
        let _ = writeln!(out, "#define {one} {name}_{one}");
    }
    // What the header declares stands in the driver's text already, but for its macros.
    let words = checked.protocol.requests.iter().map(|request| request.limit.div_ceil(64)).sum::<u64>().max(1);
    let _ = writeln!(out, "#define {} {words}u", generate::header::constant(&checked.protocol, "MONITOR_WORDS"));
    let text = generate::monitor::tables(checked, "A protocol made by chance.");
    let is_kept = |line: &&str| !line.starts_with("#include");
    for line in text.lines().filter(is_kept) {
        let _ = writeln!(out, "{line}");
    }
    for one in &names {
        let _ = writeln!(out, "#undef {one}");
    }
    out
}

fn parse(text: &str, pairs: &[Pair]) -> Result<Vec<Runs>, HostError> {
    let mut all: Vec<Runs> = Vec::new();
    for line in text.lines() {
        let form = || HostError::Form(line.to_string());
        let mut words = line.split(' ');
        let kind = words.next().unwrap_or_default();
        if kind == "D" {
            all.push(Runs::default());
            continue;
        }
        let count = pairs.get(all.len().wrapping_sub(1)).ok_or_else(form)?.protocols.len();
        let runs = all.last_mut().ok_or_else(form)?;
        if kind == "N" {
            let (states, awaited) = match line[2..].split_once(" A") {
                Some((states, awaited)) => (states, Some(awaited)),
                None => (&line[2..], None),
            };
            let states = numbers(states).ok_or_else(form)?;
            let awaited = awaited.map(|text| numbers(text).ok_or_else(form)).transpose()?;
            let (Some((mark, states)), true) = (states.split_first(), states.len() == count + 1) else {
                return Err(form());
            };
            runs.nodes.push(Node {
                is_marked: *mark != 0,
                states: states.iter().map(|state| *state as usize).collect(),
                awaited: awaited.map(|all| all.into_iter().collect()),
            });
            continue;
        }
        let words = numbers(&line[kind.len()..]).ok_or_else(form)?;
        match (kind, words.as_slice()) {
            ("E", [from, to, messages @ ..]) => runs.edges.push((*from as usize, *to as usize, messages.to_vec())),
            ("V", [rule, is_clean]) => runs.broken.push((*rule as u8, *is_clean != 0)),
            ("W", [is_whole]) => runs.is_whole = *is_whole != 0,
            _ => return Err(form()),
        }
    }
    if all.len() == pairs.len() {
        Ok(all)
    } else {
        Err(HostError::Form(format!("{} drivers, not {}", all.len(), pairs.len())))
    }
}

fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split_whitespace().map(|word| word.parse().ok()).collect()
}
