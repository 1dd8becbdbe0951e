//! `prove --binary`: the work is done by `validate`, which is built on demand.

use crate::cli::ProveOptions;
use builder::on_demand::VALIDATOR;
use builder::{build_kernel, KernelOptions};
use output::{Failure, Output};
use project::Project;
use prove::Sample;
use std::process::Command;

pub fn prove_binary(options: &ProveOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let tool = VALIDATOR.ready(project, output)?;
    let mut command = Command::new(&tool);
    command.arg("--root").arg(project.root()).args(["--limit", &options.limit.to_string()]);
    match &options.image {
        Some(image) => {
            command.arg("--image").arg(image);
        }
        None => build_kernel(&KernelOptions::default(), project, output)?,
    }
    match options.mutants {
        Some(Sample::Some(count)) => {
            command.args(["--mutants", &count.to_string(), "--seed", &options.seed.to_string()]);
        }
        Some(Sample::All) => return Err(Failure::unable("--binary takes a number of mutants", "give a number")),
        None => {}
    }
    if options.write {
        command.arg("--write");
    }
    if output.is_json() {
        command.args(["--format", "json"]);
    }
    command.args(&options.functions);
    output.detail(&format!("+ {command:?}"));
    let status = command
        .status()
        .map_err(|error| Failure::unable(format!("{} cannot be started: {error}", tool.display()), "run ./ashlar"))?;
    match status.code() {
        Some(0) => Ok(()),
        // The findings stand on standard error already.
        Some(1) => Err(Failure::Passed(1)),
        _ => Err(Failure::unable("the validator could not run; it says why above", "ashlar doctor")),
    }
}
