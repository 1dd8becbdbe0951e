//! The kernel's bounds, as `timing --kernel` has written them, and what they say of a system.

use diagnostics::input_file::{self, MOST_DATA};
use output::Failure;
use project::{stems, Project};
use response::Thread;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use system::{Assets, System};

/// Of the kernel's report, what is used here.
#[derive(Deserialize)]
struct Report {
    machine: Machine,
    worst_response_cycles: Option<u64>,
    responses: Option<Vec<VectorResponse>>,
    lock_wait_cycles: Option<u64>,
    lock_processors: Option<u64>,
    closed: Option<Closed>,
}

/// Responses where certain programs run, and nothing else.
#[derive(Deserialize)]
struct Closed {
    programs: Vec<ClosedProgram>,
    responses: Option<Vec<VectorResponse>>,
}

#[derive(Deserialize)]
struct ClosedProgram {
    file: PathBuf,
    sha256: String,
    calls: Option<Vec<String>>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Machine {
    name: String,
    clock_hz: Option<u64>,
}

#[derive(Deserialize)]
struct VectorResponse {
    cycles: u64,
    /// By the number of processors.
    lock_wait_cycles: BTreeMap<String, u64>,
}

impl Report {
    /// The response to any event, waits for locks apart.
    fn response(&self) -> Option<u64> {
        let of_vectors = self.responses.iter().flatten().map(|one| one.cycles);
        of_vectors.chain([self.worst_response_cycles?]).max()
    }

    /// What waits for locks add among so many processors: that of the next larger number for which there is one.
    fn lock_wait(&self, cpus: u64) -> Option<u64> {
        if cpus == 1 {
            return Some(0);
        }
        let of_vectors = self.responses.iter().flatten().flat_map(|one| &one.lock_wait_cycles);
        let numbered = of_vectors.filter_map(|(among, cycles)| Some((among.parse::<u64>().ok()?, *cycles)));
        let of_the_whole = self.lock_processors.zip(self.lock_wait_cycles);
        let mut by_number: BTreeMap<u64, u64> = BTreeMap::new();
        for (among, cycles) in numbered.chain(of_the_whole) {
            let most = by_number.entry(among).or_default();
            *most = cycles.max(*most);
        }
        by_number.range(cpus..).next().map(|(_, cycles)| *cycles)
    }
}

impl VectorResponse {
    /// With waits among so many processors: of the next larger number for which they are known.
    fn latency(&self, cpus: u64) -> Option<(u64, u64)> {
        if cpus == 1 {
            return Some((self.cycles, 0));
        }
        let numbered = self.lock_wait_cycles.iter();
        let numbered = numbered.filter_map(|(among, cycles)| Some((among.parse::<u64>().ok()?, *cycles)));
        let (_, waits) = numbered.filter(|(among, _)| *among >= cpus).min()?;
        Some((self.cycles, waits))
    }
}

/// A file with bounds of a kernel.
pub struct KernelBounds {
    file: PathBuf,
    report: Report,
}

/// How late the kernel acts on an event, in cycles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latency {
    /// Waits for locks apart.
    pub response: u64,
    pub waits: u64,
    pub calls: Calls,
}

/// The system calls for which a latency holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Calls {
    /// Those that executables make.
    Of(BTreeSet<String>),
    /// Any, as it is not known which are made.
    Any(String),
}

impl KernelBounds {
    pub fn read(file: &Path) -> Result<KernelBounds, Failure> {
        let unusable = |error: &dyn std::fmt::Display| {
            Failure::unable(
                format!("{} has no bounds of a kernel: {error}", file.display()),
                "write it with `ashlar timing --kernel --format json --output FILE`",
            )
        };
        let text = input_file::bytes(file, MOST_DATA).map_err(|error| unusable(&error))?;
        let report = serde_json::from_slice(&text).map_err(|error| unusable(&error))?;
        Ok(KernelBounds { file: file.to_path_buf(), report })
    }

    /// The machine file's name.
    pub fn machine(&self) -> &str {
        &self.report.machine.name
    }

    pub fn clock(&self) -> Result<u64, Failure> {
        self.report.machine.clock_hz.filter(|clock| *clock > 0).ok_or_else(|| self.incomplete("clock"))
    }

    /// Whether they say what holds where certain programs run, and nothing else.
    pub fn has_programs(&self) -> bool {
        self.report.closed.is_some()
    }

    /// In a system with so many processors, of threads that run these programs; None: it is not known which.
    pub fn latency(&self, cpus: u64, programs: Option<&[PathBuf]>) -> Result<Latency, Failure> {
        match self.of_programs(cpus, programs) {
            Ok(latency) => Ok(latency),
            Err(why) => {
                let response = self.report.response().ok_or_else(|| self.incomplete("response to interrupts"))?;
                let among = || self.incomplete(&format!("waits for locks among {cpus} processors"));
                let waits = self.report.lock_wait(cpus).ok_or_else(among)?;
                Ok(Latency { response, waits, calls: Calls::Any(why) })
            }
        }
    }

