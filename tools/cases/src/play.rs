//! Playing a case: boot, follow the steps, watch for what must not appear.

use super::case::{Boot, Case, DamagedFile};
use super::log::Log;
use super::processors;
use super::steps::{compile, number_of, take};
use super::{damage, Outcome};
use builder::machine::{prepare as prepare_emulator, MachineOptions};
use builder::{Builds, Built, KernelOptions, Lock};
use consoles::view::Style;
use consoles::View;
use emulator::{monitor, CommandLine, End, Session};
use output::{Failure, Output};
use project::Project;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Lines shown of each console when a case fails.
const LAST_LINES: usize = 12;
/// What the kernel says when it meets an exception in itself; no case may see it.
const KERNEL_DIED: &str = "^kernel: fatal";

/// Plays `case` as the test called `name`.
pub fn play(
    case: &Case,
    name: &str,
    cpus: Option<u32>,
    lock: Lock,
    builds: &Builds<'_>,
    output: &Output,
    show: bool,
) -> Outcome {
    let once = || match prepare(case, name, cpus, lock, builds, output) {
        Err(Failure::Unable { message, remedy }) if remedy == SKIP => Ok(Outcome::Skipped(message)),
        Err(failure) => Ok(Outcome::Failed(failure.to_string())),
        Ok(prepared) => follow(case, name, &prepared, builds.project(), output, show),
    };
    let plugs = case.steps.iter().any(|step| step.monitor.is_some());
    let again = |Crashed(why): Crashed| {
        if plugs {
            output.note(&format!("{name} is played again, since it was the emulator that failed: {why}"));
            once().unwrap_or_else(|Crashed(why)| Outcome::Failed(why))
        } else {
            Outcome::Failed(why)
        }
    };
    once().unwrap_or_else(again)
}

/// The emulator was ended by a signal, as by an assertion of its own, and what was seen last. Whatever a system does to its
/// devices, that is the emulator's fault. QEMU does it rarely where a device with queued commands is taken out, so such a case
/// is played once more; elsewhere it is a failure.
struct Crashed(String);

/// Marks a failure that means "not on this machine".
const SKIP: &str = "skip";

fn prepare(
    case: &Case,
    name: &str,
    cpus: Option<u32>,
    lock: Lock,
    builds: &Builds<'_>,
    output: &Output,
) -> Result<Prepared, Failure> {
    let kernel = KernelOptions { lock, debug: case.debug, ..KernelOptions::default() };
    let mut built = builds.system(case.ran_on, &description(case, builds)?, &kernel, output)?;
    let folder = builds.project().out().join("tests").join(name);
    make_folder(&folder)?;
    set_apart(case, &mut built, &folder)?;
    if let Some(signal) = &case.signal {
        let path = folder.join(&signal.file);
        std::fs::write(&path, signal.bytes()).map_err(|error| {
            Failure::unable(
                format!("{} cannot be written: {error}", path.display()),
                "check permissions and free space",
            )
        })?;
    }
    let mut options = MachineOptions {
        cpus,
        memory: case.memory,
        icount: case.icount,
        extra: case.emulator.clone(),
        ..Default::default()
    };
    if let Some(boot) = case.boot {
        let iso = folder.join("ashlar.iso");
        image::write_iso(&built.kernel, &built.image, &folder.join("iso"), &iso)
            .map_err(|error| Failure::unable(error.to_string(), error.remedy()))?;
        options.iso = Some(iso);
        options.extra.extend(firmware(boot)?);
    }
    if built.system.emulator.as_ref().is_some_and(|emulator| emulator.disk.is_some()) {
        options.disk = Some(fresh_disk(&folder)?);
    }
    prepare_emulator(&built, output)?;
    let mut command = options.command_line(&built)?;
    let socket = folder.join("monitor");
    if case.steps.iter().any(|step| step.monitor.is_some()) || processors::can_be_asked(&command, &socket) {
        command = monitor::reachable(command, &socket);
    }
    Ok(Prepared { built, command, socket })
}

/// A system that is ready to be started.
pub struct Prepared {
    pub built: Built,
    command: CommandLine,
    /// Of the emulator's monitor.
    pub socket: PathBuf,
}

fn description(case: &Case, builds: &Builds<'_>) -> Result<PathBuf, Failure> {
    if case.system.contains('/') || case.system.ends_with(".toml") {
        Ok(case.folder.join(&case.system))
    } else {
        Ok(builds.project().description(&case.system)?)
    }
}

fn firmware(boot: Boot) -> Result<Vec<String>, Failure> {
    const UEFI: &str = "/usr/share/ovmf/OVMF.fd";
    match boot {
        Boot::Bios => Ok(Vec::new()),
        Boot::Uefi if Path::new(UEFI).exists() => Ok(vec!["-bios".into(), UEFI.into()]),
        Boot::Uefi => Err(Failure::unable(format!("{UEFI} is missing (package ovmf)"), SKIP)),
    }
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::unable(format!("{} cannot be made: {error}", folder.display()), "check permissions"))
}

