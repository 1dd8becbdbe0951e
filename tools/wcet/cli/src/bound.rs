//! The bound of a program, and its loops alone: from arguments to a request, from a report to a file and a status.

use diagnostics::input_file::{self, InputError, MOST_DATA};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use wcet_paths::analysis::{load_machine, Code, Request};
use wcet_report::{Error, Report, VERSION};

use crate::flow::stated;
use wcet_report::arguments::{BoundOptions, Format, LoopsOptions, OutputOptions, ProgramOptions};

/// Bounds the program and shows the report. Returns the exit status.
pub fn bound(options: &BoundOptions) -> u8 {
    let mut errors = Vec::new();
    let mut request = request(&options.program, &mut errors);
    match &options.machine {
        Some(name) => match load_machine(machines().as_deref(), name, &options.set) {
            Ok(loaded) => request.machine = Some(loaded),
            Err(found) => errors.extend(found),
        },
        None => {
            errors.push(error(Code::Statement, "no machine is named", "add --machine NAME, one of machines/timing/"))
        }
    }
    request.budget = options.budget.clone();
    request.explain = options.explain.clone();
    request.timeout = timeout(options.timeout, &mut errors);
    let report = if errors.is_empty() {
        wcet_paths::analysis::analyse(&request, &mut progress(&options.output))
    } else {
        refused(&request, errors)
    };
    show(&report, &options.output, whole)
}

/// Bounds the loops and shows them. Returns the exit status.
pub fn loops(options: &LoopsOptions) -> u8 {
    let mut errors = Vec::new();
    let mut request = request(&options.program, &mut errors);
    request.timeout = timeout(options.timeout, &mut errors);
    let report = if errors.is_empty() {
        wcet_paths::analysis::loops(&request, &mut progress(&options.output))
    } else {
        refused(&request, errors)
    };
    show(&report, &options.output, loops_alone)
}

pub(crate) fn timeout(seconds: Option<f64>, errors: &mut Vec<Error>) -> Option<Duration> {
    match Duration::try_from_secs_f64(seconds?) {
        Ok(timeout) => Some(timeout),
        Err(cause) => {
            errors.push(error(Code::Statement, &cause.to_string(), "give --timeout in seconds"));
            None
        }
    }
}

fn request(options: &ProgramOptions, errors: &mut Vec<Error>) -> Request {
    let file = options.file.clone().unwrap_or_default();
    let mut request = Request {
        file: file.display().to_string(),
        entry: options.entry.clone(),
        stated: stated(&options.stated),
        command: command(),
        ..Request::default()
    };
    request.stated.loops.clone_from(&options.loops);
    request.stated.executes.clone_from(&options.executes);
    request.stated.fixed_code = options.fixed_code;
    request.stated.shared = options.shared;
    request.stated.devices = options.devices;
    request.stated.volatile.clone_from(&options.volatile);
    request.stated.stack.clone_from(&options.stack);
    request.stated.registers.clone_from(&options.registers);
    request.stated.as_loaded = options.as_loaded;
    let unreadable = |path: &Path, cause: &InputError| {
        let message = format!("{} cannot be read: {cause}", path.display());
        error(Code::Unreadable, &message, cause.remedy())
    };
    match input_file::bytes(&file, MOST_DATA) {
        Ok(data) => request.data = data,
        Err(cause) => errors.push(unreadable(&file, &cause)),
    }
    if let Some(path) = &options.constraints {
        match input_file::text(path) {
            Ok(text) => request.stated.constraints = Some((path.display().to_string(), text)),
            Err(cause) => errors.push(unreadable(path, &cause)),
        }
    }
    request
}

fn error(code: Code, message: &str, remedy: &str) -> Error {
    Error { code: code.name().into(), message: message.into(), remedy: remedy.into(), ..Error::default() }
}

