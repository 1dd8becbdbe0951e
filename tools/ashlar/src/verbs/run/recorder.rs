//! `run --report`: what the kernel records is read while the system runs, and becomes a page when it has ended.

use crate::verbs::files::write;
use crate::verbs::trace::{Bounds, Measured};
use builder::machine::MachineOptions;
use builder::Built;
use emulator::CommandLine;
use output::Failure;
use project::Project;
use recording::{names, Recording};
use std::path::Path;
use std::time::{Duration, Instant};
use trace::Names;

/// How often the rings are read.
const EVERY: Duration = Duration::from_millis(250);

pub struct Recorder<'a> {
    recording: Recording,
    names: Names,
    cpus: u32,
    icount: bool,
    due: Instant,
    page: &'a Path,
}

impl<'a> Recorder<'a> {
    /// For a run of `built`, whose report goes to `page`; the command line is that of the emulator.
    pub fn new(
        built: &Built,
        project: &Project,
        machine: &MachineOptions,
        page: &'a Path,
    ) -> Result<(Recorder<'a>, CommandLine), Failure> {
        let (recording, command) = Recording::new(built, machine, "run")?;
        let cpus = machine.cpus.unwrap_or(built.system.cpus);
        let due = Instant::now() + EVERY;
        Ok((Recorder { recording, names: names(built, project)?, cpus, icount: machine.icount, due, page }, command))
    }

    /// When the rings are to be read again.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Reads the rings of the emulator that was started at `started`.
    pub fn read_if_due(&mut self, started: Instant) -> Result<(), Failure> {
        if Instant::now() < self.due {
            return Ok(());
        }
        self.due = Instant::now() + EVERY;
        match self.recording.read() {
            Err(_) if self.recording.is_still_to_come(started) => Ok(()),
            read => read.map_err(|error| Failure::unable(error, "leave --report out")),
        }
    }

    /// Writes the page. What the emulator still has is read before, if it has not ended by itself.
    pub fn finish(mut self, built: &Built, is_running: bool) -> Result<(), Failure> {
        if is_running {
            // One that ends just now has nothing more to say.
            let _ = self.recording.read();
        }
        let measured = Measured::of(&mut self.recording, built, &self.names);
        write(self.page, &measured.page(built, &self.names, self.cpus, &Bounds::default(), self.icount))
    }
}
