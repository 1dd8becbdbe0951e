//! Network and disk through Ashlar's drivers, and through those of a stock Linux on the same emulated devices.
//!
//! Both are booted in turn, several times: other load on the machine slows both. Each measures by its own clock,
//! which is the emulator's; and since that is the host's, which may be busy, the processor time that the emulator takes for
//! the work is compared, too. Linux is Debian's kernel for PCs, directly on the emulator, with its modules 8139cp and ahci; the
//! program that measures there, tools/image/guest/measure.c, does what Ashlar's clients do.

use super::super::measured::{build, compile, processor_seconds, start, GIVEN_UP, LAST_LINES};
use crate::results::{DeviceSpeeds, Figure, ProcessorTimes};
use crate::{median, rounded};
use builder::machine::MachineOptions;
use builder::{Built, KernelOptions};
use emulator::Session;
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use regex::Regex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const ROUNDS: usize = 3;
const TIMEOUT: Duration = Duration::from_secs(300);
/// What Linux prints when a command has succeeded.
const DONE: &str = "^DEVICE (ready|ping)|^DEVICE [a-z]+ [0-9]+ us";

const PING_MS: &str = r"seq=\d+ ttl=\d+ time=([0-9.]+) ms";

/// One thing that is measured on both.
struct Subject {
    name: &'static str,
    about: &'static str,
    /// The description that Ashlar boots.
    system: &'static str,
    /// A line that Ashlar's client prints, the number in it, and how many microseconds that counts.
    ashlar: (&'static str, f64),
    /// The last such line.
    done: &'static str,
    /// The command that Linux runs, and the same of the line that it prints.
    command: &'static str,
    linux: (&'static str, f64),
    /// KiB that are moved; 0 where the time itself is shown.
    kib: f64,
}

const SUBJECTS: [Subject; 4] = [
    Subject {
        name: "network_round_trip",
        about: "ping, us",
        system: "bench-net",
        ashlar: (r"^PING \d+ answered after (\d+) us", 1.0),
        done: "^PING 40 .* us",
        command: "device ping 40",
        linux: (PING_MS, 1000.0),
        kib: 0.0,
    },
    Subject {
        name: "network_stream",
        about: "16 MiB echoed, KiB/s",
        system: "bench-net",
        ashlar: (r"^ECHO 16777216 bytes came back as sent, (\d+) ms", 1000.0),
        done: "^ECHO 16777216 .* again",
        command: "device echo 16",
        linux: (r"^DEVICE echo (\d+) us", 1.0),
        kib: 16_384.0,
    },
    Subject {
        name: "disk_one",
        about: "128 MiB, one request at a time, KiB/s",
        system: "bench-disk-one",
        ashlar: (r"^DISK 134217728 bytes written and read, (\d+) ms", 1000.0),
        done: "^DISK 134217728 .* times",
        command: "device disk 128 64 1",
        linux: (r"^DEVICE disk (\d+) us", 1.0),
        kib: 262_144.0,
    },
    Subject {
        name: "disk_queue",
        about: "128 MiB, 32 requests at a time, KiB/s",
        system: "bench-disk-queue",
        ashlar: (r"^DISK 134217728 bytes written and read, (\d+) ms", 1000.0),
        done: "^DISK 134217728 .* times",
        command: "device disk 128 64 32",
        linux: (r"^DEVICE disk (\d+) us", 1.0),
        kib: 262_144.0,
    },
];

/// What was measured of one subject.
#[derive(Debug, Default, Clone)]
struct Samples {
    ashlar: Rounds,
    linux: Rounds,
}

/// Of each round: microseconds by the system's own clock, the median if there are several; and seconds of processor time that
/// the emulator took.
#[derive(Debug, Default, Clone)]
struct Rounds {
    clock: Vec<f64>,
    processor: Vec<f64>,
}

/// Ashlar's speed to Linux's, from times: by the medians of all rounds, and the least and the greatest of a round.
pub(super) fn ratios(ashlar: &[f64], linux: &[f64]) -> [f64; 3] {
    let rounds = ashlar.iter().zip(linux).map(|(own, other)| other / own);
    let (least, most) =
        rounds.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), one| (least.min(one), most.max(one)));
    [median(linux) / median(ashlar), least, most]
}

