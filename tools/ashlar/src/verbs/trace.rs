//! `trace`: runs a system on a kernel that records what happens, writes a file for viewers, and says how long threads waited.

use super::files::{can_hold_a_file, write};
use super::rings::{names, Recording};
use crate::cli::TraceOptions;
use crate::results::{DeadlineResult, MissedResult, TraceResult, WaitResult};
use crate::verbs::awaited::Awaited;
use builder::machine::MachineOptions;
use builder::{build_loaded, find_system, load_system, Built, KernelOptions, STEPS};
use consoles::view::Style;
use consoles::{terminal, View};
use emulator::{Event, Session};
use output::{Failure, Output};
use project::Project;
use std::collections::BTreeMap;
use std::io::{stdout, Write};
use std::time::{Duration, Instant};
use trace::event::in_order;
use trace::jobs::{kept, Job};
use trace::latency::waits;
use trace::report::{html, Recorded};
use trace::{chrome, Names};

/// How often the rings are read while the machine runs.
const READ_EVERY: Duration = Duration::from_millis(250);
const SECONDS: f64 = 5.0;
const SECONDS_AWAITING: f64 = 300.0;
/// Of each thread so many missed deadlines are told one by one.
const MISSED_SHOWN: usize = 5;

pub fn trace(options: &TraceOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let (project, description) = find_system(options.system.as_deref(), project)?;
    let kernel = KernelOptions { trace: true, ..options.kernel };
    let progress = output.progress(STEPS);
    let system = load_system(&description, &kernel, &project, &progress)?;
    // What is asked for is held against the system before anything is built.
    let mut awaited = Awaited::new(options.until.as_deref(), &options.console, &system)?;
    let machine = MachineOptions { cpus: options.cpus, icount: options.icount, ..MachineOptions::default() };
    machine.check(&system)?;
    options.output.iter().chain(&options.report).try_for_each(|path| can_hold_a_file(path))?;
    let built = build_loaded(system, &kernel, &project, output, &progress)?;
    drop(progress);
    let file = options.output.clone().unwrap_or_else(|| built.image.with_file_name("trace.json"));
    let cpus = options.cpus.unwrap_or(built.system.cpus);
    let names = names(&built, &project)?;
    let (mut recording, command) = Recording::new(&built, &machine, "trace")?;
    eprintln!("{command}");
    let mut session =
        Session::start(&command).map_err(|error| Failure::unable(error.to_string(), "run ./ashlar doctor"))?;
    let result = record(options, output, &built, &mut awaited, &mut session, &mut recording)?;
    eprint!("{}", session.finish());
    let (events, lost) = (in_order(recording.take()), recording.lost());
    let deadlines = deadlines(&built, &names);
    let kept = kept(&events, &deadlines);
    let missed: Vec<(&Job, u64)> =
        kept.iter().flat_map(|(thread, kept)| kept.missed.iter().map(|(job, _)| (job, deadlines[thread]))).collect();
    write(&file, &chrome::trace(&events, &names, cpus, lost, &missed).to_string())?;
    if let Some(page) = &options.report {
        let unit = unit(options.icount);
        let system = &built.system.name;
        let (kept, deadlines, names, events) = (&kept, &deadlines, &names, &events[..]);
        write(page, &html(&Recorded { system, events, lost, names, cpus, deadlines, kept, unit }))?;
    }
    let deadlines = kept
        .iter()
        .map(|(&thread, kept)| DeadlineResult {
            thread: thread_name(&names, thread),
            deadline: deadlines[&thread],
            jobs: kept.count as u64,
            longest: kept.longest,
            missed: kept.missed.len() as u64,
            first: kept
                .missed
                .iter()
                .take(MISSED_SHOWN)
                .map(|(job, others)| missed_result(job, others, &names))
                .collect(),
        })
        .collect();
    let waits: Vec<WaitResult> = waits(&events)
        .iter()
        .filter_map(|(waiter, waits)| {
            Some(WaitResult {
                thread: names.thread(waiter.thread)?.to_string(),
                interrupt: waiter.vector.map(|vector| names.interrupt(vector)),
                count: waits.count() as u64,
                median: waits.percentile(50),
                percent_99: waits.percentile(99),
                longest: waits.longest(),
                longest_began: waits.longest_began,
            })
        })
        .collect();
    let system = built.system.name.clone();
    let result = TraceResult { system, result, events: events.len() as u64, lost, file, waits, deadlines };
    show(output, &project, &result, options.icount);
    if let Some(page) = &options.report {
        output.human(&format!("report  {}", project.shown(page)));
    }
    output.json(&result);
    if awaited.is_any() && result.result != "matched" {
        return Err(Failure::Finding(format!("still awaited: {}", awaited.missing().join(", "))));
    }
    Ok(())
}

