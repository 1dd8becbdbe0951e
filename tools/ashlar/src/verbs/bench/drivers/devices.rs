//! Network and disk through Ashlar's drivers, and through those of a stock Linux on the same emulated devices.
//!
//! Both are booted in turn, several times, so that whatever else the machine does hits both. Each measures by its own clock,
//! which is the emulator's. Linux is Debian's kernel for PCs, directly on the emulator, with its modules 8139cp and ahci; the
//! program that measures there, tools/image/guest/measure.c, does what Ashlar's clients do.

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
const DONE: &str = "^DEVICE ping|^DEVICE [a-z]+ [0-9]+ us|^DEVICE-FAILED";

const PING_MS: &str = r"seq=\d+ ttl=\d+ time=([0-9.]+) ms";

/// One thing that is measured on both.
struct Subject {
    name: &'static str,
    about: &'static str,
    /// The description that Ashlar boots.
    system: &'static str,
    /// A line that Ashlar's client prints, the number in it, and how many microseconds that counts.
    ashlar: (&'static str, f64),
    /// What Linux is told, and the same of what it prints then.
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
        command: "device ping 40",
        linux: (PING_MS, 1000.0),
        kib: 0.0,
    },
    Subject {
        name: "network_stream",
        about: "4 MiB echoed, KiB/s",
        system: "bench-net",
        ashlar: (r"^ECHO 4194304 bytes came back as sent, (\d+) ms", 1000.0),
        command: "device echo 4",
        linux: (r"^DEVICE echo (\d+) us", 1.0),
        kib: 4096.0,
    },
    Subject {
        name: "disk_one",
        about: "64 MiB, one request at a time, KiB/s",
        system: "bench-disk-one",
        ashlar: (r"^DISK 67108864 bytes written and read, (\d+) ms", 1000.0),
        command: "device disk 64 64 1",
        linux: (r"^DEVICE disk (\d+) us", 1.0),
        kib: 131_072.0,
    },
    Subject {
        name: "disk_queue",
        about: "64 MiB, 32 requests at a time, KiB/s",
        system: "bench-disk-queue",
        ashlar: (r"^DISK 67108864 bytes written and read, (\d+) ms", 1000.0),
        command: "device disk 64 64 32",
        linux: (r"^DEVICE disk (\d+) us", 1.0),
        kib: 131_072.0,
    },
];

/// What was measured of one subject: microseconds, the median of each round.
#[derive(Debug, Default, Clone)]
struct Samples {
    ashlar: Vec<f64>,
    linux: Vec<f64>,
}

impl Samples {
    /// Ashlar's speed to Linux's: by the medians of all rounds, and the least and the greatest of a round.
    fn ratios(&self) -> [f64; 3] {
        let rounds = self.ashlar.iter().zip(&self.linux).map(|(own, other)| other / own);
        let (least, most) =
            rounds.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), one| (least.min(one), most.max(one)));
        [median(&self.linux) / median(&self.ashlar), least, most]
    }
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
                samples.ashlar.push(median(&microseconds(&said, subject.ashlar)?));
            }
        }
        // The disk's two subjects are one machine.
        for (built, subjects) in
            [(&built[0], ["network_round_trip", "network_stream"]), (&built[1], ["disk_one", "disk_queue"])]
        {
            measure_linux(built, &linux, &subjects, &mut samples, round, &progress, output)?;
        }
    }
    report(object, &samples, output)
}

/// Boots Linux on the machine of `built` and has it do its part of some subjects.
fn measure_linux(
    built: &Built,
    linux: &(PathBuf, PathBuf),
    subjects: &[&str],
    samples: &mut [Samples],
    round: usize,
    progress: &Progress<'_>,
    output: &Output,
) -> Result<(), Failure> {
    let what = format!("Linux, {}, round {round}", subjects.join(", "));
    progress.step(&what);
    let command = linux_command(built, linux)?;
    output.detail(&format!("+ {command}"));
    let mut session = start(&command)?;
    let late = |text: String, last: String| Failure::Finding(format!("{what}: {text}\n--- last lines\n{last}"));
    let mut said_before = 0;
    session.wait_for(0, &compile("^GUEST-UP")?, TIMEOUT).map_err(|error| late(error.to_string(), String::new()))?;
    for (subject, samples) in SUBJECTS.iter().zip(samples).filter(|(subject, _)| subjects.contains(&subject.name)) {
        session.send(0, format!("{}\n", subject.command).as_bytes());
        let error = match session.wait_for(0, &compile(DONE)?, TIMEOUT) {
            Ok(found) if found.line.contains("FAILED") => Some(found.line),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        if let Some(error) = error {
            return Err(late(error, session.transcript(0).last_lines(15).join("\n")));
        }
        let said = session.transcript(0).last_lines(usize::MAX);
        samples.linux.push(median(&microseconds(&said[said_before..], subject.linux)?));
        said_before = said.len();
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

/// The number in each line that matches, in microseconds.
fn microseconds(lines: &[String], (pattern, factor): (&str, f64)) -> Result<Vec<f64>, Failure> {
    let regex = Regex::new(pattern).map_err(|error| Failure::unable(error.to_string(), ""))?;
    let number = |line: &String| regex.captures(line)?.get(1)?.as_str().parse::<f64>().ok();
    let found: Vec<f64> = lines.iter().filter_map(number).map(|number| number * factor).collect();
    if found.is_empty() {
        return Err(Failure::Finding(format!("no line of /{pattern}/")));
    }
    Ok(found)
}

fn report(object: &mut Map<String, Value>, samples: &[Samples], output: &Output) -> Result<(), Failure> {
    let mut table = Table::new(["drivers", "Ashlar", "Linux", "Ashlar's speed to Linux's", "of each round", "aim"]);
    for (subject, samples) in SUBJECTS.iter().zip(samples) {
        // A speed from a time.
        let shown = |time: f64| if subject.kib > 0.0 { subject.kib * 1e6 / time } else { time };
        let [own, other] = [&samples.ashlar, &samples.linux].map(|times| shown(median(times)));
        let [ratio, least, most] = samples.ratios();
        table.row(vec![
            subject.about.into(),
            format!("{own:.0}"),
            format!("{other:.0}"),
            format!("{ratio:.2}"),
            format!("{least:.2} to {most:.2}"),
            "0.9".into(),
        ]);
        let rounded = |number: f64| (number * 1000.0).round() / 1000.0;
        let value = json!({
            "ashlar": rounded(own), "linux": rounded(other), "ratio": rounded(ratio),
            "ratio_least": rounded(least), "ratio_most": rounded(most),
        });
        object.insert(subject.name.into(), value);
    }
    output.human(&table.render());
    output.human(&format!("medians of {ROUNDS} boots of each, in turn"));
    Ok(())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::{median, microseconds, Samples, SUBJECTS};

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
        let samples = Samples { ashlar: vec![10.0, 20.0, 40.0], linux: vec![20.0, 20.0, 20.0] };
        assert_eq!(samples.ratios(), [1.0, 0.5, 2.0]);
    }
}
