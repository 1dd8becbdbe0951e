//! A project of the user's own: where its descriptions are, and how its programs are built: those in C by `c`, those in Rust
//! by `rust`; its protocols by `protocols`.

mod c;
mod compilers;
mod protocols;
mod rust;

use crate::KernelOptions;
use compilers::Compilers;
use output::{Failure, Output};
use project::{Project, PROJECT_FILE};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use system::{Made, OwnProgram, ProjectCode, ProjectFile};

/// What runs where neither a system nor a project is named.
const DEFAULT_SYSTEM: &str = "three-linux";

/// The description that `argument` means, with the user's project that it belongs to: the one around the description, or
/// around the current folder where a system is named or nothing is given. A folder means the project around it.
pub fn find_system(argument: Option<&str>, project: &Project) -> Result<(Project, PathBuf), Failure> {
    let Some(argument) = argument else { return default_system(project.clone()) };
    let path = Path::new(argument);
    if path.is_dir() && (argument.contains('/') || argument.starts_with('.')) {
        let around = project.around(&path.canonicalize().unwrap_or(path.to_path_buf()))?;
        if around.own().is_none() {
            let message = format!("{argument} is not in a project: there is no {PROJECT_FILE} in it or around it");
            return Err(Failure::unable(message, "name a description or a project; `ashlar new` makes one"));
        }
        return default_system(around);
    }
    let description = project.description(argument)?;
    let folder = description.parent().unwrap_or(Path::new(""));
    Ok((project.around(folder)?, description))
}

fn default_system(project: Project) -> Result<(Project, PathBuf), Failure> {
    let Some(own) = project.own() else {
        let description = project.description(DEFAULT_SYSTEM)?;
        return Ok((project, description));
    };
    let file = read(own, &crate::programs(&project, &KernelOptions::default()))?;
    let name = match (file.system, &project.known_systems()[..]) {
        (Some(name), _) => name,
        (None, [only]) => only.clone(),
        (None, []) => {
            let message = format!("the project {} has no description", own.display());
            return Err(Failure::unable(message, "write systems/NAME.toml in it"));
        }
        (None, several) => {
            let message = format!("the project {} has several systems", own.display());
            let remedy = format!("name one of {}, or give `system` in {PROJECT_FILE}", several.join(", "));
            return Err(Failure::unable(message, remedy));
        }
    };
    let description = project.description(&name)?;
    Ok((project, description))
}

fn read(own: &Path, taken: &BTreeMap<String, PathBuf>) -> Result<ProjectFile, Failure> {
    Ok(ProjectFile::read(&own.join(PROJECT_FILE), taken)?)
}

/// The programs of the user's project, if there is one; `taken` are those of Ashlar.
pub(crate) fn programs(project: &Project, taken: &BTreeMap<String, PathBuf>) -> Result<Vec<OwnProgram>, Failure> {
    let Some(own) = project.own() else { return Ok(Vec::new()) };
    let programs = read(own, taken)?.programs;
    let protocols = protocols::load(own, project)?;
    if programs.iter().any(|program| matches!(program.made, Made::Crate(_))) {
        link_crate(own, project)?;
        protocols::write_crate(own, &protocols, rust::LINK_NAME)?;
    }
    Ok(programs)
}

/// Makes the link in the project `own` by which its crates find the crate `ashlar`, or mends it.
pub fn link_crate(own: &Path, project: &Project) -> Result<(), Failure> {
    rust::link_crate(own, project.root())
}

/// The crates of the user's project: each program's name and its folder, relative to the project's.
pub fn crates(project: &Project) -> Result<Vec<(String, PathBuf)>, Failure> {
    let programs = programs(project, &crate::programs(project, &KernelOptions::default()))?;
    let folder = |program: OwnProgram| match program.made {
        Made::Crate(folder) => Some((program.name, folder)),
        Made::C { .. } | Made::Elf(_) => None,
    };
    Ok(programs.into_iter().filter_map(folder).collect())
}

/// The ELF file of a program.
pub(crate) fn elf(program: &OwnProgram, project: &Project, options: &KernelOptions) -> PathBuf {
    match &program.made {
        Made::Elf(path) => project.own().unwrap_or(project.root()).join(path),
        Made::C { .. } | Made::Crate(_) => folder(project, options).join(format!("{}.elf", program.name)),
    }
}

fn folder(project: &Project, options: &KernelOptions) -> PathBuf {
    project.out().join(if options.debug { "programs-debug" } else { "programs" })
}

/// Builds those of `programs` that are named in `used`. One that cannot be built is told with what its compiler says once the
/// others are built.
pub(crate) fn build(
    programs: &[OwnProgram],
    used: &[String],
    options: &KernelOptions,
    project: &Project,
    output: &Output,
) -> Result<(), Failure> {
    let Some(own) = project.own() else { return Ok(()) };
    let used: Vec<&OwnProgram> = programs.iter().filter(|program| used.contains(&program.name)).collect();
    if used.iter().all(|program| matches!(program.made, Made::Elf(_))) {
        return Ok(());
    }
    let mut compilers = Compilers::of(options, project, own, output)?;
    let mut broken = Vec::new();
    match compilers.protocols(&protocols::load(own, project)?) {
        Ok(()) => {}
        Err(fault) => return Err(fault.failure()),
    }
    for program in used {
        let done = match &program.made {
            Made::C { sources, include, flags } => compilers.c(&program.name, sources, include, flags),
            Made::Crate(folder) => compilers.rust(&program.name, folder),
            Made::Elf(_) => Ok(()),
        };
        match done {
            Ok(()) => {}
            Err(Fault::Broken(why)) => broken.push(why.told(&program.name)),
            Err(Fault::Unable(failure)) => return Err(failure),
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(Failure::Finding(broken.join("\n")))
    }
}

/// Why a program was not built.
enum Fault {
    /// Something is wrong with the program.
    Broken(Broken),
    Unable(Failure),
}

impl Fault {
    /// Of what belongs to no program: the project's protocols.
    fn failure(self) -> Failure {
        match self {
            Fault::Broken(why) => Failure::Finding(why.told("protocols")),
            Fault::Unable(failure) => failure,
        }
    }
}

/// What is wrong with a program.
struct Broken {
    code: ProjectCode,
    /// In one line, if more is known than what the compiler says.
    what: String,
    remedy: String,
    /// What the compiler says.
    said: String,
}

impl Broken {
    /// The compiler refuses the program.
    fn refused(said: String) -> Fault {
        Fault::Broken(Broken { code: ProjectCode::NotBuilt, what: String::new(), remedy: String::new(), said })
    }

    fn told(&self, program: &str) -> String {
        let mut text = format!("{}: the program `{program}` cannot be built: {}", self.code.name(), self.what)
            .trim_end()
            .to_string();
        if !self.remedy.is_empty() {
            text += &format!("\n    remedy: {}", self.remedy);
        }
        format!("{text}\n{}", self.said)
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Fault {
    let message = format!("{} cannot be written: {error}", path.display());
    Fault::Unable(Failure::unable(message, "check permissions and free space"))
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|about| about.modified()).ok()
}

/// When a file was built. One that is empty was not: a machine that stops leaves such files.
fn built(path: &Path) -> Option<SystemTime> {
    modified(path).filter(|_| path.metadata().is_ok_and(|about| about.len() != 0))
}
