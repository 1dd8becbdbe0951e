//! Network and disk through Ashlar's drivers, and through those of a stock Linux on the same emulated devices.
//!
//! Both are booted in turn, several times, so that whatever else the machine does hits both. Each measures by its own clock,
//! which is the emulator's. Linux is Debian's kernel for PCs, directly on the emulator, with its modules 8139cp and ahci.

use super::super::measured::{build, compile, lines, start};
use super::super::table::Table;
use crate::build::machine::MachineOptions;
use crate::build::Built;
use crate::cli::KernelOptions;
use crate::emulator::CommandLine;
use crate::failure::Failure;
use crate::output::{Output, Progress};
use crate::project::Project;
use regex::Regex;
use serde_json::{json, Map, Value};
use std::path::PathBuf;
use std::time::Duration;

const ROUNDS: usize = 3;
const TIMEOUT: Duration = Duration::from_secs(300);
/// The timer check fails on an emulator that has to wait for its host.
const COMMAND_LINE: &str = "console=ttyS0 tsc=reliable no_timer_check quiet";

/// How Linux says that it has done what it was told, or could not.
const DONE: &str = r"^DEVICE \w+ \d+ ms|^DEVICE-FAILED";

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Microseconds,
    /// Of a work whose size both sides know.
    Milliseconds,
}

/// One thing that is measured on both.
struct Subject {
    name: &'static str,
    about: &'static str,
    /// The description that Ashlar boots.
    system: &'static str,
    /// A line that Ashlar's client prints, and the number in it.
    ashlar: &'static str,
    /// What Linux is told, and what it prints, with the number.
    command: &'static str,
    linux: &'static str,
    unit: Unit,
    /// KiB that are moved; 0 for times.
    kib: f64,
}

const SUBJECTS: [Subject; 4] = [
    Subject {
        name: "network_round_trip",
        about: "ping, us",
        system: "bench-net",
        ashlar: r"^PING \d+ answered after (\d+) us",
        command: "device ping 40",
        linux: r"seq=\d+ ttl=\d+ time=([0-9.]+) ms",
        unit: Unit::Microseconds,
        kib: 0.0,
    },
    Subject {
        name: "network_stream",
        about: "4 MiB echoed, KiB/s",
        system: "bench-net",
        ashlar: r"^ECHO 4194304 bytes came back as sent, (\d+) ms",
        command: "device echo 4",
        linux: r"^DEVICE echo (\d+) ms",
        unit: Unit::Milliseconds,
        kib: 4096.0,
    },
    Subject {
        name: "disk_one",
        about: "64 MiB, 64 KiB at a time, KiB/s",
        system: "bench-disk-one",
        ashlar: r"^DISK 67108864 bytes written and read, (\d+) ms",
        command: "device disk 64 64",
        linux: r"^DEVICE disk (\d+) ms",
        unit: Unit::Milliseconds,
        kib: 131_072.0,
    },
    Subject {
        name: "disk_queue",
        about: "64 MiB, queued, KiB/s",
        system: "bench-disk-queue",
        ashlar: r"^DISK 67108864 bytes written and read, (\d+) ms",
        command: "device disk 64 1024",
        linux: r"^DEVICE disk (\d+) ms",
        unit: Unit::Milliseconds,
        kib: 131_072.0,
    },
];

/// What was measured of one subject.
#[derive(Debug, Default, Clone)]
struct Samples {
    ashlar: Vec<f64>,
    linux: Vec<f64>,
}

pub fn devices(object: &mut Map<String, Value>, project: &Project, output: &Output) -> Result<(), Failure> {
    let systems = ["bench-net", "bench-disk-one", "bench-disk-queue"];
    let progress = output.progress(1 + ROUNDS * 5);
    progress.step("building, and fetching Linux");
    let quiet = output.only_failures();
    let linux = image::fetch_device_guest(&project.guest(), &mut |text| quiet.detail(text))
        .map_err(|error| Failure::unable(error.to_string(), error.remedy()))?;
    let built = systems.map(|system| build(system, &KernelOptions::default(), project, output));
    let built = built.into_iter().collect::<Result<Vec<Built>, Failure>>()?;
    let mut samples = vec![Samples::default(); SUBJECTS.len()];
    for round in 1..=ROUNDS {
        for (system, built) in systems.iter().zip(&built) {
            progress.step(&format!("{system}, round {round}"));
            let said = lines(built, &MachineOptions::default(), TIMEOUT, output)?;
            for (subject, samples) in SUBJECTS.iter().zip(&mut samples).filter(|(subject, _)| subject.system == *system)
            {
                samples.ashlar.extend(numbers(&said, subject.ashlar, 1.0)?);
            }
        }
        // The disk's two subjects are one machine.
        for (built, subjects) in [(&built[0], 0..2), (&built[1], 2..4)] {
            measure_linux(built, &linux, subjects, &mut samples, round, &progress, output)?;
        }
    }
    report(object, &samples, output)
}

