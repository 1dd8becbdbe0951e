//! The unit tests of a project of the user's own, which run on this machine: `tests/NAME.c`, a program that includes the code
//! it tests, compiled with the sanitizers and linked with the kernel's layers as they run on Linux (user/unit), which has passed when
//! it ends with status 0; and the tests of a crate's library.

use super::log::Log;
use super::Outcome;
use output::{Failure, Output};
use project::{Project, PROJECT_FILE};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use system::{Made, ProjectFile};

/// Lines shown of a test that failed.
const LAST_LINES: usize = 60;
/// A unit test that runs longer hangs.
const TIMEOUT_SECONDS: &str = "300";
const FLAGS: [&str; 10] = [
    "-std=c11",
    "-g",
    "-O1",
    "-pthread",
    "-Wall",
    "-Wextra",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-DASHLAR_UNIT",
    "-I.",
];

/// What is tested; paths are relative to the project's folder.
#[derive(Debug, Clone)]
pub enum UnitTest {
    /// A C file.
    Program(PathBuf),
    /// The folder of a crate.
    Crate(PathBuf),
}

impl UnitTest {
    pub fn run(&self, name: &str, project: &Project, output: &Output) -> Outcome {
        let Some(own) = project.own() else { return Outcome::Failed("there is no project here".into()) };
        let folder = project.out().join("tests");
        if let Err(error) = std::fs::create_dir_all(&folder) {
            return Outcome::Failed(format!("{} cannot be made: {error}", folder.display()));
        }
        let mut test = Command::new("timeout");
        test.arg(TIMEOUT_SECONDS).current_dir(own);
        match self {
            UnitTest::Program(source) => {
                let program = folder.join(name);
                let mut compiler = Command::new("gcc");
                let headers =
                    ["user/include", "kernel"].map(|folder| format!("-I{}", project.root().join(folder).display()));
                compiler
                    .args(FLAGS)
                    .args(headers)
                    .args(include(own).iter().map(|folder| format!("-I{}", folder.display())));
                let library = match library(project, output) {
                    Ok(library) => library,
                    Err(failure) => return Outcome::Failed(failure.to_string()),
                };
                compiler.arg("-o").arg(&program).arg(source).arg(library).current_dir(own);
                if let Err(why) = run(compiler, name, "the test cannot be built", project, output) {
                    return Outcome::Failed(why);
                }
                test.arg(&program);
            }
            UnitTest::Crate(source) => {
                test.arg(std::env::var_os("ASHLAR_CARGO").unwrap_or_else(|| "cargo".into()));
                test.args(["test", "--quiet", "--lib", "--target-dir"]).arg(folder.join("rust"));
                test.arg("--manifest-path").arg(source.join("Cargo.toml"));
            }
        }
        match run(test, name, "the test", project, output) {
            Ok(()) => Outcome::Passed,
            Err(why) => Outcome::Failed(why),
        }
    }
}

/// Where the project's programs have their headers.
fn include(own: &Path) -> Vec<PathBuf> {
    // What is wrong with the file is said by `ashlar check`.
    let Ok(file) = ProjectFile::read(&own.join(PROJECT_FILE), &BTreeMap::new()) else { return Vec::new() };
    let mut all = Vec::new();
    for program in file.programs {
        if let Made::C { include, .. } = program.made {
            all.extend(include.into_iter().filter(|folder| !all.contains(folder)).collect::<Vec<_>>());
        }
    }
    all
}

/// The kernel for unit tests, which a distribution has and the tree builds.
fn library(project: &Project, output: &Output) -> Result<PathBuf, Failure> {
    if !project.is_distribution() {
        builder::build_unit_library(project, output)?;
    }
    Ok(project.build().join(builder::UNIT_LIBRARY))
}

/// Runs a command; if it fails, `what` with its status and what it has said.
fn run(mut command: Command, name: &str, what: &str, project: &Project, output: &Output) -> Result<(), String> {
    output.detail(&format!("+ {command:?}"));
    let done = command.output().map_err(|error| format!("{command:?} cannot be started: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let mut log = Log::new(name, project);
    log.part("", &done.stdout, LAST_LINES);
    log.part("", &done.stderr, LAST_LINES);
    Err(format!("{what}: {}{}", done.status, log.finish()))
}
