//! What one guest's floods cost its neighbours and a real-time pair, in counted instructions.
//!
//! The guests and the pair of `bench-flood` know when which flood comes, and say at the end what they got.

use crate::measured::{self, compile, start, LAST_LINES};
use crate::results::{FloodFigures, Pulse, Throughput};
use builder::machine::MachineOptions;
use builder::KernelOptions;
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use regex::{Captures, Regex};
use std::collections::BTreeMap;
use std::time::Duration;

const SYSTEM: &str = "bench-flood";
/// With the one of nothing, which is what the others are compared with.
const FLOODS: usize = 8;
/// How long the host's disk takes for a flush has nothing to do with shares: it would be the longest part of a flood.
const HOST_DOES_NOT_FLUSH: [&str; 2] = ["-set", "drive.disk0.cache.no-flush=on"];
const TIMEOUT: Duration = Duration::from_secs(300);
const GIVEN_UP: &str = "FLOOD-FAILED|guest ended|PULSE (is ready too late|the controller)";
const THROUGHPUT: &str = r"^FLOOD of (\w+): (disk|network) (\d+), alone (\d+), promised (\d+): (kept|BELOW)$";
const PULSE: &str =
    r"^PULSE flood of (\w+): worst wake-up (\d+), worst answer (\d+), bound (\d+), of (\d+): (kept|BEYOND)$";

/// By flood, in the order of their names.
pub type Floods = BTreeMap<String, FloodFigures>;

