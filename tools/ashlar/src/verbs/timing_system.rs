//! `timing --system`: the worst response of each thread with a reservation, from the kernel's bounds and the description.

use super::kernel_bounds::{programs, threads, Calls, KernelBounds, Known, Latency};
use crate::results::SystemTimingResult;
use builder::on_demand::ANALYSER;
use builder::{assets, build_kernel, build_programs, find_system, KernelOptions};
use output::{Failure, Output};
use project::Project;
use response::{respond, Response, Verdict, ASSUMPTIONS};
use std::path::{Path, PathBuf};
use std::process::Command;
use wcet_report::arguments::{BoundOptions, Format};

const VERSION: u32 = 1;
const NS_PER_S: u128 = 1_000_000_000;

pub fn timing_system(name: &str, options: &BoundOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let json = match options.output.format {
        Format::Json => true,
        Format::Human => output.is_json(),
        _ => return Err(Failure::unable("--system has the formats human and json", "use one of these")),
    };
    let (own, path) = find_system(Some(name), project)?;
    let kernel = KernelOptions::default();
    let assets = assets(&own, &kernel)?;
    let system = system::load(&path, &assets)?;
    let programs = programs(&system, &assets);
    let bounds = match &options.bounds {
        Some(file) => {
            let bounds = KernelBounds::read(file)?;
            if bounds.has_programs() {
                build_programs(&kernel, &own, output)?;
            }
            bounds
        }
        None => {
            build_programs(&kernel, &own, output)?;
            KernelBounds::read(&bound_kernel(options, programs.as_deref().unwrap_or_default(), project, output)?)?
        }
    };
    let cpus = u64::from(system.cpus);
    let clock = bounds.clock()?;
    let Latency { response, waits, calls } = bounds.latency(cpus, programs.as_deref())?;
    let ns = |cycles: u64| {
        let ns = (u128::from(cycles) * NS_PER_S).div_ceil(u128::from(clock));
        u64::try_from(ns).unwrap_or(u64::MAX)
    };
    let latency_ns = ns(response.saturating_add(waits));
    let mut assumptions: Vec<String> = ASSUMPTIONS.map(str::to_string).to_vec();
    assumptions.push(match cpus {
        1 => "one processor takes the kernel's locks".to_string(),
        _ => format!("no more than {cpus} processors take the kernel's locks"),
    });
    assumptions.push(match calls {
        Calls::Of(calls) => {
            let names: Vec<String> = calls.into_iter().collect();
            format!(
                "threads of the processors of threads with reservations make the system calls of their executables: {}",
                names.join(", ")
            )
        }
        Calls::Any(why) => format!("nothing of the system calls that threads make: {why}"),
    });
    if system.reads_trace() {
        assumptions
            .push("a kernel that records nothing, although a process of this system reads what it records".to_string());
    }
    let result = SystemTimingResult {
        version: VERSION,
        system: system.name.clone(),
        cpus,
        machine: bounds.machine().to_string(),
        clock_hz: clock,
        latency_ns,
        lock_wait_ns: ns(waits),
        responses: respond(&threads(&system), latency_ns),
        assumptions,
    };
    let text = if json { format!("{:#}\n", serde_json::json!(result)) } else { human(&result) };
    match &options.output.output {
        Some(path) => std::fs::write(path, text).map_err(|error| {
            let remedy = "check the folder and its permissions";
            Failure::unable(format!("{} cannot be written: {error}", path.display()), remedy)
        })?,
        None => print!("{text}"),
    }
    if result.responses.iter().all(|one| one.verdict == Verdict::Met) {
        Ok(())
    } else {
        Err(Failure::Passed(1))
    }
}