/// Lets the machine run, and reads what it records. Returns why it is over.
fn record(
    options: &TraceOptions,
    output: &Output,
    built: &Built,
    awaited: &mut Awaited,
    session: &mut Session<'_>,
    recording: &mut Recording,
) -> Result<&'static str, Failure> {
    terminal::watch_signals(session.sender())
        .map_err(|error| Failure::unable(format!("signals cannot be watched: {error}"), ""))?;
    let consoles: Vec<String> = built.system.consoles.iter().map(|console| console.name.clone()).collect();
    let out: Box<dyn Write> = if output.is_json() { Box::new(std::io::stderr()) } else { Box::new(stdout()) };
    let mut view = View::new(out, &consoles, Style::PLAIN);
    let seconds = options.timeout.unwrap_or(if awaited.is_any() { SECONDS_AWAITING } else { SECONDS });
    let end = session.started() + Duration::from_secs_f64(seconds.clamp(0.0, 1e9));
    let mut read_at = Instant::now() + READ_EVERY;
    let result = loop {
        match session.next(Some(read_at.min(end))) {
            Some(Event::Output { console, bytes }) => {
                view.feed(console, &bytes);
                awaited.look(console, session);
            }
            Some(Event::Ended(_)) => break if awaited.all_matched() { "matched" } else { "ended" },
            Some(Event::Signal(_)) => break "signal",
            Some(Event::Typed(_) | Event::TypedEnd) | None => {}
        }
        let now = Instant::now();
        if awaited.all_matched() || now >= end {
            read(recording)?;
            break if awaited.all_matched() { "matched" } else { "timeout" };
        }
        if now >= read_at {
            read(recording)?;
            read_at = now + READ_EVERY;
        }
    };
    view.end();
    Ok(result)
}

fn thread_name(names: &Names, thread: u32) -> String {
    names.thread(thread).unwrap_or("idle").to_string()
}

/// By number of the thread, in nanoseconds: the deadlines of threads with reservations.
fn deadlines(built: &Built, names: &Names) -> BTreeMap<u32, u64> {
    let all = built.system.threads();
    let of = |name: &str| {
        let thread = all.iter().find(|thread| thread.name == name)?;
        thread.deadline.or(thread.period)
    };
    names.threads().filter_map(|(thread, name)| Some((thread, of(name)?))).collect()
}

fn missed_result(job: &Job, others: &BTreeMap<u32, u64>, names: &Names) -> MissedResult {
    MissedResult {
        began: job.began,
        took: job.took(),
        others: others.iter().map(|(&thread, &time)| (thread_name(names, thread), time)).collect(),
    }
}

fn read(recording: &mut Recording) -> Result<(), Failure> {
    recording.read().map_err(|error| Failure::unable(error, ""))
}

/// What the times are.
fn unit(icount: bool) -> &'static str {
    if icount {
        "instructions"
    } else {
        "ns"
    }
}

fn show(output: &Output, project: &Project, result: &TraceResult, icount: bool) {
    let unit = unit(icount);
    output.human(&format!("{} events, {} lost", result.events, result.lost));
    if !result.waits.is_empty() {
        output.human(&format!("waits for a processor, in {unit}"));
        output.human(&format!(
            "{:24} {:20} {:>8} {:>10} {:>10} {:>10}",
            "thread", "woken by", "count", "median", "99 %", "longest"
        ));
    }
    for wait in &result.waits {
        let cause = wait.interrupt.as_ref().map_or("a thread".to_string(), |name| format!("interrupt {name}"));
        output.human(&format!(
            "{:24} {cause:20} {:>8} {:>10} {:>10} {:>10}",
            wait.thread, wait.count, wait.median, wait.percent_99, wait.longest
        ));
    }
    if !result.deadlines.is_empty() {
        output.human(&format!("jobs of threads with a deadline, in {unit}"));
        output.human(&format!("{:24} {:>12} {:>8} {:>12} {:>8}", "thread", "deadline", "count", "longest", "missed"));
    }
    for one in &result.deadlines {
        output.human(&format!(
            "{:24} {:>12} {:>8} {:>12} {:>8}",
            one.thread, one.deadline, one.jobs, one.longest, one.missed
        ));
    }
    for (thread, missed) in result.deadlines.iter().flat_map(|one| one.first.iter().map(|missed| (&one.thread, missed)))
    {
        let others: Vec<String> = missed.others.iter().map(|(other, time)| format!("{other} {time}")).collect();
        let others = if others.is_empty() { "no other thread".to_string() } else { others.join(", ") };
        output.human(&format!(
            "{thread} missed it: began at {}, took {}; the processor had {others}",
            missed.began, missed.took
        ));
    }
    output.human(&format!("trace   {}", project.shown(&result.file)));
}
