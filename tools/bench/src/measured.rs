//! A system whose programs measure and print.

use builder::machine::MachineOptions;
use builder::{build_system, Built, KernelOptions, STEPS};
use emulator::transcript::line_regex;
use emulator::Session;
use output::{Failure, Output};
use project::Project;
use std::path::Path;
use std::time::Duration;

/// Lines of a console that are shown if the measurement did not finish.
pub const LAST_LINES: usize = 15;
/// What a measuring program prints when it gives up; the run then ends.
pub const GIVEN_UP: &str = "error [0-9]+$|assertion failed|does not count|did not run";

/// Builds a system of the tree without counting its steps.
pub fn build(name: &str, kernel: &KernelOptions, project: &Project, output: &Output) -> Result<Built, Failure> {
    build_file(&project.description(name)?, kernel, project, output)
}

/// The same for a description anywhere.
pub fn build_file(
    description: &Path,
    kernel: &KernelOptions,
    project: &Project,
    output: &Output,
) -> Result<Built, Failure> {
    let quiet = output.only_failures();
    let progress = quiet.progress(STEPS);
    build_system(description, kernel, project, &quiet, &progress)
}

/// Boots `built` and waits until each console with an `up` has printed it. Gives all lines of these consoles, in their order.
pub fn lines(
    built: &Built,
    machine: &MachineOptions,
    timeout: Duration,
    output: &Output,
) -> Result<Vec<String>, Failure> {
    lines_of(&machine.command_line(built)?, built, timeout, output)
}

/// The same with a command line that boots `built`.
pub fn lines_of(
    command: &emulator::CommandLine,
    built: &Built,
    timeout: Duration,
    output: &Output,
) -> Result<Vec<String>, Failure> {
    output.detail(&format!("+ {command}"));
    let mut session = start(command)?;
    let mut lines = Vec::new();
    for (index, console) in built.system.consoles.iter().enumerate() {
        let Some(up) = &console.up else { continue };
        let regex = compile(&format!("(?:{up})|{GIVEN_UP}"))?;
        let found = session.wait_for(index, &regex, timeout);
        let given_up = match &found {
            Ok(found) => compile(GIVEN_UP)?.is_match(found.line.as_bytes()),
            Err(_) => false,
        };
        if let (Ok(_), false) = (&found, given_up) {
            lines.extend(session.transcript(index).last_lines(usize::MAX));
            continue;
        }
        let why = found.err().map_or_else(|| "the program gave up".to_string(), |error| error.to_string());
        let mut text = format!("{} has not come to /{up}/: {why}", console.name);
        for number in [0, index] {
            let last = session.transcript(number).last_lines(LAST_LINES).join("\n");
            text += &format!("\n--- last lines of {}\n{last}", built.system.consoles[number].name);
        }
        let complaints = session.finish();
        return Err(Failure::Finding(format!("{text}\n{}", complaints.trim())));
    }
    Ok(lines)
}

pub fn start(command: &emulator::CommandLine) -> Result<Session<'static>, Failure> {
    Session::start(command).map_err(|error| Failure::unable(error.to_string(), "run ./ashlar doctor"))
}

/// Processor time that the emulator has taken so far.
pub fn processor_seconds(session: &Session<'_>) -> Result<f64, Failure> {
    let unable = || Failure::unable("the host does not say how much processor time a process has taken", "mount /proc");
    Ok(session.processor_time().ok_or_else(unable)?.as_secs_f64())
}

pub fn compile(pattern: &str) -> Result<regex::bytes::Regex, Failure> {
    line_regex(pattern).map_err(|error| Failure::unable(error.to_string(), ""))
}