/// A report about a request that could not begin.
fn refused(request: &Request, errors: Vec<Error>) -> Report {
    let mut report = Report { version: VERSION, errors, ..Report::default() };
    report.program.file.clone_from(&request.file);
    report.program.entry = request.entry.clone().unwrap_or_default();
    report.analysis.command.clone_from(&request.command);
    report
}

/// The command line as a person types it.
pub(crate) fn command() -> Vec<String> {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    ["ashlar".to_string(), "timing".to_string()].into_iter().chain(arguments).collect()
}

/// The folder of machine files: of the tree that the entry script names, or of the one around the current folder.
pub(crate) fn machines() -> Option<PathBuf> {
    tree().map(|root| root.join("machines/timing"))
}

/// The tree that the entry script names, or the one around the current folder.
fn tree() -> Option<PathBuf> {
    if let Some(root) = std::env::var_os("ASHLAR_ROOT") {
        return Some(PathBuf::from(root));
    }
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|root| root.join("kernel/layers.order").exists()).map(Path::to_path_buf)
}

/// The same; the current folder if there is none.
pub(crate) fn root() -> PathBuf {
    tree().unwrap_or_default()
}

/// Says on standard error which stage begins.
fn progress(options: &OutputOptions) -> impl FnMut(usize, usize, &str) {
    let quiet = options.quiet;
    move |step, of, name| {
        if !quiet {
            eprintln!("[{step}/{of}] {name}");
        }
    }
}

pub(crate) fn show(
    report: &Report,
    options: &OutputOptions,
    form: impl Fn(&Report, Format) -> Result<String, String>,
) -> u8 {
    let status = wcet_paths::analysis::status(report);
    let written = form(report, options.format).and_then(|text| write(&text, options.output.as_deref()));
    if let Err(message) = written {
        eprintln!("timing: {message}");
        return 2;
    }
    // A user who writes the result to a file, or pipes it elsewhere, still sees here what went wrong.
    let seen = options.format == Format::Human && options.output.is_none() && std::io::stdout().is_terminal();
    if !seen {
        for error in &report.errors {
            let place = [&error.address, &error.symbol].into_iter().flatten().cloned().collect::<Vec<_>>().join(" ");
            let place = if place.is_empty() { place } else { format!("{place}: ") };
            eprintln!("timing: error[{}] {place}{}; {}", error.code, error.message, error.remedy);
        }
    }
    status
}

pub(crate) fn whole(report: &Report, format: Format) -> Result<String, String> {
    match format {
        Format::Human => Ok(wcet_report::human(report)),
        Format::Json => wcet_report::json(report).map_err(|cause| cause.to_string()),
        Format::Html => Ok(wcet_report::html(report)),
        Format::Svg => Ok(wcet_report::picture(report)),
        Format::Csv => Ok(wcet_report::csv(report)),
        Format::Sarif => Ok(format!("{:#}\n", wcet_report::sarif(report))),
        Format::Markdown => crate::page::page(report).ok_or_else(|| "--format markdown is for --kernel".to_string()),
    }
}

fn loops_alone(report: &Report, format: Format) -> Result<String, String> {
    match format {
        Format::Human => Ok(wcet_report::human_loops(report)),
        Format::Json => {
            let alone = json!({
                "version": report.version,
                "complete": report.analysis.complete,
                "loops": report.loops,
                "assumptions": report.assumptions,
                "errors": report.errors,
            });
            Ok(format!("{alone:#}\n"))
        }
        Format::Html | Format::Svg | Format::Csv | Format::Sarif | Format::Markdown => whole(report, format),
    }
}

pub(crate) fn write(text: &str, path: Option<&Path>) -> Result<(), String> {
    match path {
        Some(path) => {
            std::fs::write(path, text).map_err(|cause| format!("{} cannot be written: {cause}", path.display()))
        }
        None => match std::io::stdout().lock().write_all(text.as_bytes()) {
            // A reader that has seen enough is no fault.
            Err(cause) if cause.kind() != std::io::ErrorKind::BrokenPipe => Err(cause.to_string()),
            _ => Ok(()),
        },
    }
}
