//! `trace`: runs a system on a kernel that records what happens, writes a file for viewers, and says how long threads waited.

mod bounds;
mod measured;
mod shown;

pub use bounds::Bounds;
pub use measured::Measured;

use super::files::{can_hold_a_file, write};
use super::kernel_bounds::{programs, KernelBounds};
use crate::cli::TraceOptions;
use crate::results::TraceResult;
use crate::verbs::awaited::Awaited;
use bounds::bounds;
use builder::machine::MachineOptions;
use builder::{assets, build_loaded, find_system, load_system, Built, KernelOptions, STEPS};
use consoles::view::Style;
use consoles::{terminal, View};
use emulator::{Event, Session};
use measured::{deadline_results, wait_results};
use output::{Failure, Output};
use project::Project;
use recording::{names, Recording};
use shown::show;
use std::io::{stdout, Write};
use std::time::{Duration, Instant};
use trace::chrome;
use trace::jobs::Job;

/// How often the rings are read while the machine runs.
const READ_EVERY: Duration = Duration::from_millis(250);
const SECONDS: f64 = 5.0;
const SECONDS_AWAITING: f64 = 300.0;

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
    let kernel_bounds = options.bounds.as_deref().map(KernelBounds::read).transpose()?;
    let built = build_loaded(system, &kernel, &project, output, &progress)?;
    drop(progress);
    let file = options.output.clone().unwrap_or_else(|| built.image.with_file_name("trace.json"));
    let cpus = options.cpus.unwrap_or(built.system.cpus);
    let names = names(&built, &project)?;
    let bounds = match &kernel_bounds {
        Some(bounded) => {
            let programs = programs(&built.system, &assets(&project, &kernel)?);
            bounds(bounded, &built.system, programs.as_deref(), cpus, &names)?
        }
        None => Bounds::default(),
    };
    let (mut recording, command) = Recording::new(&built, &machine, "trace")?;
    eprintln!("{command}");
    let mut session =
        Session::start(&command).map_err(|error| Failure::unable(error.to_string(), "run ./ashlar doctor"))?;
    let ended = record(options, output, &built, &mut awaited, &mut session, &mut recording)?;
    eprint!("{}", session.finish());
    let measured = Measured::of(&mut recording, &built, &names);
    let Measured { events, lost, deadlines, kept, waits } = &measured;
    let missed: Vec<(&Job, u64)> =
        kept.iter().flat_map(|(thread, kept)| kept.missed.iter().map(|(job, _)| (job, deadlines[thread]))).collect();
    write(&file, &chrome::trace(events, &names, cpus, *lost, &missed).to_string())?;
    if let Some(page) = &options.report {
        write(page, &measured.page(&built, &names, cpus, &bounds, options.icount))?;
    }
    let result = TraceResult {
        system: built.system.name.clone(),
        result: ended,
        events: events.len() as u64,
        lost: *lost,
        file,
        waits: wait_results(waits, &bounds.waits, &names),
        deadlines: deadline_results(events, kept, deadlines, &bounds.jobs, &names),
    };
    show(output, &project, &result, options.icount);
    if let Some(page) = &options.report {
        output.human(&format!("report  {}", project.shown(page)));
    }
    output.json(&result);
    let beyond = result.deadlines.iter().map(|one| one.beyond).sum::<u64>()
        + result.waits.iter().map(|one| one.beyond).sum::<u64>();
    if beyond > 0 {
        return Err(Failure::Finding(format!("longer than their bound: {beyond} jobs and waits")));
    }
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
            let late = "the emulator has not begun: give it more time with --timeout";
            recording.read().map_err(|error| Failure::unable(error, late))?;
            break if awaited.all_matched() { "matched" } else { "timeout" };
        }
        if now >= read_at {
            recording.read_once_open(session.started())?;
            read_at = now + READ_EVERY;
        }
    };
    view.end();
    Ok(result)
}

/// What the times are.
fn unit(icount: bool) -> &'static str {
    if icount {
        "instructions"
    } else {
        "ns"
    }
}
