//! `check`: every fault of a description, before anything is built.

use crate::build::assets;
use crate::cli::{CheckOptions, KernelOptions};
use crate::failure::Failure;
use crate::output::Output;
use project::Project;

pub fn check(options: &CheckOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let path = project.description(&options.system)?;
    let report = system::check(&path, &assets(project, &KernelOptions::default()));
    if !report.is_clean() {
        return Err(report.into());
    }
    output.human(&format!("{}: no faults", project.shown(&path)));
    output.json(&report.to_json());
    Ok(())
}