    /// The latency where nothing but these programs runs, or why there is none.
    fn of_programs(&self, cpus: u64, programs: Option<&[PathBuf]>) -> Result<Latency, String> {
        let programs = programs.ok_or("a thread of their processors runs what its parent loads")?;
        let closed = self.report.closed.as_ref();
        let closed = closed.ok_or("the kernel was bounded without the programs of their processors")?;
        let mut calls = BTreeSet::new();
        for program in programs {
            let name = program.display();
            let sha256 = hash(program).map_err(|error| format!("{name} cannot be read: {error}"))?;
            let found = closed.programs.iter().find(|one| one.sha256 == sha256);
            let found = found.ok_or_else(|| format!("the kernel was bounded without {name} as it is now"))?;
            match (&found.calls, &found.reason) {
                (Some(more), _) => calls.extend(more.iter().cloned()),
                (None, reason) => {
                    let reason = reason.as_deref().unwrap_or("its calls are not known");
                    return Err(format!("{}: {reason}", found.file.display()));
                }
            }
        }
        let none = || "the kernel has no response of its own for the programs of their processors".to_string();
        let all = closed.responses.as_ref().ok_or_else(none)?;
        let all: Option<Vec<(u64, u64)>> = all.iter().map(|one| one.latency(cpus)).collect();
        let (response, waits) = all.and_then(|all| all.into_iter().max_by_key(|(a, b)| a + b)).ok_or_else(none)?;
        Ok(Latency { response, waits, calls: Calls::Of(calls) })
    }

    fn incomplete(&self, what: &str) -> Failure {
        Failure::unable(
            format!("the kernel's bounds in {} have no {what}", self.file.display()),
            "see what `ashlar timing --kernel` reports",
        )
    }
}

/// What the bounds of a kernel come from, as one number: where it is the same, so are they, and a minute's computing is saved.
pub struct Known(String);

impl Known {
    /// None if something cannot be read.
    pub fn of(command: &Command, analyser: &Path, programs: &[PathBuf], project: &Project) -> Option<Known> {
        let (root, machines) = (project.root(), project.machines().join("timing"));
        let kernel = project.kernel(&builder::KernelOptions::default().configuration());
        let mut files = vec![analyser.to_path_buf(), kernel, root.join("kernel/timing.toml")];
        files.extend(stems(&machines, "toml").into_iter().map(|name| machines.join(format!("{name}.toml"))));
        files.extend(programs.iter().cloned());
        let mut all = Sha256::new();
        all.update(format!("{:?}", command.get_args().collect::<Vec<_>>()));
        for file in files {
            all.update(hash(&file).ok()?);
        }
        Some(Known(hexadecimal(&all.finalize())))
    }

    /// Whether `file` has the bounds that come from it, as they were written.
    pub fn holds(&self, file: &Path) -> bool {
        hash(file).is_ok_and(|hash| std::fs::read_to_string(note(file)).is_ok_and(|text| text == self.text(&hash)))
    }

    /// Notes that `file` has them.
    pub fn note(&self, file: &Path) {
        let noted = hash(file).and_then(|hash| std::fs::write(note(file), self.text(&hash)));
        if noted.is_err() {
            drop(std::fs::remove_file(note(file)));
        }
    }

    fn text(&self, hash: &str) -> String {
        format!("{} {hash}\n", self.0)
    }
}

/// Where it stands what the bounds in a file come from.
fn note(file: &Path) -> PathBuf {
    file.with_extension("from")
}

fn hash(file: &Path) -> std::io::Result<String> {
    Ok(hexadecimal(&Sha256::digest(std::fs::read(file)?)))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The executables that run on processors of threads with reservations; None if a thread there runs what its parent loads.
pub fn programs(system: &System, assets: &Assets) -> Option<Vec<PathBuf>> {
    let threads = system.threads();
    let cpus: BTreeSet<u64> = threads.iter().filter(|one| one.budget.is_some()).map(|one| one.cpu).collect();
    let there = threads.iter().filter(|one| cpus.contains(&one.cpu));
    let names: Option<BTreeSet<&String>> = there.map(|one| one.program.as_ref()).collect();
    names?.into_iter().map(|name| assets.programs.get(name).cloned()).collect()
}

/// The threads of a system, as their responses are computed from.
pub fn threads(system: &system::System) -> Vec<Thread> {
    let thread = |one: system::ThreadTime| Thread {
        name: one.name,
        table: one.table,
        cpu: one.cpu,
        priority: one.priority,
        reservation: one.period.zip(one.budget),
        deadline: one.deadline,
        lends_to: one.lends_to,
    };
    system.threads().into_iter().map(thread).collect()
}

#[cfg(test)]
mod tests {
    use super::Known;
    use std::path::PathBuf;
    use std::process::Command;
    use testing::Folder;

    #[test]
    fn bounds_are_computed_again_when_anything_they_come_from_has_changed() {
        let root = Folder::new("known");
        let project = project::Project::at(&root);
        let kernel = project.kernel(&builder::KernelOptions::default().configuration());
        let (analyser, program) = (root.write("wcet", "1"), root.write("program", "2"));
        let machine = project.machines().join("timing/a.toml");
        let inputs = [&analyser, &program, &kernel, &root.join("kernel/timing.toml"), &machine];
        inputs.iter().for_each(|file| drop(root.write(file, "1")));
        let bounds = root.write("bounds.json", "bounds");
        let known = |options: &[&str], programs: &[PathBuf]| {
            Known::of(Command::new("wcet").args(options), &analyser, programs, &project).unwrap()
        };
        let programs = [program.clone()];
        assert!(!known(&["--kernel"], &programs).holds(&bounds), "nothing is noted yet");
        known(&["--kernel"], &programs).note(&bounds);
        assert!(known(&["--kernel"], &programs).holds(&bounds));
        assert!(!known(&["--kernel", "--set"], &programs).holds(&bounds));
        assert!(!known(&["--kernel"], &[]).holds(&bounds));
        for file in inputs.into_iter().chain([&bounds]) {
            let old = std::fs::read(file).unwrap();
            root.write(file, "changed");
            assert!(!known(&["--kernel"], &programs).holds(&bounds), "{}", file.display());
            std::fs::write(file, old).unwrap();
            assert!(known(&["--kernel"], &programs).holds(&bounds), "{}", file.display());
        }
    }
}
