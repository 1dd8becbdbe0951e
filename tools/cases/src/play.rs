//! Playing a case: boot, follow the steps, watch for what must not appear.

use super::case::{Boot, Case, DamagedFile, Step};
use super::log::Log;
use super::sound::Sound;
use super::{damage, Outcome};
use builder::machine::MachineOptions;
use builder::{Builds, Built, KernelOptions, Lock};
use consoles::view::Style;
use consoles::View;
use emulator::session::WaitError;
use emulator::transcript::line_regex;
use emulator::{monitor, CommandLine, End, Session};
use output::{Failure, Output};
use project::Project;
use regex::bytes::Regex;
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
    match prepare(case, name, cpus, lock, builds, output) {
        Err(Failure::Unable { message, remedy }) if remedy == SKIP => Outcome::Skipped(message),
        Err(failure) => Outcome::Failed(failure.to_string()),
        Ok(prepared) => follow(case, name, &prepared, builds.project(), output, show),
    }
}

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
    let mut built = builds.system(&description(case, builds)?, &kernel, output)?;
    let folder = builds.project().out().join("tests").join(name);
    make_folder(&folder)?;
    set_apart(case, &mut built, &folder)?;
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
    let mut command = options.command_line(&built)?;
    let socket = folder.join("monitor");
    if case.steps.iter().any(|step| step.monitor.is_some()) {
        command = monitor::reachable(command, &socket);
    }
    Ok(Prepared { built, command, socket })
}

