//! `drivers`: checks drivers against their protocols. The work is done by `drivercheck`, which is built on demand.

use crate::cli::{self, DriversOptions};
use builder::on_demand::DRIVER_CHECKER;
use clap::Parser;
use drivercheck_command::{Cli, Command as Verb};
use output::{Failure, Format, Output, READER_GONE};
use project::Project;
use std::path::Path;
use std::process::Command;

pub fn drivers(options: &DriversOptions, format: Format, project: &Project, output: &Output) -> Result<(), Failure> {
    // Help and usage errors need no checker.
    let words = std::iter::once("ashlar drivers".into()).chain(options.arguments.iter().cloned());
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => cli::end(&error),
    };
    let tool = DRIVER_CHECKER.ready(project, output)?;
    let mut command = Command::new(&tool);
    command.args(&options.arguments);
    match (project.own(), &cli.command) {
        // Where the user is, for the paths that were given.
        (Some(own), Verb::Check { flags, .. } | Verb::Verify { flags, .. }) => {
            let (root, scratch) = (project.root(), own.join("build/drivercheck"));
            let defaults = [("--root", Path::new("."), &flags.root, root)];
            let defaults =
                defaults.into_iter().chain([("--scratch", Path::new("build/drivercheck"), &flags.scratch, &*scratch)]);
            for (option, default, given, path) in defaults {
                if given == default {
                    command.arg(format!("{option}={}", path.display()));
                }
            }
            if flags.project.is_none() {
                command.arg("--project").arg(own);
            }
        }
        (Some(_), Verb::Protocol { .. }) => {}
        _ => {
            command.current_dir(project.root());
        }
    }
    if format == Format::Json {
        command.args(["--format", "json"]);
    }
    let status = command
        .status()
        .map_err(|error| Failure::unable(format!("{} cannot be started: {error}", tool.display()), "run ./ashlar"))?;
    match status.code() {
        Some(0) => Ok(()),
        // The findings stand on standard output already.
        Some(1) => Err(Failure::Finding(String::new())),
        // Mostly it has refused the C or a protocol, which is not the machine's fault.
        Some(2) => Err(Failure::unable("nothing was checked, for the reason above", "mend what it names")),
        Some(status) if status == i32::from(READER_GONE) => Err(Failure::Passed(READER_GONE)),
        _ => Err(Failure::unable(format!("the checker ended early: {status}"), "ashlar doctor")),
    }
}
