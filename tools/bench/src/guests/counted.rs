//! What a guest's timer tick and its requests to a disk take, in counted instructions by part, and how often it exits for them.
//!
//! The kernel records who runs when, and the emulator's time advances by one nanosecond an instruction. Each piece of work
//! is done twice, in two sizes: what both have in common cancels out in the difference.

use crate::measured::{self, compile, start};
use crate::results::GuestCounts;
use crate::rounded;
use builder::machine::MachineOptions;
use builder::KernelOptions;
use emulator::session::WaitError;
use emulator::Session;
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use recording::{names, Recording};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use trace::event::{in_order, Event, What};
use trace::slices::slices;
use trace::Names;

const SYSTEM: &str = "bench-guest-disk";
/// The process that is the guest's monitor, and in whose time the guest runs.
const MONITOR: &str = "guest";
/// How often the kernel's rings are read; what they hold is overwritten.
const READ_EVERY: Duration = Duration::from_millis(100);
const TIMEOUT: Duration = Duration::from_secs(300);

/// A piece of work in two sizes, and the line that it ends with, which may hold the number of its units.
struct Work {
    name: &'static str,
    commands: [&'static str; 2],
    done: &'static str,
    /// Units that the second has more than the first, where the line tells none.
    units: f64,
}

const WORK: [Work; 3] = [
    Work { name: "tick", commands: ["ticks 100000", "ticks 300000"], done: r"^TICKS (\d+) counted", units: 0.0 },
    Work {
        name: "disk_read",
        commands: ["measure read scattered 2 4 1", "measure read scattered 4 4 1"],
        done: r"^DEVICE read \d+ us",
        units: 512.0,
    },
    Work {
        name: "disk_write",
        commands: ["measure write scattered 2 4 1", "measure write scattered 4 4 1"],
        done: r"^DEVICE write \d+ us",
        units: 512.0,
    },
];

/// What ran in a stretch of time.
#[derive(Debug, Default, Clone)]
struct Sums {
    /// Instructions of each process; of the monitor's, those of the guest are not among them.
    parts: BTreeMap<String, f64>,
    guest: f64,
    exits: f64,
}

impl Sums {
    /// From the events of one processor.
    fn of(events: Vec<Event>, names: &Names) -> Sums {
        let events = in_order(events);
        let mut sums = Sums::default();
        let mut entered = None;
        for event in &events {
            match event.what {
                What::GuestEntry { .. } => entered = Some(event.when),
                What::GuestExit { .. } => {
                    sums.exits += 1.0;
                    sums.guest += entered.take().map_or(0.0, |entry| (event.when - entry) as f64);
                }
                _ => {}
            }
        }
        for slice in slices(&events) {
            if let Some(name) = names.thread(slice.thread) {
                *sums.parts.entry(name.to_string()).or_default() += (slice.end - slice.start) as f64;
            }
        }
        *sums.parts.entry(MONITOR.to_string()).or_default() -= sums.guest;
        sums
    }

    /// Of each of so many units, what this has more than `less`.
    fn beyond(&self, less: &Sums, units: f64) -> GuestCounts {
        let of = |more: f64, less: f64| rounded((more - less) / units);
        let part = |name: &String| of(self.parts[name], less.parts.get(name).copied().unwrap_or(0.0));
        GuestCounts {
            exits: of(self.exits, less.exits),
            guest: of(self.guest, less.guest),
            parts: self.parts.keys().map(|name| (name.clone(), part(name))).collect(),
        }
    }
}

pub fn counted(project: &Project, output: &Output) -> Result<BTreeMap<&'static str, GuestCounts>, Failure> {
    let progress = output.progress(2 + WORK.len());
    progress.step(&format!("building {SYSTEM}, with a kernel that records"));
    let kernel = KernelOptions { trace: true, ..KernelOptions::default() };
    let built = measured::build(SYSTEM, &kernel, project, output)?;
    let names = names(&built, project)?;
    let machine = MachineOptions { cpus: Some(1), icount: true, ..MachineOptions::default() };
    let (mut recording, command) = Recording::new(&built, &machine, "bench")?;
    output.detail(&format!("+ {command}"));
    let console = built.system.consoles.iter().position(|console| console.name == MONITOR);
    let console = console.ok_or_else(|| Failure::unable(format!("{SYSTEM} has no console {MONITOR}"), "add it"))?;
    progress.step("booting, with counted instructions");
    let mut session = start(&command)?;
    wait(&mut session, &mut recording, console, "^# ")?;
    let mut all = BTreeMap::new();
    for work in &WORK {
        progress.step(work.name);
        let mut sums = Vec::new();
        let mut told = Vec::new();
        for command in work.commands {
            recording.read_once_open(session.started())?;
            recording.take();
            session.send(console, format!("{command}\n").as_bytes());
            let line = wait(&mut session, &mut recording, console, work.done)?;
            wait(&mut session, &mut recording, console, "^# ")?;
            recording.read_once_open(session.started())?;
            sums.push(Sums::of(recording.take(), &names));
            told.push(units(work.done, &line)?);
        }
        let units = told[0].zip(told[1]).map_or(work.units, |(less, more)| more - less);
        if units <= 0.0 {
            return Err(Failure::Finding(format!("more of {} was not more of it", work.name)));
        }
        all.insert(work.name, sums[1].beyond(&sums[0], units));
    }
    if recording.lost() > 0 {
        return Err(Failure::Finding(format!("{} recorded events are lost: the host is too busy", recording.lost())));
    }
    show(&all, output);
    Ok(all)
}

