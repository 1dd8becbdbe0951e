//! `run`: builds a system, runs it on the emulator, shows its consoles and lets the user type.

mod interactive;
mod live_page;
mod observer;
mod out;
mod recorder;
mod shown;

use crate::cli::RunOptions;
use crate::results::{ConsoleResult, RunResult};
use crate::verbs::awaited::Awaited;
use crate::verbs::files::can_hold_a_file;
use builder::machine::{prepare, MachineOptions};
use builder::{build_loaded, find_system, load_system_for, Built, EmulatorName, KernelOptions, STEPS};
use consoles::view::Style;
use consoles::{terminal, View};
use emulator::{CommandLine, End, Event, Session};
use interactive::{Asked, Keyboard};
use live::Pane;
use live_page::LivePage;
use observer::Observer;
use out::Out;
use output::{Failure, Output};
use project::Project;
use recorder::Recorder;
use shown::Shown;
use std::io::{stdout, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a console must be silent before its unfinished line is shown.
const QUIET: Duration = Duration::from_millis(100);
/// The same at a keyboard, where what is typed should appear at once.
const QUIET_INTERACTIVE: Duration = Duration::from_millis(8);
/// Lines of each console shown when what was awaited did not come.
const LAST_LINES: usize = 15;

/// Why a run was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Matched,
    Timeout,
    Ended(End),
    Quit,
    Signal(i32),
}

/// What looks into the machine while it runs.
#[derive(Default)]
struct Watch<'a> {
    observer: Option<Observer>,
    recorder: Option<Recorder<'a>>,
}

pub fn run(options: &RunOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let (project, description) = find_system(options.system.as_deref(), project)?;
    let progress = output.progress(STEPS);
    // Live page and report are made of what the kernel records.
    let is_recorded = options.view || options.report.is_some();
    let kernel = KernelOptions { trace: is_recorded, ..options.kernel };
    let system = load_system_for(options.emulator, &description, &kernel, &project, &progress)?;
    // What is asked for is held against the system before anything is built.
    let shown = Shown::new(options, &system)?;
    if options.view {
        live_page::check_terminal()?;
    }
    let mut awaited = Awaited::new(options.until.as_deref(), &options.console, &system)?;
    let machine = MachineOptions {
        cpus: options.cpus,
        icount: options.icount,
        gdb: options.gdb,
        iso: options.iso.clone(),
        ..MachineOptions::default()
    };
    machine.check(&system)?;
    options.report.iter().try_for_each(|path| can_hold_a_file(path))?;
    if is_recorded && options.emulator != EmulatorName::Own {
        let option = if options.view { "--view" } else { "--report" };
        let message =
            format!("{option} looks into the machine through QEMU's monitor, which this emulator does not have");
        return Err(Failure::unable(message, "leave it out"));
    }
    let built = build_loaded(system, &kernel, &project, output, &progress)?;
    drop(progress);
    prepare(&built, output)?;
    let mut watch = Watch::default();
    let command = if options.view {
        let (observer, command) = Observer::new(&built, &kernel, &project, &machine)?;
        watch.observer = Some(observer);
        command
    } else if let Some(page) = &options.report {
        let (recorder, command) = Recorder::new(&built, &project, &machine, page)?;
        watch.recorder = Some(recorder);
        command
    } else {
        machine.command_line(&built)?
    };
    // The exact line is part of what a run shows; for a program it is in the result.
    eprintln!("{command}");
    if options.gdb {
        eprintln!("waiting for:  gdb {} -ex 'target remote :1234'", built.kernel.display());
    }
    let mut session =
        Session::start(&command).map_err(|error| Failure::unable(error.to_string(), "run ./ashlar doctor"))?;
    let over = converse(options, output, &built, &shown, &mut awaited, &mut session, &mut watch)?;
    if let (Some(recorder), Some(page)) = (watch.recorder, &options.report) {
        recorder.finish(&built, !matches!(over, Over::Ended(_)))?;
        output.human(&format!("report  {}", project.shown(page)));
    }
    report(output, &built, &awaited, over, &mut session, options.report.clone(), &command)
}