/// Where the case's disk is to be; nothing is there.
fn fresh_disk(folder: &Path) -> Result<PathBuf, Failure> {
    let disk = folder.join("disk.img");
    absent(&disk)?;
    Ok(disk)
}

/// Removes the file at `path` if there is one.
fn absent(path: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::unable(format!("{} cannot be removed: {error}", path.display()), "check permissions"))
        }
        _ => Ok(()),
    }
}

/// Gives the test an image and a kernel of its own in `folder`, damaged as the case says: another test may build the
/// same system, and the emulator leaves files beside the image.
fn set_apart(case: &Case, built: &mut Built, folder: &Path) -> Result<(), Failure> {
    let files = [
        (DamagedFile::Image, &mut built.image, folder.join("system.img")),
        (DamagedFile::Kernel, &mut built.kernel, folder.join("ashlar.elf")),
    ];
    for (file, path, own) in files {
        let from = path.display().to_string();
        let io = |error: std::io::Error| {
            let message = format!("{from} cannot be brought to {}: {error}", own.display());
            Failure::unable(message, "check permissions and free space")
        };
        absent(&own)?;
        let damage: Vec<_> = case.damage.iter().filter(|damage| damage.file == file).collect();
        if damage.is_empty() {
            // A link keeps what it names when a later build puts a new file in the old one's place. To a distribution that
            // belongs to another user, or is on another file system, there can be none.
            std::fs::hard_link(&path, &own).or_else(|_| std::fs::copy(&path, &own).map(drop)).map_err(io)?;
        } else {
            let mut bytes = std::fs::read(&path).map_err(io)?;
            for one in damage {
                damage::apply(one, &mut bytes)
                    .map_err(|text| Failure::unable(format!("damage: {text}"), "mend the case"))?;
            }
            std::fs::write(&own, bytes).map_err(io)?;
        }
        *path = own;
    }
    Ok(())
}

fn follow(
    case: &Case,
    name: &str,
    prepared: &Prepared,
    project: &Project,
    output: &Output,
    show: bool,
) -> Result<Outcome, Crashed> {
    let Prepared { built, command, .. } = prepared;
    output.detail(&format!("+ {command}"));
    let mut session = match Session::start(command) {
        Ok(session) => session,
        Err(error) => return Ok(Outcome::Failed(error.to_string())),
    };
    let names: Vec<String> = built.system.consoles.iter().map(|console| console.name.clone()).collect();
    if show {
        let mut view = View::new(std::io::stderr(), &names, Style::PLAIN);
        session.observe(Box::new(move |console, bytes| view.feed(console, bytes)));
    }
    let deadline = Instant::now() + Duration::from_secs(case.timeout);
    let result = forbid(case, built, &mut session).and_then(|()| {
        case.steps.iter().enumerate().try_for_each(|(index, step)| {
            let taken = take(step, prepared, &mut session, deadline);
            // What must not be said is often why a step fails, so it comes first.
            watch(&session, &names)?;
            taken.map_err(|text| format!("step {}: {text}", index + 1))
        })
    });
    let Err(why) = result else { return Ok(Outcome::Passed) };
    let end = session.ended();
    let runs_on = end.is_none() && processors::can_be_asked(command, &prepared.socket);
    let processors = runs_on.then(|| processors::describe(&prepared.socket));
    let complaints = session.finish();
    let mut log = Log::new(name, project);
    for (index, name) in names.iter().enumerate() {
        log.part(name, session.transcript(index).text(), LAST_LINES);
    }
    if !complaints.trim().is_empty() {
        log.part("the emulator says", complaints.trim().as_bytes(), LAST_LINES);
    }
    if let Some(processors) = processors {
        log.part("the processors when it failed", processors.as_bytes(), usize::MAX);
    }
    let text = format!("{why}{}\n--- emulator\n{command}", log.finish());
    match end {
        Some(End::Signal(_)) => Err(Crashed(text)),
        _ => Ok(Outcome::Failed(text)),
    }
}

/// Has the session look for what the case forbids, and for the kernel's end.
fn forbid(case: &Case, built: &Built, session: &mut Session<'_>) -> Result<(), String> {
    for (console, pattern) in &case.forbid {
        session.forbid(number_of(console, built)?, compile(pattern)?);
    }
    session.forbid(0, compile(KERNEL_DIED)?);
    Ok(())
}

fn watch(session: &Session<'_>, names: &[String]) -> Result<(), String> {
    match session.forbidden() {
        Some((console, found)) => Err(format!("{} said what it must not: {}", names[console], found.line)),
        None => Ok(()),
    }
}
