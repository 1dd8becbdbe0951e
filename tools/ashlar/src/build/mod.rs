//! From a description to what boots: kernel, programs, guest files, system image.
//!
//! Knows: the order of the steps and where their results go. Does not know: how a step does its work: that is for the
//! Makefiles (the kernel's also checks the C subset and the layer order) and the crates `image` and `system`.

pub mod guest;
pub mod machine;
pub mod make;

use crate::cli::KernelOptions;
use crate::failure::Failure;
use crate::output::{Output, Progress};
use project::Project;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use system::{Assets, Resolved, System};

/// What a run needs.
#[derive(Debug, Clone)]
pub struct Built {
    pub system: System,
    pub resolved: Resolved,
    pub kernel: PathBuf,
    pub image: PathBuf,
}

/// Steps that `build_system` counts.
pub const STEPS: usize = 5;

/// Everything that descriptions can name, whether it has been made already or not.
pub fn assets(project: &Project, options: &KernelOptions) -> Assets {
    Assets { machines: project.machines(), programs: programs(project, options), files: guest::files(project) }
}

fn programs(project: &Project, options: &KernelOptions) -> BTreeMap<String, PathBuf> {
    let out = project.build().join(if options.debug { "user-debug" } else { "user" });
    system::programs(&project.root().join("user"), &out)
}

/// Builds the system that `description` describes; takes `STEPS` steps of `progress`.
pub fn build_system(
    description: &Path,
    kernel: &KernelOptions,
    project: &Project,
    output: &Output,
    progress: &Progress<'_>,
) -> Result<Built, Failure> {
    let assets = assets(project, kernel);
    progress.step("checking the description");
    let system = system::load(description, &assets)?;
    progress.step("building the kernel");
    build_kernel(kernel, project, output)?;
    progress.step("building the programs");
    make::make(project, "user", &[&format!("DEBUG={}", u8::from(kernel.debug))], output)?;
    progress.step("fetching the guest's files");
    if !system.files.is_empty() {
        guest::fetch(project, output)?;
    }
    progress.step("writing the system image");
    let (image, resolved) = write_image(&system, &assets, project)?;
    Ok(Built { kernel: project.kernel(&kernel.configuration()), image, resolved, system })
}

/// Builds the kernel alone.
pub fn build_kernel(options: &KernelOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let lock = format!("LOCK={}", options.lock.word());
    let debug = format!("DEBUG={}", u8::from(options.debug));
    make::make(project, "kernel", &[&lock, &debug], output)
}

fn write_image(system: &System, assets: &Assets, project: &Project) -> Result<(PathBuf, Resolved), Failure> {
    let folder = project.system_folder(&system.name);
    let unwritable = |path: &Path, error: std::io::Error| {
        Failure::unable(format!("{} cannot be written: {error}", path.display()), "check permissions and free space")
    };
    std::fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, error))?;
    let resolution = system::resolve(system, assets)?;
    let resolved = serde_json::to_string_pretty(&resolution.resolved)
        .map_err(|error| Failure::unable(format!("the resolved system is not JSON: {error}"), ""))?;
    for (name, text) in
        [("resolved.json".to_string(), resolved + "\n"), (format!("system_{}.h", system.name), resolution.c_header())]
    {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| unwritable(&path, error))?;
    }
    let image = folder.join("system.img");
    system::write_image(&resolution, &image)
        .map_err(|error| Failure::unable(error.to_string(), "check permissions and free space"))?;
    Ok((image, resolution.resolved))
}
