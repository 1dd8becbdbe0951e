//! `bench guests`: Linux in a guest against the same kernel directly on the emulator.
//!
//! One run measures both in turn: other load on the machine slows both. Times are wall time taken outside:
//! boot from the emulator's start to the guest's first process, work between the lines that open and close it. Beside it
//! stands the processor time that the emulator took meanwhile.

use super::measured::{build, compile, processor_seconds, start};
use super::{median, rounded};
use crate::results::{BenchResult, GuestTimes};
use builder::guest::{files, KERNEL, RAMDISK};
use builder::machine::MachineOptions;
use builder::{Built, KernelOptions};
use emulator::session::WaitError;
use emulator::{CommandLine, Session};
use output::table::Table;
use output::{Failure, Output, Progress};
use project::Project;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// One guest, alone.
const ONE: &str = "bench-guest";
/// Three guests at once, on a CPU each.
const THREE: &str = "bench-guests";
const BOOT: &str = "boot";
const WORKLOADS: [&str; 4] = ["sha256", "untar", "fork", "pipe"];
/// What KVM takes under the same emulator, as a ratio.
const REFERENCES: [(&str, &str); 5] = [
    (BOOT, "KVM 1.56 to 1.59"),
    ("sha256", "KVM 1.04"),
    ("untar", "KVM 1.40"),
    ("fork", "KVM 1.20"),
    ("pipe", "KVM 1.62"),
];
const ROUNDS: usize = 3;
const TIMEOUT: Duration = Duration::from_secs(300);

/// Milliseconds of each workload, one entry a round.
pub(super) struct Times {
    pub(super) wall: BTreeMap<&'static str, Vec<f64>>,
    processor: BTreeMap<&'static str, Vec<f64>>,
}

impl Times {
    pub(super) const fn new() -> Times {
        Times { wall: BTreeMap::new(), processor: BTreeMap::new() }
    }

    fn add(&mut self, name: &'static str, wall: Duration, processor_seconds: f64) {
        self.wall.entry(name).or_default().push(wall.as_secs_f64() * 1000.0);
        self.processor.entry(name).or_default().push(processor_seconds * 1000.0);
    }
}

pub fn guests(project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(2 + 2 * ROUNDS);
    progress.step("building");
    let one = build(ONE, &KernelOptions::default(), project, output)?;
    let three = build(THREE, &KernelOptions::default(), project, output)?;
    let bare = bare_command(project, &one, 1)?;
    let guest = MachineOptions::default().command_line(&one)?;
    let console = |index: usize| vec![index];
    let guest_consoles = awaited_consoles(&one);
    let (mut bare_times, mut guest_times, mut three_times) = (Times::new(), Times::new(), Times::new());
    for round in 1..=ROUNDS {
        measure(&bare, &console(0), &WORKLOADS, &mut bare_times, &progress, &format!("bare, round {round}"), output)?;
        measure(
            &guest,
            &guest_consoles,
            &WORKLOADS,
            &mut guest_times,
            &progress,
            &format!("guest, round {round}"),
            output,
        )?;
    }
    let together = MachineOptions::default().command_line(&three)?;
    measure(
        &together,
        &awaited_consoles(&three),
        &WORKLOADS,
        &mut three_times,
        &progress,
        "three guests at once",
        output,
    )?;
    report(output, &bare_times, &guest_times, &three_times);
    Ok(())
}

