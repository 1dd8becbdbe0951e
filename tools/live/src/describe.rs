//! From the kernel's tables and rates to the page.

use crate::meter::Usage;
use crate::page::{Budget, Cpu, Page, Row};
use inspect::kernel::{Life, Process, State, Thread, Wait};
use inspect::{Followed, Snapshot};
use std::time::Duration;
use trace::Names;

/// What stays the same during a run.
#[derive(Debug, Clone)]
pub struct Subject {
    pub system: String,
    pub cpus: u32,
    /// By number.
    pub processes: Vec<ProcessName>,
    pub names: Names,
}

#[derive(Debug, Clone)]
pub struct ProcessName {
    pub number: u32,
    pub name: String,
    /// Number and processor of each.
    pub threads: Vec<(u32, u32)>,
}

/// The page. `followed` has the protocols of drivers, by the number of the process in the kernel.
pub fn describe(
    subject: &Subject,
    snapshot: &Snapshot,
    usage: &Usage,
    followed: &dyn Fn(u32) -> Vec<Followed>,
    lost: u64,
) -> Page {
    Page {
        system: subject.system.clone(),
        up: Duration::from_nanos(usage.now),
        cpus: (0..subject.cpus as usize).map(|number| cpu(number, subject, usage)).collect(),
        pages: (snapshot.used, snapshot.all),
        rows: subject
            .processes
            .iter()
            .filter_map(|process| {
                let state = snapshot.processes.get(process.number as usize)?;
                Some(row(process, state, snapshot, usage, &followed(process.number), &subject.names))
            })
            .collect(),
        lost,
        fault: None,
    }
}

fn cpu(number: usize, subject: &Subject, usage: &Usage) -> Cpu {
    // Idle threads have no name.
    let named = usage.time[number].iter().filter_map(|(thread, time)| Some((subject.names.thread(*thread)?, *time)));
    let busy: u64 = named.clone().map(|(_, time)| time).sum();
    let most = named.filter(|(_, time)| *time > 0).max_by_key(|(_, time)| *time);
    Cpu {
        busy: usage.permille(busy),
        most: most.map(|(name, time)| (name.to_string(), usage.permille(time))),
        interrupts: usage.rate(usage.interrupts[number]),
        messages: usage.rate(usage.messages[number]),
        calls: usage.rate(usage.calls[number]),
    }
}

fn row(
    name: &ProcessName,
    process: &Process,
    snapshot: &Snapshot,
    usage: &Usage,
    followed: &[Followed],
    names: &Names,
) -> Row {
    let threads: Vec<(u32, &Thread)> =
        name.threads.iter().filter_map(|(t, _)| Some((*t, snapshot.threads.get(*t as usize)?))).collect();
    let exits = name.threads.iter().find_map(|(t, _)| usage.exits.get(t));
    let (state, is_bad) = match process.life {
        Life::Empty => ended(process.cause, &threads),
        Life::Loading => ("loading".to_string(), false),
        Life::Dying => ("ending".to_string(), true),
        // What it drives for clients says more than what the bus thinks, and comes first.
        Life::Running if !followed.is_empty() => {
            let states = followed.iter().rev().map(|one| format!("{} {}", one.protocol, one.state));
            (states.collect::<Vec<_>>().join(", "), false)
        }
        Life::Running => match exits {
            Some((count, reason)) => (format!("guest: {}, {} exits/s", names.exit(*reason), usage.rate(*count)), false),
            None => running(&threads),
        },
    };
    let time = name.threads.iter().map(|(t, _)| usage.time_of(*t)).sum();
    let budget = threads.iter().find_map(|(_, thread)| thread.reservation);
    Row {
        name: name.name.clone(),
        cpus: numbers(name.threads.iter().map(|(_, cpu)| *cpu).collect()),
        state,
        is_bad,
        time: usage.permille(time),
        pages: (process.pages, process.quota),
        budget: budget.map(|one| Budget { left: one.left, budget: one.budget, period: one.period }),
    }
}

/// How a process ended that is not there; `END_*` of `kernel/abi.h`.
fn ended(cause: u32, threads: &[(u32, &Thread)]) -> (String, bool) {
    if threads.iter().all(|(_, thread)| thread.state == State::Unused) {
        return ("not started".to_string(), false);
    }
    match (cause & 0xff, cause >> 8) {
        (0, 0) => ("exited".to_string(), false),
        (0, code) => (format!("exited with {code}"), true),
        (1, _) => ("killed".to_string(), true),
        (_, vector) => (format!("ended by fault {vector}"), true),
    }
}

/// The liveliest thread speaks for its process.
fn running(threads: &[(u32, &Thread)]) -> (String, bool) {
    let liveliness = |state: State| match state {
        State::Running => 5,
        State::Ready => 4,
        State::Parked => 3,
        State::Blocked(_) => 2,
        State::Exited => 1,
        State::Unused => 0,
    };
    // Of equals the first: a process's first thread is its main one.
    let best = threads.iter().rev().map(|(_, thread)| thread.state).max_by_key(|state| liveliness(*state));
    let text = match best.unwrap_or(State::Unused) {
        State::Running => "runs",
        State::Ready => "ready",
        State::Parked => "out of budget",
        State::Exited => "exited",
        State::Unused => "starts",
        State::Blocked(wait) => match wait {
            Wait::None => "blocked",
            Wait::Sleep => "sleeps",
            Wait::Send => "waits to send",
            Wait::Receive => "waits for a message",
            Wait::Reply => "waits for a reply",
            Wait::Notification => "waits for a signal",
            Wait::Condition => "waits at a buffer",
            Wait::Process => "waits for an end",
        },
    };
    (text.to_string(), false)
}

/// As `0`, `0,2` or `0-3`.
fn numbers(mut all: Vec<u32>) -> String {
    all.sort_unstable();
    all.dedup();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in all {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn processors_are_told_in_short() {
        assert_eq!(numbers(vec![3]), "3");
        assert_eq!(numbers(vec![2, 0, 0]), "0,2");
        assert_eq!(numbers(vec![0, 1, 2, 3, 5]), "0-3,5");
    }
}
