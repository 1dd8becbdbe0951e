//! Looks at the machine's memory while it runs, and makes pages of what it sees.

use builder::machine::MachineOptions;
use builder::{assets, Built, KernelOptions};
use emulator::CommandLine;
use inspect::{Kernel, Program};
use live::{describe, Meter, Page, ProcessName, Subject};
use output::Failure;
use project::Project;
use recording::{names, Recording};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use trace::event::in_order;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(500);
/// How soon after a look at a machine whose monitor does not answer yet comes the next.
const SOON: Duration = Duration::from_millis(20);

pub struct Observer {
    recording: Recording,
    kernel: Kernel,
    /// Drivers and their clients, by number of the process.
    programs: BTreeMap<u32, Program>,
    subject: Subject,
    meter: Meter,
}

/// The latest page, and how many there were.
#[derive(Debug)]
pub struct Latest {
    pub page: Page,
    pub number: u64,
}

impl Observer {
    /// For a run of `built`; the command line is that of the emulator.
    pub fn new(
        built: &Built,
        kernel: &KernelOptions,
        project: &Project,
        machine: &MachineOptions,
    ) -> Result<(Observer, CommandLine), Failure> {
        let (recording, command) = Recording::new(built, machine, "run")?;
        let cpus = machine.cpus.unwrap_or(built.system.cpus);
        let files = assets(project, kernel)?.programs;
        let mut programs = BTreeMap::new();
        for process in &built.resolved.processes {
            let Some(file) = process.program.as_ref().and_then(|program| files.get(program)) else { continue };
            if let Some(program) = Program::of(&read(file)?).map_err(|error| unreadable(file, &error))? {
                programs.insert(process.id, program);
            }
        }
        let symbols = built.kernel.with_extension("debug");
        let observer = Observer {
            recording,
            kernel: Kernel::of(&read(&symbols)?).map_err(|error| unreadable(&symbols, &error))?,
            programs,
            subject: subject(built, project, cpus)?,
            meter: Meter::new(cpus),
        };
        Ok((observer, command))
    }

    /// Looks from now on, until the emulator no longer answers; `started` is when it was started.
    pub fn start(mut self, started: Instant) -> Arc<Mutex<Latest>> {
        let page = Page { system: self.subject.system.clone(), ..Page::default() };
        let latest = Arc::new(Mutex::new(Latest { page, number: 0 }));
        let shared = Arc::clone(&latest);
        std::thread::spawn(move || loop {
            let page = self.look(started);
            if page.is_err() && self.recording.is_still_to_come(started) {
                std::thread::sleep(SOON);
                continue;
            }
            let mut latest = shared.lock().unwrap_or_else(PoisonError::into_inner);
            latest.number += 1;
            match page {
                Ok(page) => latest.page = page,
                Err(fault) => {
                    latest.page.fault = Some(fault);
                    return;
                }
            }
            drop(latest);
            std::thread::sleep(EVERY);
        });
        latest
    }

    fn look(&mut self, started: Instant) -> Result<Page, String> {
        self.recording.read()?;
        let host = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let usage = self.meter.advance(&in_order(self.recording.take()), host);
        let memory = &self.recording.memory;
        let snapshot = self.kernel.read(memory)?;
        let mut followed = BTreeMap::new();
        for (number, program) in &self.programs {
            let root = snapshot.processes.get(*number as usize).and_then(|process| process.root);
            if let Some(root) = root {
                followed.insert(*number, program.read(memory, root)?);
            }
        }
        let of = |number: u32| followed.get(&number).cloned().unwrap_or_default();
        Ok(describe(&self.subject, &snapshot, &usage, &of, self.recording.lost()))
    }
}

fn subject(built: &Built, project: &Project, cpus: u32) -> Result<Subject, Failure> {
    let processes = built.resolved.processes.iter().map(|process| ProcessName {
        number: process.id,
        name: process.name.clone(),
        threads: process.threads.iter().map(|thread| (thread.id, thread.cpu)).collect(),
    });
    Ok(Subject {
        system: built.system.name.clone(),
        cpus,
        processes: processes.collect(),
        names: names(built, project)?,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::unable(format!("{} cannot be read: {error}", path.display()), ""))
}

fn unreadable(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::unable(format!("{}: {error}", path.display()), "remove it and build again")
}
