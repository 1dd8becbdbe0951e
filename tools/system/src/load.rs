//! Reading a description with its machine, and checking both, in the order of the stages.

use crate::check::{check as check_meaning, cpus_needed, mitigation_bits, KERNEL_CONSOLE};
use crate::codes::Code;
use crate::description::{self, machine, Description, Machine};
use crate::file::disk_image::{self, DiskImage};
use crate::file::{named_files, read_all, Strictness};
use crate::memory::{self, Allotment};
use crate::read::{read, Document};
use crate::resolve;
use crate::schema;
use crate::Assets;
use diagnostics::{input_file, suggest, Diagnostic, Report, Source, Span};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A system without faults: what there is to build and run, before anything is built.
#[derive(Debug, Clone)]
pub struct System {
    pub name: String,
    pub about: String,
    /// CPUs it needs.
    pub cpus: u32,
    /// Flags of the boot table.
    pub mitigations: u32,
    /// Programs it runs, sorted: these must be built before it can be resolved.
    pub programs: Vec<String>,
    /// Named files it uses, sorted: these must be fetched before it can be resolved.
    pub files: Vec<String>,
    /// What the machine's disk holds when it is made.
    pub disk_images: Vec<DiskImage>,
    /// Consoles in the order of their numbers; the first is the kernel's.
    pub consoles: Vec<ConsoleInfo>,
    /// Name of its machine.
    pub machine: String,
    /// CPUs its machine has.
    pub machine_cpus: u32,
    /// Bytes of memory its machine has.
    pub machine_memory: u64,
    /// How to run the machine as an emulator, if its file says so.
    pub emulator: Option<Emulator>,
    /// What each process needs and gets, as far as its programs are built; in the order of the description.
    pub(crate) allotments: Vec<Allotment>,
    pub(crate) description: Description,
    pub(crate) machine_description: Machine,
}

/// A console, as `ashlar run` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleInfo {
    pub name: String,
    /// Regular expression: output that matches shows that the system behind the console is up.
    pub up: Option<String>,
    /// Input signals a notification of the console's owner.
    pub has_reader: bool,
}

/// The emulator's command; `{kernel}`, `{image}`, `{cpus}`, `{memory}` (MiB), `{serial}`, `{disk}` and so on are to be filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Emulator {
    pub command: String,
    pub arguments: Vec<String>,
    /// Variables, `NAME=VALUE`.
    pub environment: Vec<String>,
    /// It draws on a terminal, and its serial line is another one.
    pub terminal: bool,
    /// Of the machine's file.
    pub folder: PathBuf,
    /// Packages of Debian that it needs.
    pub packages: Vec<String>,
    /// Bytes of the disk image it needs.
    pub disk: Option<u64>,
}

impl System {
    /// Names of its processes, in the order of the description.
    pub fn process_names(&self) -> impl Iterator<Item = &str> {
        self.description.processes.iter().map(|process| process.name.value.as_str())
    }

    /// Whether one of its processes reads what the kernel records.
    pub fn reads_trace(&self) -> bool {
        self.description.processes.iter().any(|process| process.trace)
    }
}

/// Every fault of the description at `path`, of its machine file, and of those programs and guest files that exist
/// already. Needs nothing built.
pub fn check(path: &Path, assets: &Assets) -> Report {
    load(path, assets).err().unwrap_or_default()
}

/// The system described at `path`, or every fault that [`check`] finds.
pub fn load(path: &Path, assets: &Assets) -> Result<System, Report> {
    let mut report = Report::default();
    let (description, document) = read_description(path, &mut report)?;
    let machine = read_machine(&description, assets, &mut report);
    check_meaning(&description, machine.as_ref(), &document, assets, &mut report);
    let files = read_all(&description, assets, Strictness::Present, &mut report);
    disk_image::check(&description, machine.as_ref(), assets, &mut report);
    let allotments = memory::plan(&description, machine.as_ref(), &files, assets, &mut report);
    resolve::check_tables(&description, machine.as_ref(), &files, assets, &mut report);
    report.sort();
    match machine {
        Some(machine) if report.is_clean() => Ok(system(description, machine, allotments, assets)),
        _ => Err(report),
    }
}

pub(crate) fn read_description(path: &Path, report: &mut Report) -> Result<(Description, Document), Report> {
    let source = read_source(path, report, None, None)?;
    let document = read(&source, schema::system::TABLES, report);
    Ok((description::build(&document, &stem(path)), document))
}

