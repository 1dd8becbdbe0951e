//! From a description to what boots: kernel, programs, guest files, system image. The Makefiles (the kernel's also checks the
//! C subset and the layer order) and the crates `image` and `system` do the steps.

mod emulator_name;
pub mod guest;
mod kernel;
mod lock;
pub mod machine;
pub mod make;
pub mod on_demand;
mod own;
pub mod packages;

pub use emulator_name::EmulatorName;
pub use kernel::{KernelOptions, Lock};
use lock::BuildLock;
use output::{Failure, Output, Progress};
pub use own::{crates, find_system, link_crate};
use project::Project;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use system::{Assets, Made, OwnProgram, Resolved, System};

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
pub fn assets(project: &Project, options: &KernelOptions) -> Result<Assets, Failure> {
    Ok(things(project, options)?.0)
}

/// Everything that descriptions can name, and the programs of the user's own project among it.
fn things(project: &Project, options: &KernelOptions) -> Result<(Assets, Vec<OwnProgram>), Failure> {
    let mut programs = programs(project, options);
    let own = own::programs(project, &programs)?;
    programs.extend(own.iter().map(|program| (program.name.clone(), own::elf(program, project, options))));
    let is_finished = |program: &&OwnProgram| matches!(program.made, Made::Elf(_));
    let finished = own.iter().filter(is_finished).map(|program| program.name.clone()).collect();
    let assets = Assets {
        machines: project.machines(),
        programs,
        finished,
        files: guest::files(project),
        disk_images: guest::disk_images(project),
        machine: None,
    };
    Ok((assets, own))
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
    let system = load_system(description, kernel, project, progress)?;
    build_loaded(system, kernel, project, output, progress)
}

/// The first step of `build_system` alone.
pub fn load_system(
    description: &Path,
    kernel: &KernelOptions,
    project: &Project,
    progress: &Progress<'_>,
) -> Result<System, Failure> {
    load_system_for(EmulatorName::Own, description, kernel, project, progress)
}

/// The same for another machine than the one that the description names, if the emulator is another.
pub fn load_system_for(
    emulator: EmulatorName,
    description: &Path,
    kernel: &KernelOptions,
    project: &Project,
    progress: &Progress<'_>,
) -> Result<System, Failure> {
    progress.step("checking the description");
    let assets = Assets { machine: emulator.machine(), ..assets(project, kernel)? };
    Ok(system::load(description, &assets)?)
}

/// The further steps of `build_system`.
pub fn build_loaded(
    system: System,
    kernel: &KernelOptions,
    project: &Project,
    output: &Output,
    progress: &Progress<'_>,
) -> Result<Built, Failure> {
    let kernel = &kernel.for_system(&system);
    let (assets, own) = things(project, kernel)?;
    let _lock = BuildLock::take(project)?;
    progress.step("building the kernel");
    make_kernel(kernel, project, output)?;
    progress.step("building the programs");
    make_programs(kernel, project, output)?;
    own::build(&own, &system.programs, kernel, project, output)?;
    progress.step("fetching the guest's files");
    guest::prepare(&system, project, output)?;
    progress.step("writing the system image");
    let (image, resolved) = write_image(&system, &assets, project)?;
    Ok(Built { kernel: project.kernel(&kernel.configuration()), image, resolved, system })
}

/// Builds the kernel alone.
pub fn build_kernel(options: &KernelOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let _lock = BuildLock::take(project)?;
    make_kernel(options, project, output)
}

fn make_kernel(options: &KernelOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    if project.is_distribution() {
        return has_kernel(options, project);
    }
    let lock = format!("LOCK={}", options.lock.word());
    let debug = format!("DEBUG={}", u8::from(options.debug));
    let trace = format!("TRACE={}", u8::from(options.trace));
    make::make(project, "kernel", &[&lock, &debug, &trace], output)
}

/// What unit tests of projects are linked with, in the build folder.
pub const UNIT_LIBRARY: &str = "user/unit/libunit.a";

pub fn build_unit_library(project: &Project, output: &Output) -> Result<(), Failure> {
    let _lock = BuildLock::take(project)?;
    make::make(project, "kernel", &["unit-library", "SAN=address"], output)
}

/// Builds Ashlar's own programs alone.
pub fn build_programs(options: &KernelOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let _lock = BuildLock::take(project)?;
    make_programs(options, project, output)
}

/// A distribution has the kernels that were packed into it.
fn has_kernel(options: &KernelOptions, project: &Project) -> Result<(), Failure> {
    let configuration = options.configuration();
    if project.kernel(&configuration).is_file() {
        return Ok(());
    }
    let known = project::folders(&project.build().join("kernel")).join(", ");
    let remedy = format!("choose the options of one that it has, {known}, or use the source tree");
    Err(Failure::unable(format!("this distribution has no kernel {configuration}"), remedy))
}

fn make_programs(options: &KernelOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    if project.is_distribution() {
        return Ok(());
    }
    make::make(project, "user", &[&format!("DEBUG={}", u8::from(options.debug))], output)
}

/// Systems of many tests: kernel and programs are made once for each choice of options.
#[derive(Debug)]
pub struct Builds<'a> {
    project: &'a Project,
    made: Mutex<Vec<KernelOptions>>,
}

impl<'a> Builds<'a> {
    pub fn new(project: &'a Project) -> Builds<'a> {
        Builds { project, made: Mutex::new(Vec::new()) }
    }

    pub fn project(&self) -> &'a Project {
        self.project
    }

    /// Builds the system that `description` describes.
    pub fn system(
        &self,
        emulator: EmulatorName,
        description: &Path,
        kernel: &KernelOptions,
        output: &Output,
    ) -> Result<Built, Failure> {
        let project = self.project;
        let (assets, own) = things(project, kernel)?;
        let assets = Assets { machine: emulator.machine(), ..assets };
        let system = system::load(description, &assets)?;
        let kernel = &kernel.for_system(&system);
        let _lock = BuildLock::take(project)?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.contains(kernel) {
            make_kernel(kernel, project, output)?;
            make_programs(kernel, project, output)?;
            made.push(*kernel);
        }
        own::build(&own, &system.programs, kernel, project, output)?;
        guest::prepare(&system, project, output)?;
        let (image, resolved) = write_image(&system, &assets, project)?;
        Ok(Built { kernel: project.kernel(&kernel.configuration()), image, resolved, system })
    }
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
    // Written beside its place and renamed: an emulator or a test may have the old one.
    let (new, image) = (folder.join("system.img.new"), folder.join("system.img"));
    system::write_image(&resolution, &new)
        .map_err(|error| Failure::unable(error.to_string(), "check permissions and free space"))?;
    std::fs::rename(&new, &image).map_err(|error| unwritable(&image, error))?;
    Ok((image, resolution.resolved))
}