pub fn devices(figures: &mut BTreeMap<String, Figure>, project: &Project, output: &Output) -> Result<(), Failure> {
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
            measure_ashlar(built, system, &mut samples, output)?;
        }
        // The disk's two subjects are one machine.
        for (built, subjects) in
            [(&built[0], ["network_round_trip", "network_stream"]), (&built[1], ["disk_one", "disk_queue"])]
        {
            progress.step(&format!("Linux, {}, round {round}", subjects.join(", ")));
            measure_linux(built, &linux, &subjects, &mut samples, output)?;
        }
    }
    report(figures, &samples, output)
}

/// Boots a system and follows its clients through its subjects.
fn measure_ashlar(built: &Built, system: &str, samples: &mut [Samples], output: &Output) -> Result<(), Failure> {
    let command = MachineOptions::default().command_line(built)?;
    output.detail(&format!("+ {command}"));
    let mut session = start(&command)?;
    // The bus process and the driver have a console each, too; the client's is the last.
    let client = built.system.consoles.len() - 1;
    await_line(&mut session, client, "^(NET|DISK) up", system)?;
    for (subject, samples) in SUBJECTS.iter().zip(samples).filter(|(subject, _)| subject.system == system) {
        let begin = processor_seconds(&session)?;
        await_line(&mut session, client, subject.done, system)?;
        samples.ashlar.processor.push(processor_seconds(&session)? - begin);
        let said = session.transcript(client).last_lines(usize::MAX);
        samples.ashlar.clock.push(median(&microseconds(&said, subject.ashlar)?));
    }
    Ok(())
}

/// Boots Linux on the machine of `built` and has it do its part of some subjects.
fn measure_linux(
    built: &Built,
    linux: &(PathBuf, PathBuf),
    subjects: &[&str],
    samples: &mut [Samples],
    output: &Output,
) -> Result<(), Failure> {
    let command = crate::linux::linux(built, linux, "")?;
    output.detail(&format!("+ {command}"));
    let mut session = start(&command)?;
    await_line(&mut session, 0, "^GUEST-UP", "Linux")?;
    session.send(0, b"device ready\n");
    await_line(&mut session, 0, DONE, "Linux")?;
    let mut said_before = session.transcript(0).last_lines(usize::MAX).len();
    for (subject, samples) in SUBJECTS.iter().zip(samples).filter(|(subject, _)| subjects.contains(&subject.name)) {
        let begin = processor_seconds(&session)?;
        session.send(0, format!("{}\n", subject.command).as_bytes());
        await_line(&mut session, 0, DONE, "Linux")?;
        samples.linux.processor.push(processor_seconds(&session)? - begin);
        let said = session.transcript(0).last_lines(usize::MAX);
        samples.linux.clock.push(median(&microseconds(&said[said_before..], subject.linux)?));
        said_before = said.len();
    }
    Ok(())
}

/// Waits for a line and gives it. Fails at one with which a program gives up, or by which a run-time monitor complains.
pub(super) fn await_line(
    session: &mut Session<'_>,
    console: usize,
    pattern: &str,
    who: &str,
) -> Result<String, Failure> {
    // Up to the end of its line, which says why.
    let failed = format!("(?:{GIVEN_UP}|DEVICE-FAILED|MONITOR)[^\\n]*\\n");
    let why = match session.wait_for(console, &compile(&format!("(?:{pattern})|{failed}"))?, TIMEOUT) {
        Ok(found) if found.groups[0].as_ref().is_some_and(|text| text.ends_with('\n')) => {
            format!("it said `{}`", found.line.lines().next().unwrap_or_default())
        }
        Ok(found) => return Ok(found.line),
        Err(error) => error.to_string(),
    };
    let last = session.transcript(console).last_lines(LAST_LINES).join("\n");
    Err(Failure::Finding(format!("{who} has not come to /{pattern}/: {why}\n--- last lines\n{last}")))
}