/// Lets the machine run until something ends the run. The terminal is as before when this returns.
fn converse(
    options: &RunOptions,
    output: &Output,
    built: &Built,
    shown: &Shown,
    awaited: &mut Awaited,
    session: &mut Session<'_>,
    watch: &mut Watch<'_>,
) -> Result<Over, Failure> {
    let names: Vec<String> = built.system.consoles.iter().map(|console| console.name.clone()).collect();
    let mut keyboard = Keyboard::new(options.headless, &built.system.consoles, shown.first_typed(), session)?;
    let style = style(options.headless, &keyboard);
    let mut live = None;
    // With a program reading standard output, what people see goes to standard error.
    let out = if let Some(observer) = watch.observer.take() {
        keyboard = keyboard.of_page();
        live = Some(LivePage::enter(observer, style.colour, session.started())?);
        Out::Pane(Box::new(Pane::new(1, 80)))
    } else if output.is_json() {
        Out::Stream(Box::new(std::io::stderr()))
    } else {
        Out::Stream(Box::new(stdout()))
    };
    let mut view = View::new(out, &names, style);
    shown.hidden().for_each(|console| view.mute(console, true));
    keyboard.begin(&mut view);
    terminal::watch_signals(session.sender())
        .map_err(|error| Failure::unable(format!("signals cannot be watched: {error}"), ""))?;
    let deadline = options.timeout.map(|seconds| session.started() + Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
    let quiet = if keyboard.is_on() { QUIET_INTERACTIVE } else { QUIET };
    let mut quiet_at = None;
    let mut finish_at = None;
    let over = loop {
        // The last match may stand in a line that is still being written: its rest is let in, but not waited for long.
        if awaited.all_matched() && (!view.has_pending() || finish_at.is_some_and(|at| Instant::now() >= at)) {
            break Over::Matched;
        }
        if awaited.all_matched() && finish_at.is_none() {
            finish_at = Some(Instant::now() + QUIET);
        }
        if let Some(live) = &mut live {
            live.draw_if_due(&mut view)?;
        }
        if let Some(recorder) = &mut watch.recorder {
            recorder.read_if_due(session.started())?;
        }
        let draw_at = live.as_ref().map(LivePage::due);
        let read_at = watch.recorder.as_ref().map(Recorder::due);
        let wake = [deadline, quiet_at, finish_at, draw_at, read_at].into_iter().flatten().min();
        match session.next(wake) {
            Some(Event::Output { console, bytes }) => {
                view.feed(console, &bytes);
                awaited.look(console, session);
                live.iter_mut().for_each(LivePage::has_changed);
                quiet_at = view.has_pending().then(|| Instant::now() + quiet);
            }
            Some(Event::Ended(_)) if awaited.all_matched() => break Over::Matched,
            Some(Event::Ended(end)) => break Over::Ended(end),
            Some(Event::Typed(bytes)) => {
                let asked = keyboard.typed(&bytes, &mut view, session);
                if asked.contains(&Asked::Quit) {
                    break Over::Quit;
                }
                live.iter_mut().for_each(|live| live.typed(&asked, &mut view));
            }
            Some(Event::TypedEnd) => {}
            Some(Event::Signal(signal)) => break Over::Signal(signal),
            None if finish_at.is_none() && deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                break Over::Timeout
            }
            None if quiet_at.is_none_or(|at| Instant::now() < at) => {}
            None => {
                view.quiet();
                quiet_at = None;
                live.iter_mut().for_each(LivePage::has_changed);
            }
        }
    };
    view.end();
    Ok(over)
}

fn style(headless: bool, keyboard: &Keyboard<'_>) -> Style {
    let terminal = !headless && stdout().is_terminal();
    if !terminal {
        return Style { raw: keyboard.is_raw(), ..Style::PLAIN };
    }
    let colour = std::env::var_os("NO_COLOR").is_none();
    Style { colour, terminal, raw: keyboard.is_raw(), columns: terminal::columns() }
}

/// Says how it went, and makes it the exit status.
fn report(
    output: &Output,
    built: &Built,
    awaited: &Awaited,
    over: Over,
    session: &mut Session<'_>,
    page: Option<PathBuf>,
    command: &CommandLine,
) -> Result<(), Failure> {
    let seconds = session.started().elapsed().as_secs_f64();
    let complaints = session.finish();
    let consoles = &built.system.consoles;
    let last: Vec<Vec<String>> =
        (0..consoles.len()).map(|index| session.transcript(index).last_lines(LAST_LINES)).collect();
    let silent = last.iter().all(Vec::is_empty);
    let (word, failure) = verdict(over, awaited, seconds, &complaints, silent);
    let shown = consoles.iter().zip(&last).enumerate().map(|(index, (console, last))| {
        let (awaited, matched) = (awaited.is_awaited(index), awaited.matched(index).map(Into::into));
        (console.name.clone(), ConsoleResult { awaited, matched, last: last.clone() })
    });
    output.json(&RunResult {
        system: built.system.name.clone(),
        result: word,
        seconds,
        command: command.to_string(),
        report: page,
        consoles: shown.collect(),
    });
    let Some(failure) = failure else { return Ok(()) };
    if awaited.is_any() {
        for (index, (console, last)) in consoles.iter().zip(&last).enumerate() {
            let state = match (awaited.is_awaited(index), awaited.matched(index)) {
                (false, _) => "not awaited",
                (true, Some(_)) => "matched",
                (true, None) => "NOT MATCHED",
            };
            eprintln!("--- last lines of {} ({state})", console.name);
            last.iter().for_each(|line| eprintln!("{line}"));
        }
    }
    Err(failure)
}

/// A word for programs, and the failure if it is one.
fn verdict(
    over: Over,
    awaited: &Awaited,
    seconds: f64,
    complaints: &str,
    silent: bool,
) -> (&'static str, Option<Failure>) {
    let missing = awaited.missing().join(", ");
    match over {
        Over::Matched => ("matched", None),
        Over::Timeout if !awaited.is_any() => ("timeout", None),
        Over::Timeout => ("timeout", Some(Failure::Finding(format!("after {seconds:.0} s still awaited: {missing}")))),
        Over::Quit => ("quit", None),
        Over::Signal(signal) => ("signal", Some(Failure::unable(format!("ended by signal {signal}"), ""))),
        // Complaints without a word from any console: the emulator never began.
        Over::Ended(end) if silent && !complaints.trim().is_empty() && end != End::Exit(0) => {
            let message = format!("the emulator ended ({end}): {}", complaints.trim());
            ("refused", Some(Failure::unable(message, "run ./ashlar doctor")))
        }
        Over::Ended(end) if awaited.is_any() => {
            let message = format!("the emulator ended ({end}) while these were awaited: {missing}");
            ("ended", Some(Failure::Finding(message)))
        }
        Over::Ended(end) => match power_off_code(end) {
            Some(0) => ("ended", None),
            Some(code) => ("ended", Some(Failure::Finding(format!("the system ended itself with code {code}")))),
            None => ("ended", Some(Failure::unable(format!("the emulator ended with {end}"), ""))),
        },
    }
}

/// The code with which the system ended itself. The debug-exit device turns code N into status 2N+1.
fn power_off_code(end: End) -> Option<i32> {
    match end {
        End::Exit(0) => Some(0),
        End::Exit(status) if status % 2 == 1 => Some(status / 2),
        _ => None,
    }
}
