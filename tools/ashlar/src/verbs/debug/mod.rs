//! `debug`: runs a system under gdb, which gets the symbols of the kernel and of the program at which the machine stops.

mod attached;
mod place;

use super::files::{unwritable, write};
use crate::cli::DebugOptions;
use attached::Over;
use builder::machine::MachineOptions;
use builder::{assets, build_loaded, find_system, load_system, Built, STEPS};
use emulator::Session;
use output::{Failure, Output, OwnFolder};
use place::Place;
use project::Project;
use rustix::io::{fcntl_setfd, FdFlags};
use serde_json::json;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is added to gdb.
const SCRIPT: &str = include_str!("gdb.py");

pub fn debug(options: &DebugOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let (project, description) = find_system(options.system.as_deref(), project)?;
    let progress = output.progress(STEPS);
    let system = load_system(&description, &options.kernel, &project, &progress)?;
    // What is asked for is held against the system before anything is built.
    let processes: Vec<&str> = system.process_names().collect();
    let places: Vec<Place> =
        options.breaks.iter().map(|text| Place::parse(text, &processes)).collect::<Result<_, _>>()?;
    let machine = MachineOptions { cpus: options.cpus, ..MachineOptions::default() };
    machine.check(&system)?;
    let gdb = find_gdb()?;
    let built = build_loaded(system, &options.kernel, &project, output, &progress)?;
    drop(progress);
    let folder = OwnFolder::new("debug")?;
    let socket = listen(&folder.join("socket"))?;
    let server = format!("socket,id=gdb,fd={},server=on,wait=off", socket.as_raw_fd());
    let command = machine.command_line(&built)?.with(["-S", "-chardev", &server, "-gdb", "chardev:gdb"]);
    write(&folder.join("system.json"), &description_for_gdb(&built, options, &project)?)?;
    write(&folder.join("gdb.py"), SCRIPT)?;
    eprintln!("{command}");
    let mut gdb = Command::new(gdb);
    gdb.args(arguments(options, &places, &built, &folder)).env("ASHLAR_DEBUG", folder.join("system.json"));
    let mut session =
        Session::start(&command).map_err(|error| Failure::unable(error.to_string(), "run ./ashlar doctor"))?;
    drop(socket);
    let over = attached::converse(gdb, &built, &mut session)?;
    let complaints = session.finish();
    eprint!("{complaints}");
    match over {
        Over::Gdb(status) if status.success() => Ok(()),
        Over::Gdb(status) => Err(Failure::Finding(format!("gdb ended with {status}"))),
        Over::Signal(signal) => Err(Failure::unable(format!("ended by signal {signal}"), "")),
    }
}

fn find_gdb() -> Result<PathBuf, Failure> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join("gdb")).find(|path| path.is_file());
    found.ok_or_else(|| Failure::unable("gdb is not installed", "run ./ashlar doctor"))
}

/// The socket at which the emulator will answer gdb. It listens before the emulator has started, so that gdb need not wait.
fn listen(path: &Path) -> Result<UnixListener, Failure> {
    let socket = UnixListener::bind(path).map_err(|error| unwritable(path, &error))?;
    fcntl_setfd(&socket, FdFlags::empty())
        .map_err(|error| Failure::unable(format!("a socket cannot be passed on: {error}"), ""))?;
    Ok(socket)
}

/// The processes and their programs.
fn description_for_gdb(built: &Built, options: &DebugOptions, project: &Project) -> Result<String, Failure> {
    let programs = assets(project, &options.kernel)?.programs;
    let processes: Vec<serde_json::Value> = built
        .resolved
        .processes
        .iter()
        .map(|process| {
            let elf = process.program.as_ref().and_then(|program| programs.get(program));
            let threads: Vec<u32> = process.threads.iter().map(|thread| thread.id).collect();
            json!({ "name": process.name, "program": process.program, "elf": elf, "threads": threads })
        })
        .collect();
    Ok(json!({ "processes": processes }).to_string())
}

/// gdb's arguments: the kernel, the connection, what the options ask for, then the user's own commands.
fn arguments(options: &DebugOptions, places: &[Place], built: &Built, folder: &OwnFolder) -> Vec<String> {
    let mut arguments: Vec<String> = ["-q", "-nx"].map(String::from).into();
    let mut execute = |command: String| arguments.extend(["-ex".to_string(), command]);
    execute("set confirm off".into());
    execute("set pagination off".into());
    let symbols = built.kernel.with_extension("debug").display().to_string();
    execute(format!("file \"{}\"", symbols.replace('\\', "\\\\").replace('"', "\\\"")));
    execute(format!("source {}", folder.join("gdb.py").display()));
    execute(format!("target remote {}", folder.join("socket").display()));
    places.iter().for_each(|place| execute(format!("ashlar break {} {}", place.process, place.location)));
    if options.faults {
        execute("ashlar faults".into());
    }
    if options.violations {
        execute("ashlar violations".into());
    }
    options.execute.iter().for_each(|command| execute(command.clone()));
    if options.batch {
        arguments.push("--batch".into());
    }
    arguments
}
