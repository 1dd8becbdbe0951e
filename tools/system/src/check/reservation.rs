//! Reservations: budgets that fit their periods, processors that are promised once, and lending that ends.

use crate::codes::Code;
use crate::description::{Description, Process, Reservation, Time};
use crate::threads::{names, FIRST_THREAD};
use diagnostics::units::show_duration;
use diagnostics::{Diagnostic, Report, Spanned};
use std::collections::BTreeMap;

/// A whole processor, in the units that shares are added in.
const WHOLE: u128 = 1_000_000_000_000;

pub fn check(description: &Description, report: &mut Report) {
    for process in &description.processes {
        fits(description, &process.name, &process.time, report);
        for thread in &process.threads {
            fits(description, &thread.name, &thread.time, report);
        }
        one_thread_each(description, process, report);
    }
    over_committed(description, report);
    lending_circles(description, report);
}

fn fits(description: &Description, name: &Spanned<String>, time: &Time, report: &mut Report) {
    let source = &description.source;
    let fault = |message: String, remedy: &str| Diagnostic::new(Code::Budget, message, remedy);
    match (&time.period, &time.budget) {
        (Some(period), Some(budget)) if budget.value > period.value => {
            let (budget_text, period_text) = (show_duration(budget.value), show_duration(period.value));
            let message = format!("a budget of {budget_text} in a period of {period_text}");
            report.push(
                fault(message, "make the budget at most the period")
                    .at(source, &budget.span, "more than the period")
                    .at(source, &period.span, "the period"),
            );
        }
        (Some(alone), None) if !time.has_budget => {
            let message = format!("`{}` has a period, but no budget", name.value);
            report.push(fault(message, "add `budget`").at(source, &alone.span, "alone"));
        }
        (None, Some(alone)) if !time.has_period => {
            let message = format!("`{}` has a budget, but no period", name.value);
            report.push(fault(message, "add `period`").at(source, &alone.span, "alone"));
        }
        _ => {}
    }
    let Some(deadline) = &time.deadline else { return };
    let text = show_duration(deadline.value);
    match &time.period {
        Some(period) if deadline.value > period.value => report.push(
            fault(
                format!("a deadline of {text} in a period of {}", show_duration(period.value)),
                "make the deadline at most the period, which it is if it is left out",
            )
            .at(source, &deadline.span, "more than the period")
            .at(source, &period.span, "the period"),
        ),
        None if !time.has_period => report.push(
            fault(format!("`{}` has a deadline, but no period", name.value), "add `period` and `budget`").at(
                source,
                &deadline.span,
                "alone",
            ),
        ),
        _ => {}
    }
}

/// The process's keys cannot hold for several threads of one CPU: each spends a reservation of its own.
fn one_thread_each(description: &Description, process: &Process, report: &mut Report) {
    let Some(budget) = &process.time.budget else { return };
    let mut threads: BTreeMap<u64, Vec<&str>> = BTreeMap::from([(process.cpu.value, vec![FIRST_THREAD])]);
    for thread in process.threads.iter().filter(|thread| !thread.time.is_written()) {
        threads.entry(thread.cpu.value).or_default().push(&thread.name.value);
    }
    for (cpu, threads) in threads.iter().filter(|(_, threads)| threads.len() > 1) {
        let message =
            format!("`{}` has one budget for several threads of CPU {cpu}: {}", process.name.value, threads.join(", "));
        let remedy = format!(
            "give threads their own: `period` and `budget` in [{}.{}.thread.{}]",
            if process.vm.is_some() { "vm" } else { "process" },
            process.name.value,
            threads[threads.len() - 1]
        );
        report.push(Diagnostic::new(Code::Budget, message, remedy).at(
            &description.source,
            &budget.span,
            "spent by one thread at a time",
        ));
    }
}

/// What a thread is promised.
struct Promise<'a> {
    /// The thread's, as `threads::names` has it.
    name: String,
    process: &'a Process,
    budget: &'a Spanned<u64>,
    /// Of the processor, in parts of `WHOLE`.
    share: u128,
}

/// The promises of each CPU.
fn promises(description: &Description) -> BTreeMap<u64, Vec<Promise<'_>>> {
    let mut cpus: BTreeMap<u64, Vec<Promise>> = BTreeMap::new();
    for process in &description.processes {
        for (name, (cpu, time)) in names(process).zip(process.thread_times()) {
            // One that does not fit its period has been reported.
            let fits = time.reservation().filter(|reservation| reservation.budget <= reservation.period);
            if let (Some(reservation), Some(budget)) = (fits, &time.budget) {
                let promise = Promise { name, process, budget, share: share(reservation) };
                cpus.entry(cpu.value).or_default().push(promise);
            }
        }
    }
    cpus
}

fn sum(promises: &[Promise]) -> u128 {
    promises.iter().map(|promise| promise.share).sum()
}