/// The number in each line that matches, in microseconds.
pub(super) fn microseconds(lines: &[String], (pattern, factor): (&str, f64)) -> Result<Vec<f64>, Failure> {
    let regex = Regex::new(pattern).map_err(|error| Failure::unable(error.to_string(), ""))?;
    let number = |line: &String| regex.captures(line)?.get(1)?.as_str().parse::<f64>().ok();
    let found: Vec<f64> = lines.iter().filter_map(number).map(|number| number * factor).collect();
    if found.is_empty() {
        return Err(Failure::Finding(format!("no line of /{pattern}/")));
    }
    Ok(found)
}

fn report(figures: &mut BTreeMap<String, Figure>, samples: &[Samples], output: &Output) -> Result<(), Failure> {
    let mut table = Table::new([
        "drivers",
        "Ashlar",
        "Linux",
        "Ashlar's speed to Linux's",
        "of each round",
        "by processor time",
        "of each round",
        "aim",
    ]);
    for (subject, Samples { ashlar, linux }) in SUBJECTS.iter().zip(samples) {
        // A speed from a time.
        let shown = |time: f64| if subject.kib > 0.0 { subject.kib * 1e6 / time } else { time };
        let [own, other] = [ashlar, linux].map(|rounds| shown(median(&rounds.clock)));
        let mut row = vec![subject.about.into(), format!("{own:.0}"), format!("{other:.0}")];
        let mut compared = |own: &[f64], other: &[f64]| {
            let [ratio, least, most] = ratios(own, other);
            row.extend([format!("{ratio:.2}"), format!("{least:.2} to {most:.2}")]);
            [ratio, least, most].map(rounded)
        };
        let [ratio, ratio_least, ratio_most] = compared(&ashlar.clock, &linux.clock);
        // A round trip is too short for the host's clock of processor time.
        let processor = (subject.kib > 0.0).then(|| {
            let (own, other) = (&ashlar.processor, &linux.processor);
            let [processor_ratio, processor_ratio_least, processor_ratio_most] = compared(own, other);
            let [ashlar_processor_seconds, linux_processor_seconds] = [own, other].map(|one| rounded(median(one)));
            ProcessorTimes {
                ashlar_processor_seconds,
                linux_processor_seconds,
                processor_ratio,
                processor_ratio_least,
                processor_ratio_most,
            }
        });
        if processor.is_none() {
            row.extend(["".into(), "".into()]);
        }
        let (ashlar, linux) = (rounded(own), rounded(other));
        let speeds = DeviceSpeeds { ashlar, linux, ratio, ratio_least, ratio_most, processor };
        figures.insert(subject.name.into(), Figure::Device(speeds));
        row.push("0.9".into());
        table.row(row);
    }
    output.human(&table.render());
    output.human(&format!("medians of {ROUNDS} boots of each, in turn"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{median, microseconds, ratios, SUBJECTS};

    #[test]
    fn reads_both_sides() {
        let lines =
            ["PING 3 answered after 52 us", "64 bytes from 10.0.2.2: seq=1 ttl=255 time=0.187 ms"].map(String::from);
        assert_eq!(microseconds(&lines, SUBJECTS[0].ashlar).unwrap(), [52.0]);
        assert_eq!(microseconds(&lines, SUBJECTS[0].linux).unwrap(), [187.0]);
        assert!(microseconds(&lines, SUBJECTS[1].linux).is_err());
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    }

    #[test]
    fn ratios_are_of_speeds() {
        assert_eq!(ratios(&[10.0, 20.0, 40.0], &[20.0, 20.0, 20.0]), [1.0, 0.5, 2.0]);
    }
}
