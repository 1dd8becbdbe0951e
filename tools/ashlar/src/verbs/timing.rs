//! `timing`: hands its arguments to the analyser, which is built on demand.

use crate::cli::{self, TimingOptions};
use crate::verbs::timing_system;
use builder::on_demand::ANALYSER;
use builder::{build_kernel, KernelOptions};
use clap::Parser;
use output::{Failure, Output};
use project::Project;
use std::process::Command;
use wcet_report::arguments::Arguments;

pub fn timing(options: &TimingOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    // Help and usage errors need no analyser.
    let words = std::iter::once("ashlar timing".into()).chain(options.arguments.iter().cloned());
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => cli::end(&error),
    };
    if let (None, Some(system)) = (&arguments.verb, &arguments.bound.system) {
        return timing_system::timing_system(system, &arguments.bound, project, output);
    }
    let analyser = ANALYSER.ready(project, output)?;
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
        None => Err(Failure::unable(format!("the analyser was killed: {status}"), "is there enough memory?")),
    }
}
