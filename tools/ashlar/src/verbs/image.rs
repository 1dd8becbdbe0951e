//! `image`: a disc image for BIOS and UEFI machines.

use super::files::can_hold_a_file;
use crate::cli::ImageOptions;
use crate::results::ImageResult;
use builder::{build_system, find_system, STEPS};
use output::{Failure, Output};
use project::Project;

pub fn image(options: &ImageOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let (project, description) = find_system(options.system.as_deref(), project)?;
    if let Some(path) = &options.output {
        can_hold_a_file(path)?;
    }
    let progress = output.progress(STEPS + 1);
    let built = build_system(&description, &options.kernel, &project, output, &progress)?;
    progress.step("writing the disc image");
    let folder = project.system_folder(&built.system.name);
    let iso = options.output.clone().unwrap_or_else(|| folder.join("ashlar.iso"));
    image::write_iso(&built.kernel, &built.image, &folder.join("iso"), &iso)
        .map_err(|error| Failure::unable(error.to_string(), error.remedy()))?;
    output.human(&format!("disc image  {}", project.shown(&iso)));
    let system = options.system.as_ref().map_or(String::new(), |system| format!("{system} "));
    output.human(&format!("boot it with: ashlar run {system}--iso {}", project.shown(&iso)));
    output.json(&ImageResult { system: built.system.name, iso });
    Ok(())
}
