//! `timing`: builds the analyser when something of it has changed, and runs it.
//!
//! Knows: how the analyser is built, where it stands, and that it wants a kernel built when asked about the kernel. Does not
//! know: any other of its options.

use crate::build::build_kernel;
use crate::cli::{KernelOptions, TimingOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn timing(options: &TimingOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let analyser = Project::tool("wcet");
    build("wcet-cli", project, &analyser, output)?;
    if options.arguments.iter().any(|argument| argument == "--kernel") {
        build_kernel(&KernelOptions::default(), project, output)?;
    }
    let mut command = Command::new(&analyser);
    command.args(&options.arguments).env("ASHLAR_ROOT", project.root());
    if output.is_json() {
        command.args(["--format", "json"]);
    }
    if output.is_quiet() {
        command.arg("--quiet");
    }
    output.detail(&format!("+ {command:?}"));
    let status = command.status().map_err(|error| {
        Failure::unable(format!("{} cannot be started: {error}", analyser.display()), "remove it and try again")
    })?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Passed(u8::try_from(code).unwrap_or(2))),
        None => Err(Failure::unable(format!("the analyser was ended by {status}"), "is there enough memory?")),
    }
}

/// Builds a program of the analysis. Cargo knows whether there is anything to do; the first time there is much, so that its
/// progress is shown.
pub fn build(package: &str, project: &Project, program: &Path, output: &Output) -> Result<(), Failure> {
    let cargo = std::env::var_os("ASHLAR_CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--locked", "--package", package, "--manifest-path"]);
    command.arg(project.root().join("tools/Cargo.toml"));
    if program.is_file() && !output.is_verbose() || output.is_quiet() {
        command.arg("--quiet");
    } else {
        output.note("building the analyser, once");
    }
    output.detail(&format!("+ {command:?}"));
    let done = command
        .status()
        .map_err(|error| Failure::unable(format!("cargo cannot be started: {error}"), "run ./ashlar doctor"))?;
    if done.success() {
        Ok(())
    } else {
        Err(Failure::unable("the analyser could not be built", "cargo's complaint is above; run ./ashlar doctor"))
    }
}