/// The number in a line of `pattern`, if that asks for one.
fn units(pattern: &str, line: &str) -> Result<Option<f64>, Failure> {
    let regex = Regex::new(pattern).map_err(|error| Failure::unable(error.to_string(), ""))?;
    Ok(regex.captures(line).and_then(|found| found.get(1)?.as_str().parse().ok()))
}

/// Waits for a line while the rings are read.
fn wait(
    session: &mut Session<'_>,
    recording: &mut Recording,
    console: usize,
    pattern: &str,
) -> Result<String, Failure> {
    let end = Instant::now() + TIMEOUT;
    let regex = compile(&format!("(?:{pattern})|^DEVICE-FAILED"))?;
    loop {
        match session.wait_for(console, &regex, READ_EVERY) {
            Ok(found) if !found.line.starts_with("DEVICE-FAILED") => return Ok(found.line),
            Err(WaitError::Timeout) if Instant::now() < end => recording.read_once_open(session.started())?,
            found => {
                let why = found.err().map_or_else(|| "the measurement failed".into(), |error| error.to_string());
                let last = session.transcript(console).last_lines(measured::LAST_LINES).join("\n");
                let message = format!("/{pattern}/ has not come: {why}\n--- last lines\n{last}");
                return Err(Failure::Finding(message));
            }
        }
    }
}

fn show(all: &BTreeMap<&'static str, GuestCounts>, output: &Output) {
    let mut table = Table::new(["instructions of one", WORK[0].name, WORK[1].name, WORK[2].name]);
    let mut row = |title: &str, of: &dyn Fn(&GuestCounts) -> String| {
        table.row(std::iter::once(title.to_string()).chain(WORK.iter().map(|work| of(&all[work.name]))).collect());
    };
    row("exits", &|counts| format!("{:.2}", counts.exits));
    row("the guest", &|counts| format!("{:.0}", counts.guest));
    let processes: BTreeSet<&String> = all.values().flat_map(|counts| counts.parts.keys()).collect();
    for name in processes {
        let title = if name == MONITOR { "its monitor" } else { name };
        row(title, &|counts| format!("{:.0}", counts.parts.get(name).copied().unwrap_or(0.0)));
    }
    row("all but the guest", &|counts| format!("{:.0}", counts.parts.values().sum::<f64>()));
    output.human(&table.render());
    output.human("each part with what the kernel does for it; requests of 4 KiB, one at a time");
}

#[cfg(test)]
mod tests {
    use super::{units, Sums};
    use std::collections::BTreeMap;
    use trace::event::{Event, What};
    use trace::Names;

    fn sums(requests: u64) -> Sums {
        let names = Names::new([(1, "guest".to_string()), (2, "ahci".to_string())], [], "", "", "");
        let at = |when, what| Event { when, cpu: 0, what };
        let mut events = vec![at(0, What::Switch { thread: 1 })];
        for one in 0..requests {
            let when = 100 + one * 1000;
            events.extend([
                at(when, What::GuestEntry { vm: 0 }),
                at(when + 300, What::GuestExit { reason: 1 }),
                at(when + 500, What::Switch { thread: 2 }),
                at(when + 800, What::Switch { thread: 1 }),
            ]);
        }
        events.push(at(100 + requests * 1000, What::Switch { thread: 9 }));
        Sums::of(events, &names)
    }

    #[test]
    fn what_is_common_to_both_sizes_cancels_out() {
        let counts = sums(30).beyond(&sums(10), 20.0);
        assert_eq!((counts.exits, counts.guest), (1.0, 300.0));
        assert_eq!(counts.parts, BTreeMap::from([("guest".to_string(), 400.0), ("ahci".to_string(), 300.0)]));
    }

    #[test]
    fn a_line_may_tell_its_units() {
        assert_eq!(units(r"^TICKS (\d+) counted", "TICKS 42 counted").unwrap(), Some(42.0));
        assert_eq!(units("^DEVICE read", "DEVICE read 42 us").unwrap(), None);
    }
}