/// `32 % of its time: hog 20 %, crowd.t1 to crowd.t3 4 % each`
fn shares(promises: &[Promise]) -> String {
    let alike = |one: &Promise, next: &Promise| std::ptr::eq(one.process, next.process) && one.share == next.share;
    let parts = promises.chunk_by(alike).map(|group| match group {
        [one] => format!("{} {}", one.name, percent(one.share)),
        [first, .., last] => format!("{} to {} {} each", first.name, last.name, percent(first.share)),
        [] => unreachable!("chunks are not empty"),
    });
    format!("{} of its time: {}", percent(sum(promises)), parts.collect::<Vec<_>>().join(", "))
}

/// For people: a line for each CPU on which threads have reservations.
pub fn summary(description: &Description) -> Vec<String> {
    promises(description).iter().map(|(cpu, list)| format!("CPU {cpu} is promised {}", shares(list))).collect()
}

/// The budgets of a CPU's threads fit into it.
fn over_committed(description: &Description, report: &mut Report) {
    for (cpu, threads) in promises(description) {
        let sum = sum(&threads);
        if sum <= WHOLE {
            continue;
        }
        let message = format!("CPU {cpu} is promised {}", shares(&threads));
        let remedy = format!("lower budgets or lengthen periods by {}, or use another CPU", percent(sum - WHOLE));
        let fault = Diagnostic::new(Code::OverCommitted, message, remedy);
        report.push(
            threads
                .iter()
                .fold(fault, |fault, one| fault.at(&description.source, &one.budget.span, percent(one.share))),
        );
    }
}

/// Rounded down: less than a millionth of a millionth of the processor is missed.
fn share(reservation: Reservation) -> u128 {
    u128::from(reservation.budget) * WHOLE / u128::from(reservation.period.max(1))
}

/// In percent, rounded up to a tenth.
fn percent(share: u128) -> String {
    let tenths = (share * 1000).div_ceil(WHOLE);
    if tenths % 10 == 0 {
        format!("{} %", tenths / 10)
    } else {
        format!("{}.{} %", tenths / 10, tenths % 10)
    }
}

/// Whether a thread of `process` that receives calls has no reservation.
fn borrows(process: &Process) -> bool {
    process.thread_times().any(|(_, time)| !time.is_written())
}

/// The processes without a reservation that `process` may call: they run on its time. With the senders' entry.
pub(crate) fn lends<'a>(description: &'a Description, process: &Process) -> Vec<(&'a Process, &'a Spanned<String>)> {
    let mut out = Vec::new();
    for endpoint in &description.endpoints {
        let sender = endpoint.senders.iter().find(|name| name.value == process.name.value);
        let receiver = endpoint.receiver.as_ref().and_then(|name| description.process(&name.value));
        if let (Some(sender), Some(receiver)) = (sender, receiver.filter(|one| borrows(one))) {
            out.push((receiver, sender));
        }
    }
    out
}

/// Each circle of borrowers that a thread with a reservation reaches is one fault.
fn lending_circles(description: &Description, report: &mut Report) {
    let mut known: Vec<&str> = Vec::new();
    for process in
        description.processes.iter().filter(|process| process.thread_times().any(|(_, time)| time.is_written()))
    {
        let mut path = Vec::new();
        walk(description, process, &mut path, &mut known, report);
    }
}

/// Follows loans from `process`; `path` leads to it, `known` is what has been left already.
fn walk<'a>(
    description: &'a Description,
    process: &'a Process,
    path: &mut Vec<(&'a Process, &'a Spanned<String>)>,
    known: &mut Vec<&'a str>,
    report: &mut Report,
) {
    for (receiver, sender) in lends(description, process) {
        path.push((receiver, sender));
        if let Some(first) = path[..path.len() - 1].iter().position(|(before, _)| before.name == receiver.name) {
            circle(description, &path[first..], report);
        } else if !known.contains(&receiver.name.value.as_str()) {
            walk(description, receiver, path, known, report);
        }
        path.pop();
    }
    known.push(&process.name.value);
}

/// `circle` begins and ends with the same process.
fn circle(description: &Description, circle: &[(&Process, &Spanned<String>)], report: &mut Report) {
    let names: Vec<&str> = circle.iter().map(|(process, _)| process.name.value.as_str()).collect();
    let message = format!("a reservation may be lent in a circle: {}", names.join(" -> "));
    let remedy = format!("give `{}` a `period` and a `budget`, or let one of them signal instead of calling", names[0]);
    let fault = Diagnostic::new(Code::LendingCircle, message, remedy);
    report.push(circle.iter().skip(1).fold(fault, |fault, (process, sender)| {
        fault.at(&description.source, &sender.span, format!("calls `{}`", process.name.value))
    }));
}
