//! One to eight clients at once, each with a driver process of its own: clients and drivers on one CPU, or clients on one and
//! drivers on another.
//!
//! Every client prints how many messages it exchanged in windows of equal length. Where the emulator advances time by one
//! nanosecond an instruction, the window's length is also the instructions of all CPUs in it. Where it is the host's time, the
//! windows are longer, so that a host that does other work lets each emulated CPU run many times in each.

use super::super::measured;
use crate::results::Figure;
use builder::machine::MachineOptions;
use builder::{Built, KernelOptions};
use output::table::Table;
use output::{Failure, Output, Progress};
use project::Project;
use regex::Regex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Steps of progress.
pub const STEPS: usize = 4;
const TIMEOUT: Duration = Duration::from_secs(300);
/// The system, for people, and for programs.
const SYSTEMS: [(&str, &str, &str); 2] =
    [("bench-clients-same", "one CPU", "same"), ("bench-clients-apart", "two CPUs", "apart")];
const MOST: u64 = 8;
/// Microseconds of a window in the host's time.
const LONG_WINDOW: &str = "200000";
const KINDS: [&str; 2] = ["stream", "ping_pong"];

/// Messages by kind and number of clients.
type Messages = BTreeMap<(String, u64), u64>;

pub fn clients(
    figures: &mut BTreeMap<String, Figure>,
    progress: &Progress<'_>,
    project: &Project,
    output: &Output,
) -> Result<(), Failure> {
    let mut columns: Vec<(&str, Vec<f64>)> = Vec::new();
    for (system, place, key) in SYSTEMS {
        let counted = measured::build(system, &KernelOptions::default(), project, output)?;
        let timed = with_long_windows(system, project)?;
        let timed = measured::build_file(&timed, &KernelOptions::default(), project, output)?;
        let (mut instructions, mut messages_a_second) = (BTreeMap::new(), BTreeMap::new());
        for icount in [true, false] {
            let what = if icount { "instructions" } else { "time" };
            progress.step(&format!("{MOST} clients, {place}, {what}"));
            let built = if icount { &counted } else { &timed };
            let window = window(built)?;
            let machine = MachineOptions { icount, ..MachineOptions::default() };
            let messages = sums(&measured::lines(built, &machine, TIMEOUT, output)?);
            for kind in KINDS {
                let numbers = per_clients(&messages, kind, system, u64::from(icount))?;
                let value = |count: &u64| {
                    let count = *count as f64;
                    if icount {
                        window / count
                    } else {
                        count * 1e9 / window
                    }
                };
                let values: Vec<f64> = numbers.iter().map(value).collect();
                let list = values.iter().map(|value| value.round() as u64).collect();
                if icount { &mut instructions } else { &mut messages_a_second }.insert(kind, list);
                columns.push((key, values));
            }
        }
        figures.insert(format!("clients_{key}"), Figure::Clients { instructions, messages_a_second });
    }
    output.human(&render(&columns));
    output.human("messages a second are those of the emulator, on a machine that does other work, too");
    Ok(())
}

/// For each number of clients what each column says. The columns come in the order in which they were measured.
fn render(columns: &[(&str, Vec<f64>)]) -> String {
    let mut table = Table::new([
        "clients",
        "one CPU: stream",
        "ping-pong",
        "stream/s",
        "ping-pong/s",
        "two CPUs: stream",
        "ping-pong",
        "stream/s",
        "ping-pong/s",
    ]);
    for index in 0..MOST as usize {
        let mut row = vec![(index + 1).to_string()];
        row.extend(columns.iter().map(|(_, values)| format!("{:.0}", values[index])));
        table.row(row);
    }
    table.render()
}

/// A copy of the description in which the windows are longer.
fn with_long_windows(system: &str, project: &Project) -> Result<PathBuf, Failure> {
    let original = project.description(system)?;
    let fault =
        |error: std::io::Error| Failure::unable(format!("{system}: {error}"), "check permissions and free space");
    let text = std::fs::read_to_string(&original).map_err(fault)?;
    let line = Regex::new(r"(?m)^args\.window_us = \d+$").map_err(|error| Failure::unable(error.to_string(), ""))?;
    let longer = line.replace_all(&text, format!("args.window_us = {LONG_WINDOW}"));
    let folder = project.build().join("bench");
    let copy = folder.join(format!("{system}-timed.toml"));
    std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&copy, longer.as_bytes())).map_err(fault)?;
    Ok(copy)
}

/// Nanoseconds of a window, as the description says.
fn window(built: &Built) -> Result<f64, Failure> {
    let lines = built.resolved.processes.iter().flat_map(|process| &process.environment);
    let text = lines.filter_map(|line| line.strip_prefix("arg.window_us=")).next();
    let microseconds = text.and_then(|text| text.parse::<u64>().ok());
    let missing = || Failure::unable("the clients have no window_us", "see bench/systems/bench-clients-same.toml");
    microseconds.map(|microseconds| microseconds as f64 * 1000.0).ok_or_else(missing)
}

/// Sums lines `CLIENTS kind clients messages count` over all clients.
fn sums(lines: &[String]) -> Messages {
    let mut messages = Messages::new();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["CLIENTS", kind, clients, "messages", count] = words[..] else { continue };
        if let (Ok(clients), Ok(count)) = (clients.parse(), count.parse::<u64>()) {
            *messages.entry((kind.to_string(), clients)).or_default() += count;
        }
    }
    messages
}

/// At least `least` each: a busy host may leave an emulator no time in a window.
fn per_clients(messages: &Messages, kind: &str, system: &str, least: u64) -> Result<Vec<u64>, Failure> {
    let one = |clients| messages.get(&(kind.to_string(), clients)).copied().filter(|count| *count >= least);
    let numbers: Option<Vec<u64>> = (1..=MOST).map(one).collect();
    numbers.ok_or_else(|| {
        Failure::Finding(format!("{system} exchanged no messages of {kind} with some number of clients"))
    })
}

#[cfg(test)]
mod tests {
    use super::{per_clients, sums};

    #[test]
    fn sums_clients() {
        let mut lines: Vec<String> = (1..=8).map(|n| format!("CLIENTS stream {n} messages 100")).collect();
        lines.push("CLIENTS stream 8 messages 28".into());
        let messages = sums(&lines);
        assert_eq!(per_clients(&messages, "stream", "s", 1).unwrap()[6..], [100, 128]);
        assert!(per_clients(&messages, "ping_pong", "s", 0).is_err());
    }
}
