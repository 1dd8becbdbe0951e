//! The rings of a kernel that records, read through the emulator while it runs.

use builder::machine::MachineOptions;
use builder::Built;
use emulator::{monitor, CommandLine};
use inspect::Memory;
use output::{Failure, OwnFolder};
use project::Project;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use trace::{Event, Layout, Names, Reader};

/// The emulator opens its monitor soon after it was started, on a busy host later.
const OPENS_WITHIN: Duration = Duration::from_secs(30);

/// A machine whose memory can be read while it runs, and the rings in it.
pub struct Recording {
    pub memory: Memory,
    layout: Layout,
    reader: Reader,
    /// Holds the monitor's socket.
    _folder: OwnFolder,
}

impl Recording {
    /// For a run of `built`, whose kernel records; the command line is that of the emulator.
    pub fn new(built: &Built, machine: &MachineOptions, verb: &str) -> Result<(Recording, CommandLine), Failure> {
        let folder = OwnFolder::new(verb)?;
        let socket = folder.join("monitor");
        let layout = layout(&built.kernel, machine.cpus.unwrap_or(built.system.cpus))?;
        let command = monitor::reachable(machine.command_line(built)?, &socket);
        let memory = Memory::new(socket, folder.path().to_path_buf());
        Ok((Recording { memory, reader: Reader::new(layout.clone()), layout, _folder: folder }, command))
    }

    /// Reads what is new.
    pub fn read(&mut self) -> Result<(), String> {
        let before = self.memory.read(&self.layout.counts)?;
        let ring = self.memory.read(&self.layout.ring)?;
        let after = self.memory.read(&self.layout.counts)?;
        self.reader.take(&before, &ring, &after);
        Ok(())
    }

    /// The same, or nothing while the emulator, which was started at `started`, may still open its monitor.
    pub fn read_once_open(&mut self, started: Instant) -> Result<(), Failure> {
        match self.read() {
            Err(_) if self.is_still_to_come(started) => Ok(()),
            read => read.map_err(|error| Failure::unable(error, "")),
        }
    }

    /// Whether the monitor of the emulator, which was started at `started`, may be opened yet.
    pub fn is_still_to_come(&self, started: Instant) -> bool {
        !self.memory.has_answered() && started.elapsed() < OPENS_WITHIN
    }

    /// What has been read since the last call.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.reader.events)
    }

    /// Events that were overwritten before they were read.
    pub fn lost(&self) -> u64 {
        self.reader.lost
    }
}

fn layout(kernel: &Path, cpus: u32) -> Result<Layout, Failure> {
    let elf = fs::read(kernel)
        .map_err(|error| Failure::unable(format!("{} cannot be read: {error}", kernel.display()), ""))?;
    Layout::of(&elf, cpus)
        .map_err(|error| Failure::unable(format!("{}: {error}", kernel.display()), "remove it and build again"))
}

/// What the numbers in events are called in this system.
pub fn names(built: &Built, project: &Project) -> Result<Names, Failure> {
    let header = |path: &str| {
        let path = project.root().join("kernel").join(path);
        fs::read_to_string(&path).map_err(|error| Failure::unable(format!("{}: {error}", path.display()), ""))
    };
    let threads =
        built.resolved.processes.iter().flat_map(|process| {
            process.threads.iter().map(|thread| (thread.id, full_name(&process.name, &thread.name)))
        });
    let lines = built.resolved.interrupts.iter().map(|interrupt| (interrupt.line, interrupt.name.clone()));
    Ok(Names::new(threads, lines, &header("syscall_numbers.h")?, &header("abi.h")?, &header("arch/arch.h")?))
}

/// A process's first thread is called as the process, as in `timing --system`.
fn full_name(process: &str, thread: &str) -> String {
    match thread {
        "main" => process.to_string(),
        _ => format!("{process}.{thread}"),
    }
}