fn report(output: &Output, bare: &Times, guest: &Times, three: &Times) {
    let mut table = Table::new([
        "milliseconds",
        "bare",
        "guest",
        "ratio",
        "bare processor",
        "guest processor",
        "ratio",
        "3 guests",
        "ratio",
        "reference",
    ]);
    let mut all = BTreeMap::new();
    for (name, reference) in REFERENCES {
        let [bare_processor, guest_processor] = [bare, guest].map(|times| median(&times.processor[name]));
        let [bare, guest, three] = [bare, guest, three].map(|times| median(&times.wall[name]));
        let [ratio, ratio_processor, ratio_three] = [guest / bare, guest_processor / bare_processor, three / bare];
        let mut row = vec![name.to_string()];
        row.extend([format!("{bare:.0}"), format!("{guest:.0}"), format!("{ratio:.2}")]);
        row.extend([format!("{bare_processor:.0}"), format!("{guest_processor:.0}"), format!("{ratio_processor:.2}")]);
        row.extend([format!("{three:.0}"), format!("{ratio_three:.2}"), reference.to_string()]);
        table.row(row);
        let [bare, guest, ratio, three, ratio_three] = [bare, guest, ratio, three, ratio_three].map(rounded);
        let [bare_processor, guest_processor, ratio_processor] =
            [bare_processor, guest_processor, ratio_processor].map(rounded);
        all.insert(
            name,
            GuestTimes { bare, guest, ratio, bare_processor, guest_processor, ratio_processor, three, ratio_three },
        );
    }
    output.human(&table.render());
    output.human(&format!("bare and guest: median of {ROUNDS} rounds; three guests: the slowest of them, one round"));
    output.json(&BenchResult::Guests(all));
}

/// Numbers of the consoles that have an `up`: those of guests.
pub(super) fn awaited_consoles(built: &Built) -> Vec<usize> {
    let consoles = built.system.consoles.iter().enumerate();
    consoles.filter(|(_, console)| console.up.is_some()).map(|(index, _)| index).collect()
}

/// The emulator with the guest's kernel in Ashlar's place, so many processors, and as much memory and the same command line as the guest.
pub(super) fn bare_command(project: &Project, one: &Built, cpus: u32) -> Result<CommandLine, Failure> {
    let setting = |key: &str| {
        let lines = one.resolved.processes.iter().flat_map(|process| &process.environment);
        lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(String::from).next()
    };
    let missing =
        || Failure::unable(format!("{ONE} has no guest with a command line"), "see bench/systems/bench-guest.toml");
    let cmdline = setting("arg.cmdline").ok_or_else(missing)?;
    let memory: u64 = setting("arg.memory").and_then(|text| text.parse().ok()).ok_or_else(missing)?;
    let files = files(project);
    let bare = Built { kernel: files[KERNEL].clone(), image: files[RAMDISK].clone(), ..one.clone() };
    let machine = MachineOptions { cpus: Some(cpus), memory: Some(memory >> 20), ..MachineOptions::default() };
    Ok(machine.command_line(&bare)?.with(["-append", &cmdline]))
}

/// Boots `command`, waits until every console of `consoles` has its shell, and runs each workload on all of them at
/// once, one after the other. Records the slowest.
pub(super) fn measure(
    command: &CommandLine,
    consoles: &[usize],
    workloads: &[&'static str],
    times: &mut Times,
    progress: &Progress<'_>,
    what: &str,
    output: &Output,
) -> Result<(), Failure> {
    progress.step(what);
    output.detail(&format!("+ {command}"));
    let mut session = start(command)?;
    for &console in consoles {
        expect(&mut session, console, "^GUEST-UP", what)?;
    }
    times.add(BOOT, session.started().elapsed(), processor_seconds(&session)?);
    for &console in consoles {
        expect(&mut session, console, "^# ", what)?;
    }
    for &name in workloads {
        for &console in consoles {
            session.send(console, format!("workload {name}\n").as_bytes());
        }
        expect(&mut session, consoles[0], &format!("^WORKLOAD-BEGIN {name}"), what)?;
        let (begin, processor_begin) = (Instant::now(), processor_seconds(&session)?);
        for &console in consoles {
            expect(&mut session, console, &format!(r"^WORKLOAD {name} \d+"), what)?;
        }
        times.add(name, begin.elapsed(), processor_seconds(&session)? - processor_begin);
    }
    Ok(())
}

fn expect(session: &mut Session<'_>, console: usize, pattern: &str, what: &str) -> Result<(), Failure> {
    let error: WaitError = match session.wait_for(console, &compile(pattern)?, TIMEOUT) {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    let last = session.transcript(console).last_lines(15).join("\n");
    Err(Failure::Finding(format!("{what}: /{pattern}/ has not come: {error}\n--- last lines\n{last}")))
}