pub(crate) fn read_machine(description: &Description, assets: &Assets, report: &mut Report) -> Option<Machine> {
    let named = description.machine.as_ref()?;
    let path = match &assets.machine {
        Some(other) => assets.machines.join(format!("{other}.toml")),
        None if named.value.ends_with(".toml") => beside(&description.source.path, &named.value),
        None => assets.machines.join(format!("{}.toml", named.value)),
    };
    let remedy = match suggest::nearest(&named.value, machines(&assets.machines).iter().map(String::as_str)) {
        Some(near) if !path.exists() => Some(format!("did you mean `{near}`?")),
        _ => None,
    };
    let source = read_source(&path, report, Some((&description.source, &named.span)), remedy.as_deref()).ok()?;
    let document = read(&source, schema::machine::TABLES, report);
    Some(machine::build(&document, &stem(&path)))
}

/// `name` relative to the folder of the file at `path`.
pub(crate) fn beside(path: &Path, name: &str) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(name)
}

/// Names of the machines in `folder`.
fn machines(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(stem(&entry.ok()?.path()))).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// The text at `path`. On failure the fault is reported, at `from` if that named the file, and a copy returned.
fn read_source(
    path: &Path,
    report: &mut Report,
    from: Option<(&Arc<Source>, &Span)>,
    remedy: Option<&str>,
) -> Result<Arc<Source>, Report> {
    let error = match input_file::text(path) {
        Ok(text) => return Ok(Arc::new(Source::new(path, text))),
        Err(error) => error,
    };
    let message = format!("{} cannot be read: {error}", path.display());
    let remedy = remedy.unwrap_or(error.remedy());
    let fault = Diagnostic::new(Code::Unreadable, message, remedy);
    report.push(match from {
        Some((source, span)) => fault.at(source, span, "named here"),
        None => fault,
    });
    Err(report.clone())
}

/// The console of a virtual machine, whose monitor always has a notification for input.
fn is_guests(description: &Description, console: &str) -> bool {
    let machines = description.processes.iter().filter(|process| process.vm.is_some());
    machines.filter_map(|machine| machine.console.as_ref()).any(|own| own.value == console)
}

fn system(description: Description, machine: Machine, allotments: Vec<Allotment>, assets: &Assets) -> System {
    let programs: BTreeSet<String> =
        description.processes.iter().filter_map(|process| Some(process.program.as_ref()?.value.clone())).collect();
    let files: BTreeSet<String> = description
        .processes
        .iter()
        .flat_map(named_files)
        .filter(|name| assets.files.contains_key(&name.value))
        .map(|name| name.value.clone())
        .collect();
    let mut consoles = vec![ConsoleInfo { name: KERNEL_CONSOLE.to_string(), up: None, has_reader: false }];
    consoles.extend(description.consoles.iter().map(|console| ConsoleInfo {
        name: console.name.value.clone(),
        up: console.up.as_ref().map(|up| up.value.clone()),
        has_reader: console.input.is_some() || is_guests(&description, &console.name.value),
    }));
    System {
        name: description.name.clone(),
        about: description.about.clone(),
        cpus: cpus_needed(&description) as u32,
        mitigations: mitigation_bits(&description),
        programs: programs.into_iter().collect(),
        files: files.into_iter().collect(),
        disk_images: disk_image::all(&description, assets),
        consoles,
        machine: machine.name.clone(),
        machine_cpus: machine.cpus.as_ref().map_or(1, |cpus| cpus.value as u32),
        machine_memory: machine.memory.as_ref().map_or(0, |memory| memory.value),
        emulator: machine.emulator.as_ref().map(|emulator| Emulator {
            command: emulator.command.clone(),
            arguments: emulator.arguments.clone(),
            environment: emulator.environment.clone(),
            terminal: emulator.terminal,
            folder: machine.source.path.parent().unwrap_or(Path::new("")).to_path_buf(),
            packages: emulator.packages.clone(),
            disk: emulator.disk,
        }),
        allotments,
        description,
        machine_description: machine,
    }
}

impl System {
    /// For people: a line for each CPU on which threads have reservations.
    pub fn reservations(&self) -> Vec<String> {
        crate::check::summary(&self.description)
    }
}