/// A system that is ready to be started.
struct Prepared {
    built: Built,
    command: CommandLine,
    /// Of the emulator's monitor, if a step needs it.
    socket: PathBuf,
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
        let io = |error: std::io::Error| Failure::unable(error.to_string(), "check permissions and free space");
        absent(&own)?;
        let damage: Vec<_> = case.damage.iter().filter(|damage| damage.file == file).collect();
        if damage.is_empty() {
            // A link keeps what it names when a later build puts a new file in the old one's place.
            std::fs::hard_link(&path, &own).map_err(io)?;
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

/// What must not appear: console, expression.
type Forbidden = Vec<(usize, Regex)>;

fn follow(case: &Case, name: &str, prepared: &Prepared, project: &Project, output: &Output, show: bool) -> Outcome {
    let Prepared { built, command, .. } = prepared;
    output.detail(&format!("+ {command}"));
    let mut session = match Session::start(command) {
        Ok(session) => session,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    let names: Vec<String> = built.system.consoles.iter().map(|console| console.name.clone()).collect();
    if show {
        let mut view = View::new(std::io::stderr(), &names, Style::PLAIN);
        session.observe(Box::new(move |console, bytes| view.feed(console, bytes)));
    }
    let deadline = Instant::now() + Duration::from_secs(case.timeout);
    let result = forbidden(case, built).and_then(|forbidden| {
        case.steps.iter().enumerate().try_for_each(|(index, step)| {
            take(step, prepared, &mut session, deadline).map_err(|text| format!("step {}: {text}", index + 1))?;
            watch(&forbidden, &mut session, &names)
        })
    });
    let Err(why) = result else { return Outcome::Passed };
    let complaints = session.finish();
    let mut log = Log::new(name, project);
    for (index, name) in names.iter().enumerate() {
        log.part(name, session.transcript(index).text(), LAST_LINES);
    }
    if !complaints.trim().is_empty() {
        log.part("the emulator says", complaints.trim().as_bytes(), LAST_LINES);
    }
    Outcome::Failed(format!("{why}{}\n--- emulator\n{command}", log.finish()))
}

fn forbidden(case: &Case, built: &Built) -> Result<Forbidden, String> {
    let one = |(console, pattern): (&String, &String)| Ok((number_of(console, built)?, compile(pattern)?));
    let mut forbidden = case.forbid.iter().map(one).collect::<Result<Forbidden, String>>()?;
    forbidden.push((0, compile(KERNEL_DIED)?));
    Ok(forbidden)
}

fn watch(forbidden: &Forbidden, session: &mut Session<'_>, names: &[String]) -> Result<(), String> {
    for (console, regex) in forbidden {
        if let Some(found) = session.transcript(*console).find_anywhere(regex) {
            return Err(format!("{} said what it must not: {}", names[*console], found.line));
        }
    }
    Ok(())
}

fn number_of(console: &str, built: &Built) -> Result<usize, String> {
    let place = built.system.consoles.iter().position(|known| known.name == console);
    place.ok_or_else(|| format!("the system has no console {console}"))
}

fn compile(pattern: &str) -> Result<Regex, String> {
    line_regex(pattern).map_err(|error| error.to_string())
}

/// Takes one step.
fn take(step: &Step, prepared: &Prepared, session: &mut Session<'_>, deadline: Instant) -> Result<(), String> {
    let built = &prepared.built;
    let left = deadline.saturating_duration_since(Instant::now());
    if step.up {
        return all_up(built, session, deadline);
    }
    if let Some(code) = step.end {
        let end = session.wait_end(left).map_err(|_| format!("the system has not ended itself with code {code}"))?;
        // The debug-exit device turns code N into status 2N+1.
        return match end {
            End::Exit(status) if status == 2 * code + 1 || (status == 0 && code == 0) => Ok(()),
            other => Err(format!("the emulator ended with {other}, not the system with code {code}")),
        };
    }
    if let (Some(hertz), Some(file), Some(seconds)) = (step.tone, &step.file, step.seconds) {
        return find_tone(&built.image.with_file_name(file), hertz, seconds);
    }
    if let Some(line) = &step.monitor {
        return monitor::obey(&prepared.socket, line);
    }
    let name = step.console.as_deref().unwrap_or_default();
    let console = number_of(name, built)?;
    if let Some(pattern) = &step.wait {
        let within = step.seconds.map_or(left, |seconds| left.min(Duration::from_secs(seconds)));
        return wait(session, console, name, pattern, within);
    }
    if let Some(text) = &step.send {
        session.send(console, text.as_bytes());
    }
    if let (Some(pattern), Some(seconds)) = (&step.quiet, step.seconds) {
        return match session.wait_for(console, &compile(pattern)?, Duration::from_secs(seconds)) {
            Err(WaitError::Timeout) => Ok(()),
            Err(ended) => Err(format!("while {name} was watched, {ended}")),
            Ok(found) => Err(format!("{name} said: {}", found.line)),
        };
    }
    Ok(())
}

fn wait(session: &mut Session<'_>, console: usize, name: &str, pattern: &str, left: Duration) -> Result<(), String> {
    match session.wait_for(console, &compile(pattern)?, left) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{name} has not said /{pattern}/: {error}")),
    }
}

/// The emulator may still be writing the file: what it has played long ago is there.
fn find_tone(path: &Path, hertz: u32, seconds: u64) -> Result<(), String> {
    let fault = |text: String| format!("{}: {text}", path.display());
    let sound = Sound::parse(&std::fs::read(path).map_err(|error| fault(error.to_string()))?).map_err(fault)?;
    let found = sound.seconds_of(f64::from(hertz));
    if found >= seconds as f64 {
        return Ok(());
    }
    Err(fault(format!("{found:.1} s of {hertz} Hz in {:.1} s of sound, not {seconds} s", sound.seconds())))
}

fn all_up(built: &Built, session: &mut Session<'_>, deadline: Instant) -> Result<(), String> {
    let mut any = false;
    for (index, console) in built.system.consoles.iter().enumerate() {
        if let Some(pattern) = &console.up {
            any = true;
            wait(session, index, &console.name, pattern, deadline.saturating_duration_since(Instant::now()))?;
        }
    }
    if any {
        Ok(())
    } else {
        Err("the description gives no console an `up`".into())
    }
}
