//! `image`: a disc image for BIOS and UEFI machines.

use crate::build::{build_system, STEPS};
use crate::cli::ImageOptions;
use crate::failure::Failure;
use crate::output::Output;
use project::Project;
use serde_json::json;

pub fn image(options: &ImageOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let description = project.description(&options.system)?;
    let progress = output.progress(STEPS + 1);
    let built = build_system(&description, &options.kernel, project, output, &progress)?;
    progress.step("writing the disc image");
    let folder = project.system_folder(&built.system.name);
    let iso = options.output.clone().unwrap_or_else(|| folder.join("ashlar.iso"));
    image::write_iso(&built.kernel, &built.image, &folder.join("iso"), &iso)
        .map_err(|error| Failure::unable(error.to_string(), "run ./ashlar doctor"))?;
    output.human(&format!("disc image  {}", project.shown(&iso)));
    output.human("try it with:  qemu-system-x86_64 -machine q35 -cpu EPYC -smp 4 -m 2G -nographic -cdrom FILE");
    output.json(&json!({ "system": built.system.name, "iso": iso }));
    Ok(())
}
