//! `build`: kernel, programs, guest files and system image.

use crate::cli::BuildOptions;
use crate::results::BuildResult;
use builder::{build_system, find_system, STEPS};
use output::{Failure, Output};
use project::Project;

pub fn build(options: &BuildOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let (project, description) = find_system(options.system.as_deref(), project)?;
    let built = build_system(&description, &options.kernel, &project, output, &output.progress(STEPS))?;
    output.human(&format!("kernel  {}", project.shown(&built.kernel)));
    output.human(&format!("system  {}", project.shown(&built.image)));
    output.json(&BuildResult { system: built.system.name, kernel: built.kernel, image: built.image });
    Ok(())
}