/// Bounds the kernel, for any programs and for these, unless that is known; the file with its report.
fn bound_kernel(
    options: &BoundOptions,
    programs: &[PathBuf],
    project: &Project,
    output: &Output,
) -> Result<PathBuf, Failure> {
    let analyser = ANALYSER.ready(project, output)?;
    build_kernel(&KernelOptions::default(), project, output)?;
    let folder = project.build().join("timing");
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::unable(format!("{}: {error}", folder.display()), "is the disk full?"))?;
    let file = folder.join("kernel.json");
    let mut command = Command::new(&analyser);
    command.args(["--kernel", "--format", "json", "--output"]).arg(&file).env("ASHLAR_ROOT", project.root());
    command.args(programs.iter().flat_map(|program| [Path::new("--program"), program]));
    command.args(options.machine.iter().flat_map(|machine| ["--machine", machine]));
    command.args(options.set.iter().flat_map(|set| ["--set", set]));
    if let Some(seconds) = options.timeout {
        command.args(["--timeout", &seconds.to_string()]);
    }
    if options.output.quiet || output.is_quiet() {
        command.arg("--quiet");
    }
    // A machine that is named may be a file anywhere.
    let known = options.machine.is_none().then(|| Known::of(&command, &analyser, programs, project)).flatten();
    if known.as_ref().is_some_and(|known| known.holds(&file)) {
        return Ok(file);
    }
    let status = command.status().map_err(|error| {
        Failure::unable(format!("{} cannot be started: {error}", analyser.display()), "remove it and try again")
    })?;
    match status.code() {
        Some(0) => {
            // Without the note the kernel is only bounded again.
            known.iter().for_each(|known| known.note(&file));
            Ok(file)
        }
        Some(code) => Err(Failure::Passed(u8::try_from(code).unwrap_or(2))),
        None => Err(Failure::unable(format!("the analyser was killed: {status}"), "is there enough memory?")),
    }
}

fn human(result: &SystemTimingResult) -> String {
    let latency = shown(result.latency_ns);
    let mut first = format!("{} on {}: the kernel acts on an event within {latency}", result.system, result.machine);
    if result.cpus > 1 {
        first += &format!(", {} of it waits for locks among {} processors", shown(result.lock_wait_ns), result.cpus);
    }
    let mut lines = vec![first];
    if result.responses.is_empty() {
        lines.push("no thread has a reservation, so there is nothing to bound".to_string());
    }
    result.responses.iter().for_each(|one| lines.extend(of_thread(one)));
    lines.push("\nThe responses rest on the kernel's bounds, and on".to_string());
    lines.extend(result.assumptions.iter().map(|text| format!("  {text}")));
    lines.join("\n") + "\n"
}

fn of_thread(one: &Response) -> Vec<String> {
    let deadline = shown(one.deadline_ns);
    let (budget, period) = (shown(one.budget_ns), shown(one.period_ns));
    let head = format!("\n{} (CPU {}, priority {}, {budget} every {period}): ", one.thread, one.cpu, one.priority);
    let verdict = match (one.response_ns, one.slack_ns) {
        (Some(response), Some(slack)) if slack >= 0 => {
            format!("{} of a deadline of {deadline}, {} to spare", shown(response), shown(slack.unsigned_abs()))
        }
        (Some(response), Some(slack)) => {
            format!("{}, {} beyond its deadline of {deadline}", shown(response), shown(slack.unsigned_abs()))
        }
        _ => "no bound".to_string(),
    };
    let mut lines = vec![head + &verdict];
    lines.extend(one.reason.iter().map(|reason| format!("  because {reason}")));
    lines.extend(one.parts.iter().map(|part| format!("  {:>12}  {}", shown(part.ns), part.what)));
    lines.extend(one.remedy.iter().map(|remedy| format!("  what would help: {remedy}")));
    lines
}

/// For people, to a thousandth of the unit.
fn shown(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| ns >= *scale).unwrap_or((1, "ns"));
    let thousandths = u128::from(ns) * 1000 / u128::from(scale);
    match thousandths % 1000 {
        0 => format!("{} {unit}", thousandths / 1000),
        rest => format!("{}.{rest:03} {unit}", thousandths / 1000),
    }
}
