//! The tests that `ashlar test` runs.
//!
//! Four kinds: host tests, which run a shell command (`tests/host/`), tests of the command line (`tests/cli/`), pages of
//! the book that are followed (`page`), and cases, which boot a system and follow a script (`tests/cases/`). `host`,
//! `command` and `case` say what may stand in their files, `needs` what each may say for the schedule.

mod case;
mod command;
mod damage;
mod host;
mod log;
mod needs;
mod page;
mod play;
mod processors;
mod run;
mod schedule;
mod sound;
mod steps;
mod unit;
mod words;

use builder::{Builds, EmulatorName, Lock};
pub use case::Case;
pub use needs::{Capacity, Needs};
use output::{Failure, Output};
use project::{stems, Project};
pub use run::{run_all, Event};
use std::path::{Path, PathBuf};
use unit::UnitTest;

/// Pages of the book that are followed block by block.
const PAGES: [&str; 1] = ["tutorial"];

/// What became of a test.
#[derive(Debug)]
pub enum Outcome {
    Passed,
    /// Why, and what was seen last.
    Failed(String),
    /// Why it could not run here.
    Skipped(String),
}

/// One test.
#[derive(Debug)]
pub struct Test {
    pub name: String,
    pub about: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Host(host::HostTest),
    /// A unit test of a project of the user's own.
    Unit(UnitTest),
    /// Banned words.
    Words,
    Command(command::CommandTest),
    Page(page::Page),
    /// A case with the CPUs and locks of this run of it.
    Case(Box<Case>, Option<u32>, Lock),
}

/// Every test, the quick ones first: those of the user's own project if there is one, else those of the tree. On another
/// emulator, the cases that can be run on it.
pub fn all(project: &Project, emulator: EmulatorName) -> Result<Vec<Test>, Failure> {
    let tests = match project.own() {
        Some(own) => of_project(own, project)?,
        None => of_tree(project)?,
    };
    Ok(tests.into_iter().filter_map(|test| test.on(emulator)).collect())
}

/// What stands in the folder `tests` of a project, and the tests of its crates, those with a library.
fn of_project(own: &Path, project: &Project) -> Result<Vec<Test>, Failure> {
    let folder = own.join("tests");
    let test = |name: &str, about: String, unit| Test { name: format!("unit-{name}"), about, kind: Kind::Unit(unit) };
    let programs = stems(&folder, "c").into_iter().map(|name| {
        let source = PathBuf::from(format!("tests/{name}.c"));
        test(&name, format!("the unit test tests/{name}.c"), UnitTest::Program(source))
    });
    let crates =
        builder::crates(project)?.into_iter().filter(|(_, folder)| own.join(folder).join("src/lib.rs").is_file());
    let crates = crates.map(|(name, folder)| {
        test(&name, format!("the tests of the crate {}", folder.display()), UnitTest::Crate(folder))
    });
    let mut tests: Vec<Test> = programs.chain(crates).collect();
    for name in stems(&folder, "toml") {
        let case = Case::read(&folder.join(format!("{name}.toml")))?;
        tests.extend(variants(&name, case));
    }
    Ok(tests)
}

fn of_tree(project: &Project) -> Result<Vec<Test>, Failure> {
    let about = "no banned word has come back".to_string();
    let mut tests = vec![Test { name: "words".into(), about, kind: Kind::Words }];
    let folder = project.root().join("tests/host");
    for name in stems(&folder, "toml") {
        let test = host::HostTest::read(&folder.join(format!("{name}.toml")))?;
        tests.push(Test { name, about: test.about.clone(), kind: Kind::Host(test) });
    }
    let folder = project.root().join("tests/cli");
    for name in stems(&folder, "toml") {
        let test = command::CommandTest::read(&folder.join(format!("{name}.toml")))?;
        tests.push(Test { name: format!("cli-{name}"), about: test.about.clone(), kind: Kind::Command(test) });
    }
    for name in PAGES {
        let page = page::Page::read(&project.root().join(format!("docs/src/{name}.md")))?;
        let about = "a reader who follows the page sees what it says".to_string();
        tests.push(Test { name: format!("docs-{name}"), about, kind: Kind::Page(page) });
    }
    let folder = project.root().join("tests/cases");
    for name in stems(&folder, "toml") {
        let case = Case::read(&folder.join(format!("{name}.toml")))?;
        tests.extend(variants(&name, case));
    }
    Ok(tests)
}

/// The case called `name`.
pub fn case(project: &Project, name: &str) -> Result<Case, Failure> {
    Case::read(&project.root().join("tests/cases").join(format!("{name}.toml")))
}

/// Plays a case with its first kind of locks and as many CPUs as its system needs, as the test called `name`.
pub fn play(case: &Case, name: &str, builds: &Builds<'_>, output: &Output) -> Outcome {
    let lock = case.locks.first().copied().unwrap_or_default();
    play::play(case, name, case.cpus.first().copied(), lock, builds, output, false)
}

/// A case with lists of CPUs or locks is a test for each combination.
fn variants(name: &str, case: Case) -> Vec<Test> {
    let cpus: Vec<Option<u32>> =
        if case.cpus.is_empty() { vec![None] } else { case.cpus.iter().copied().map(Some).collect() };
    let locks = if case.locks.is_empty() { vec![Lock::default()] } else { case.locks.clone() };
    let mut tests = Vec::new();
    for &count in &cpus {
        for &lock in &locks {
            let mut full = name.to_string();
            if let (Some(count), true) = (count, cpus.len() > 1) {
                full += &format!("-smp{count}");
            }
            if locks.len() > 1 {
                full += &format!("-{}", lock.word());
            }
            tests.push(Test {
                name: full,
                about: case.about.clone(),
                kind: Kind::Case(Box::new(case.clone()), count, lock),
            });
        }
    }
    tests
}

impl Test {
    /// The test as it is run where that emulator is asked for, if it is.
    fn on(self, emulator: EmulatorName) -> Option<Test> {
        match self.kind {
            Kind::Case(case, cpus, lock) => {
                Some(Test { kind: Kind::Case(Box::new(case.on(emulator)?), cpus, lock), ..self })
            }
            _ => (emulator == EmulatorName::Own).then_some(self),
        }
    }

    /// What the test needs of this machine.
    pub fn needs(&self) -> Needs {
        match &self.kind {
            Kind::Host(test) => test.needs.clone(),
            Kind::Unit(_) | Kind::Words => Needs::default(),
            Kind::Command(test) => test.needs.clone(),
            Kind::Page(page) => page.needs(),
            Kind::Case(case, ..) => case.needs.clone(),
        }
    }

    /// Runs the test. With `show` its consoles appear on standard error.
    pub fn run(&self, builds: &Builds<'_>, output: &Output, show: bool) -> Outcome {
        let project = builds.project();
        match &self.kind {
            Kind::Host(test) => test.run(&self.name, project, output),
            Kind::Unit(test) => test.run(&self.name, project, output),
            Kind::Words => words::test(project.root()),
            Kind::Command(test) => test.run(&self.name, project, output),
            Kind::Page(page) => page.run(&self.name, project, output),
            Kind::Case(case, cpus, lock) => play::play(case, &self.name, *cpus, *lock, builds, output, show),
        }
    }
}