/// Boots Linux on the machine of `built` and has it do its part of some subjects.
fn measure_linux(
    built: &Built,
    linux: &(PathBuf, PathBuf),
    subjects: std::ops::Range<usize>,
    samples: &mut [Samples],
    round: usize,
    progress: &Progress<'_>,
    output: &Output,
) -> Result<(), Failure> {
    let what = format!("Linux on the machine of {}, round {round}", SUBJECTS[subjects.start].system);
    progress.step(&what);
    let command = linux_command(built, linux)?;
    output.detail(&format!("+ {command}"));
    let mut session = start(&command)?;
    let late = |text: String, last: String| Failure::Finding(format!("{what}: {text}\n--- last lines\n{last}"));
    let mut before = 0;
    for (pattern, command) in std::iter::once(("^GUEST-UP", ""))
        .chain(SUBJECTS[subjects.clone()].iter().map(|subject| (DONE, subject.command)))
    {
        if !command.is_empty() {
            session.send(0, format!("{command}\n").as_bytes());
        }
        let found = session.wait_for(0, &compile(pattern)?, TIMEOUT);
        let error = match found {
            Ok(found) if found.line.contains("FAILED") => found.line.clone(),
            Ok(_) => continue,
            Err(error) => error.to_string(),
        };
        return Err(late(error, session.transcript(0).last_lines(15).join("\n")));
    }
    let said = session.transcript(0).last_lines(usize::MAX);
    for subject in subjects {
        // A pattern that two subjects share finds theirs one after the other.
        let factor = if SUBJECTS[subject].unit == Unit::Microseconds { 1000.0 } else { 1.0 };
        let all = numbers(&said, SUBJECTS[subject].linux, factor)?;
        if SUBJECTS[subject].linux.starts_with("^DEVICE disk") {
            samples[subject].linux.extend(all.get(before).copied());
            before += 1;
        } else {
            samples[subject].linux.extend(all);
        }
    }
    Ok(())
}

/// The emulator of `built` with Linux in Ashlar's place, and the same disk.
fn linux_command(built: &Built, (kernel, ramdisk): &(PathBuf, PathBuf)) -> Result<CommandLine, Failure> {
    let disk = built.image.with_file_name("disk.img");
    let linux = Built { kernel: kernel.clone(), image: ramdisk.clone(), ..built.clone() };
    let machine = MachineOptions { cpus: Some(1), disk: Some(disk), ..MachineOptions::default() };
    Ok(machine.command_line(&linux)?.with(["-append", COMMAND_LINE]))
}

/// The number in each line that matches.
fn numbers(lines: &[String], pattern: &str, factor: f64) -> Result<Vec<f64>, Failure> {
    let regex = Regex::new(pattern).map_err(|error| Failure::unable(error.to_string(), ""))?;
    let number = |line: &String| regex.captures(line)?.get(1)?.as_str().parse::<f64>().ok();
    let found: Vec<f64> = lines.iter().filter_map(number).map(|number| number * factor).collect();
    if found.is_empty() {
        return Err(Failure::Finding(format!("no line of /{pattern}/")));
    }
    Ok(found)
}

fn report(object: &mut Map<String, Value>, samples: &[Samples], output: &Output) -> Result<(), Failure> {
    let mut table = Table::new(["drivers", "Ashlar", "Linux", "Ashlar's speed to Linux's", "aim"]);
    for (subject, samples) in SUBJECTS.iter().zip(samples) {
        let (own, other) = (median(&samples.ashlar), median(&samples.linux));
        // A speed from a time.
        let shown = |time: f64| if subject.unit == Unit::Milliseconds { subject.kib * 1000.0 / time } else { time };
        let ratio = other / own;
        let cells = [shown(own), shown(other)].map(|number| format!("{number:.0}"));
        let [ashlar, linux] = cells;
        table.row(vec![subject.about.into(), ashlar, linux, format!("{ratio:.2}"), "0.9".into()]);
        let rounded = |number: f64| (number * 1000.0).round() / 1000.0;
        let value = json!({
            "ashlar": rounded(shown(own)), "linux": rounded(shown(other)), "ratio": rounded(ratio),
        });
        object.insert(subject.name.into(), value);
    }
    output.human(&table.render());
    output.human(&format!("medians of {ROUNDS} boots of each"));
    Ok(())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::{median, numbers, SUBJECTS};

    #[test]
    fn reads_both_sides() {
        let lines =
            ["PING 3 answered after 52 us", "64 bytes from 10.0.2.2: seq=1 ttl=255 time=0.187 ms"].map(String::from);
        assert_eq!(numbers(&lines, SUBJECTS[0].ashlar, 1.0).unwrap(), [52.0]);
        assert_eq!(numbers(&lines, SUBJECTS[0].linux, 1000.0).unwrap(), [187.0]);
        assert!(numbers(&lines, SUBJECTS[1].linux, 1.0).is_err());
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    }
}
