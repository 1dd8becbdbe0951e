//! The kernel's bounds, as `timing --kernel` has written them, and what they say of a system.

use diagnostics::input_file::{self, MOST_DATA};
use output::Failure;
use response::Thread;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Of the kernel's report, what is used here.
#[derive(Deserialize)]
struct Report {
    machine: Machine,
    worst_response_cycles: Option<u64>,
    responses: Option<Vec<VectorResponse>>,
    lock_wait_cycles: Option<u64>,
    lock_processors: Option<u64>,
}

#[derive(Deserialize)]
struct Machine {
    name: String,
    clock_hz: Option<u64>,
}

#[derive(Deserialize)]
struct VectorResponse {
    cycles: u64,
    /// By the number of processors.
    lock_wait_cycles: BTreeMap<String, u64>,
}

impl Report {
    /// The response to any event, waits for locks apart.
    fn response(&self) -> Option<u64> {
        let of_vectors = self.responses.iter().flatten().map(|one| one.cycles);
        of_vectors.chain([self.worst_response_cycles?]).max()
    }

    /// What waits for locks add among so many processors: that of the next larger number for which there is one.
    fn lock_wait(&self, cpus: u64) -> Option<u64> {
        if cpus == 1 {
            return Some(0);
        }
        let of_vectors = self.responses.iter().flatten().flat_map(|one| &one.lock_wait_cycles);
        let numbered = of_vectors.filter_map(|(among, cycles)| Some((among.parse::<u64>().ok()?, *cycles)));
        let of_the_whole = self.lock_processors.zip(self.lock_wait_cycles);
        let mut by_number: BTreeMap<u64, u64> = BTreeMap::new();
        for (among, cycles) in numbered.chain(of_the_whole) {
            let most = by_number.entry(among).or_default();
            *most = cycles.max(*most);
        }
        by_number.range(cpus..).next().map(|(_, cycles)| *cycles)
    }
}

/// A file with bounds of a kernel.
pub struct KernelBounds {
    file: PathBuf,
    report: Report,
}

/// How late the kernel acts on an event, in cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// Waits for locks apart.
    pub response: u64,
    pub waits: u64,
}

impl KernelBounds {
    pub fn read(file: &Path) -> Result<KernelBounds, Failure> {
        let unusable = |error: &dyn std::fmt::Display| {
            Failure::unable(
                format!("{} has no bounds of a kernel: {error}", file.display()),
                "write it with `ashlar timing --kernel --format json --output FILE`",
            )
        };
        let text = input_file::bytes(file, MOST_DATA).map_err(|error| unusable(&error))?;
        let report = serde_json::from_slice(&text).map_err(|error| unusable(&error))?;
        Ok(KernelBounds { file: file.to_path_buf(), report })
    }

    /// The machine file's name.
    pub fn machine(&self) -> &str {
        &self.report.machine.name
    }

    pub fn clock(&self) -> Result<u64, Failure> {
        self.report.machine.clock_hz.filter(|clock| *clock > 0).ok_or_else(|| self.incomplete("clock"))
    }

    /// In a system with so many processors.
    pub fn latency(&self, cpus: u64) -> Result<Latency, Failure> {
        let response = self.report.response().ok_or_else(|| self.incomplete("response to interrupts"))?;
        let among = || self.incomplete(&format!("waits for locks among {cpus} processors"));
        Ok(Latency { response, waits: self.report.lock_wait(cpus).ok_or_else(among)? })
    }

    fn incomplete(&self, what: &str) -> Failure {
        Failure::unable(
            format!("the kernel's bounds in {} have no {what}", self.file.display()),
            "see what `ashlar timing --kernel` reports",
        )
    }
}

/// The threads of a system, as their responses are computed from.
pub fn threads(system: &system::System) -> Vec<Thread> {
    let thread = |one: system::ThreadTime| Thread {
        name: one.name,
        table: one.table,
        cpu: one.cpu,
        priority: one.priority,
        reservation: one.period.zip(one.budget),
        deadline: one.deadline,
        lends_to: one.lends_to,
    };
    system.threads().into_iter().map(thread).collect()
}
