//! Times of workloads in Linux, wherever that runs.
//!
//! Wall time is taken outside: boot from the start to the first process, work between the lines that open and close it. Beside
//! it stands the processor time that the emulator took meanwhile.

use crate::measured::{compile, processor_seconds, start};
use emulator::{CommandLine, Session};
use output::{Failure, Output};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub const BOOT: &str = "boot";
const TIMEOUT: Duration = Duration::from_secs(300);

/// Milliseconds of each workload, one entry a round.
#[derive(Debug, Default)]
pub struct Times {
    pub wall: BTreeMap<&'static str, Vec<f64>>,
    pub processor: BTreeMap<&'static str, Vec<f64>>,
}

impl Times {
    fn add(&mut self, name: &'static str, wall: Duration, processor_seconds: f64) {
        self.wall.entry(name).or_default().push(wall.as_secs_f64() * 1000.0);
        self.processor.entry(name).or_default().push(processor_seconds * 1000.0);
    }
}

/// Where Linux runs.
#[derive(Debug)]
pub struct Place {
    pub name: &'static str,
    pub command: CommandLine,
    /// Those on which a Linux has its shell.
    pub consoles: Vec<usize>,
    /// What a Linux on the first console is told, to start that which is measured under KVM.
    pub kvm: Option<&'static str>,
}

/// Boots Linux, waits until every console has its shell, and runs each workload on all of them at once, one after the
/// other. Records the slowest.
pub fn measure(place: &Place, workloads: &[&'static str], times: &mut Times, output: &Output) -> Result<(), Failure> {
    let Place { name, command, consoles, kvm } = place;
    output.detail(&format!("+ {command}"));
    let mut session = start(command)?;
    let (mut begin, mut processor_begin) = (session.started(), 0.0);
    if let Some(kvm) = kvm {
        expect(&mut session, consoles[0], "^GUEST-UP", name)?;
        expect(&mut session, consoles[0], "^# ", name)?;
        session.send(consoles[0], format!("kvm {kvm}\n").as_bytes());
        expect(&mut session, consoles[0], "^KVM-START", name)?;
        (begin, processor_begin) = (Instant::now(), processor_seconds(&session)?);
    }
    for &console in consoles {
        expect(&mut session, console, "^GUEST-UP", name)?;
    }
    times.add(BOOT, begin.elapsed(), processor_seconds(&session)? - processor_begin);
    for &console in consoles {
        expect(&mut session, console, "^# ", name)?;
    }
    for &workload in workloads {
        for &console in consoles {
            session.send(console, format!("workload {workload}\n").as_bytes());
        }
        expect(&mut session, consoles[0], &format!("^WORKLOAD-BEGIN {workload}$"), name)?;
        let (begin, processor_begin) = (Instant::now(), processor_seconds(&session)?);
        for &console in consoles {
            expect(&mut session, console, &format!(r"^WORKLOAD {workload} \d+"), name)?;
        }
        times.add(workload, begin.elapsed(), processor_seconds(&session)? - processor_begin);
    }
    Ok(())
}

fn expect(session: &mut Session<'_>, console: usize, pattern: &str, place: &str) -> Result<(), Failure> {
    let fails = "^WORKLOAD-FAILED|^DEVICE-FAILED";
    let why = match session.wait_for(console, &compile(&format!("(?:{pattern})|{fails}"))?, TIMEOUT) {
        Ok(found) if !compile(fails)?.is_match(found.line.as_bytes()) => return Ok(()),
        Ok(_) => "the workload failed".to_string(),
        Err(error) => error.to_string(),
    };
    let last = session.transcript(console).last_lines(15).join("\n");
    Err(Failure::Finding(format!("{place}: /{pattern}/ has not come: {why}\n--- last lines\n{last}")))
}
