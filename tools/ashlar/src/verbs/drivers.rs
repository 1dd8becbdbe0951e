//! `drivers`: checks drivers against their protocols. The work is done by `drivercheck`, which is built on demand.
//!
//! Knows: how the checker is built and started. Does not know: its commands and options; they are passed on.

use crate::cli::{DriversOptions, Format};
use crate::failure::Failure;
use crate::project::Project;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn drivers(options: &DriversOptions, format: Format, project: &Project) -> Result<(), Failure> {
    build(project)?;
    let tool = Project::tool("drivercheck");
    let mut command = Command::new(&tool);
    command.args(&options.arguments).current_dir(project.root());
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
        _ => Err(Failure::unable("the checker could not run; it says why above", "ashlar doctor")),
    }
}

/// Builds the checker, if there is a cargo and anything has changed.
fn build(project: &Project) -> Result<(), Failure> {
    let Some(target) = target() else { return Ok(()) };
    let cargo = std::env::var_os("ASHLAR_CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--locked", "--package", "drivercheck", "--target-dir"])
        .arg(target)
        .arg("--manifest-path")
        .arg(project.root().join("tools/Cargo.toml"))
        .status();
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::unable("the checker could not be built", "see above")),
        // A tree without Rust may have the checker all the same.
        Err(_) if Project::tool("drivercheck").exists() => Ok(()),
        Err(error) => Err(Failure::unable(format!("cargo cannot be started: {error}"), "run ./ashlar doctor")),
    }
}

/// The folder of what cargo has built, if this program stands in one.
fn target() -> Option<PathBuf> {
    let here = std::env::current_exe().ok()?;
    let folder = here.parent()?;
    (folder.file_name()? == "release").then(|| folder.parent().map(Path::to_path_buf)).flatten()
}