pub fn floods(project: &Project, output: &Output) -> Result<Floods, Failure> {
    let progress = output.progress(2);
    progress.step(&format!("building {SYSTEM}"));
    let built = measured::build(SYSTEM, &KernelOptions::default(), project, output)?;
    let machine = MachineOptions { cpus: Some(1), icount: true, ..MachineOptions::default() };
    let command = machine.command_line(&built)?.with(HOST_DOES_NOT_FLUSH);
    output.detail(&format!("+ {command}"));
    progress.step("one guest floods, with counted instructions");
    let mut session = start(&command)?;
    let mut floods = Floods::new();
    for (index, console) in built.system.consoles.iter().enumerate() {
        let Some(up) = &console.up else { continue };
        let found = session.wait_for(index, &compile(&format!("(?:{up})|{GIVEN_UP}"))?, TIMEOUT);
        let has_given_up = compile(GIVEN_UP)?;
        let why = match &found {
            Ok(found) if has_given_up.is_match(found.line.as_bytes()) => Some(found.line.clone()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why {
            let last = session.transcript(index).last_lines(LAST_LINES).join("\n");
            let text = format!("{} has not come to /{up}/: {why}\n--- last lines\n{last}", console.name);
            return Err(Failure::Finding(text));
        }
        for line in session.transcript(index).last_lines(usize::MAX) {
            read(&mut floods, &console.name, &line)?;
        }
    }
    if floods.len() != FLOODS {
        return Err(Failure::Finding(format!("{SYSTEM} tells of {} floods in place of {FLOODS}", floods.len())));
    }
    show(&floods, output);
    Ok(floods)
}

/// Takes in a line, if it is one of measurement.
fn read(floods: &mut Floods, console: &str, line: &str) -> Result<(), Failure> {
    let pattern = |text| Regex::new(text).map_err(|error| Failure::unable(error.to_string(), ""));
    let number = |found: &Captures, group: usize| found[group].parse::<u64>().unwrap_or_default();
    if let Some(found) = pattern(THROUGHPUT)?.captures(line) {
        let figures = floods.entry(found[1].to_string()).or_default();
        let of = if &found[2] == "disk" { &mut figures.disk } else { &mut figures.network };
        let throughput = Throughput {
            alone: number(&found, 4),
            flooded: number(&found, 3),
            promised: number(&found, 5),
            kept: &found[6] == "kept",
        };
        of.insert(console.to_string(), throughput);
    } else if let Some(found) = pattern(PULSE)?.captures(line) {
        let pulse = Pulse {
            worst_wake_up: number(&found, 2),
            worst_answer: number(&found, 3),
            bound: number(&found, 4),
            jobs: number(&found, 5),
            kept: &found[6] == "kept",
        };
        floods.entry(found[1].to_string()).or_default().real_time = Some(pulse);
    }
    Ok(())
}

/// Fails if a neighbour got less than it was promised, or an answer came after its bound.
pub fn verdict(floods: &Floods) -> Result<(), Failure> {
    let is_kept = |figures: &FloodFigures| {
        let mut all = figures.disk.values().chain(figures.network.values());
        all.all(|throughput| throughput.kept) && figures.real_time.as_ref().is_some_and(|pulse| pulse.kept)
    };
    let broken: Vec<&str> = floods.iter().filter(|(_, of)| !is_kept(of)).map(|(name, _)| name.as_str()).collect();
    match broken.as_slice() {
        [] => Ok(()),
        broken => Err(Failure::Finding(format!(
            "promises are broken by a flood of {}; those of a disk depend on the host's, too: try again while it is idle",
            broken.join(", ")
        ))),
    }
}

fn show(floods: &Floods, output: &Output) {
    let mut table = Table::new(["flood of", "guest", "of", "alone", "flooded", "promised", "ratio"]);
    let mut pulses = Table::new(["instructions, flood of", "worst wake-up", "worst answer", "bound"]);
    for (name, figures) in floods {
        for (of, all) in [("disk", &figures.disk), ("network", &figures.network)] {
            for (guest, it) in all {
                let numbers = [it.alone, it.flooded, it.promised].map(|number| number.to_string());
                let [alone, flooded, promised] = numbers;
                let ratio = format!("{:.2}", it.flooded as f64 / it.alone as f64);
                table.row(vec![name.clone(), guest.clone(), of.into(), alone, flooded, promised, ratio]);
            }
        }
        if let Some(pulse) = &figures.real_time {
            let numbers = [pulse.worst_wake_up, pulse.worst_answer, pulse.bound].map(|number| number.to_string());
            let [wake_up, answer, bound] = numbers;
            pulses.row(vec![name.clone(), wake_up, answer, bound]);
        }
    }
    output.human(&table.render());
    output.human(&pulses.render());
    output.human("requests and answers of a tenth of a second that has 100 million instructions; a promise is kept within a tenth");
}

#[cfg(test)]
mod tests {
    use super::{read, verdict, Floods};

    fn floods(lines: &[(&str, &str)]) -> Floods {
        let mut floods = Floods::new();
        for (console, line) in lines {
            assert!(read(&mut floods, console, line).is_ok());
        }
        floods
    }

    const PULSE: &str = "PULSE flood of disk: worst wake-up 1260, worst answer 2292, bound 1247000, of 50: kept";

    #[test]
    fn reads_what_guests_and_pair_say() {
        let line = "FLOOD of disk: disk 478, alone 761, promised 502: kept";
        let floods = floods(&[("one", line), ("pulse", PULSE), ("one", "FLOOD-DONE")]);
        let disk = &floods["disk"];
        assert_eq!((disk.disk["one"].alone, disk.disk["one"].flooded, disk.disk["one"].promised), (761, 478, 502));
        assert!(disk.real_time.as_ref().is_some_and(|pulse| pulse.worst_answer == 2292 && pulse.jobs == 50));
        assert!(verdict(&floods).is_ok());
    }

    #[test]
    fn what_is_broken_is_found() {
        let below = "FLOOD of disk: network 20, alone 900, promised 600: BELOW";
        assert!(verdict(&floods(&[("two", below), ("pulse", PULSE)])).is_err());
        let beyond = "PULSE flood of disk: worst wake-up 9, worst answer 99, bound 10, of 50: BEYOND";
        assert!(verdict(&floods(&[("pulse", beyond)])).is_err());
        let kept = "FLOOD of disk: disk 478, alone 761, promised 502: kept";
        assert!(verdict(&floods(&[("one", kept)])).is_err(), "no line is of the real-time pair");
    }
}
