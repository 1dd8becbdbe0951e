//! `timing --system`: the worst response of each thread with a reservation, from the kernel's bounds and the description.

use crate::results::SystemTimingResult;
use builder::on_demand::ANALYSER;
use builder::{assets, build_kernel, find_system, KernelOptions};
use diagnostics::input_file::{self, MOST_DATA};
use output::{Failure, Output};
use project::Project;
use response::{respond, Response, Thread, Verdict, ASSUMPTIONS};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use wcet_report::arguments::{BoundOptions, Format};

const VERSION: u32 = 1;
const NS_PER_S: u128 = 1_000_000_000;

/// Of the kernel's report, what is used here.
#[derive(Deserialize)]
struct KernelBounds {
    machine: Machine,
    worst_response_cycles: Option<u64>,
    responses: Option<Vec<VectorResponse>>,
    lock_wait_cycles: Option<u64>,
    lock_processors: Option<u64>,
}

#[derive(Deserialize)]
struct Machine {
    name: String,
    clock_hz: Option<u64>,
}

#[derive(Deserialize)]
struct VectorResponse {
    cycles: u64,
    /// By the number of processors.
    lock_wait_cycles: BTreeMap<String, u64>,
}

impl KernelBounds {
    /// The response to any event, waits for locks apart.
    fn response(&self) -> Option<u64> {
        let of_vectors = self.responses.iter().flatten().map(|one| one.cycles);
        of_vectors.chain([self.worst_response_cycles?]).max()
    }

    /// What waits for locks add among so many processors: that of the next larger number for which there is one.
    fn lock_wait(&self, cpus: u64) -> Option<u64> {
        if cpus == 1 {
            return Some(0);
        }
        let of_vectors = self.responses.iter().flatten().flat_map(|one| &one.lock_wait_cycles);
        let numbered = of_vectors.filter_map(|(among, cycles)| Some((among.parse::<u64>().ok()?, *cycles)));
        let of_the_whole = self.lock_processors.zip(self.lock_wait_cycles);
        let mut by_number: BTreeMap<u64, u64> = BTreeMap::new();
        for (among, cycles) in numbered.chain(of_the_whole) {
            let most = by_number.entry(among).or_default();
            *most = cycles.max(*most);
        }
        by_number.range(cpus..).next().map(|(_, cycles)| *cycles)
    }
}

pub fn timing_system(name: &str, options: &BoundOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let json = match options.output.format {
        Format::Json => true,
        Format::Human => output.is_json(),
        _ => return Err(Failure::unable("--system has the formats human and json", "use one of these")),
    };
    let (own, path) = find_system(Some(name), project)?;
    let system = system::load(&path, &assets(&own, &KernelOptions::default())?)?;
    let file = match &options.bounds {
        Some(file) => file.clone(),
        None => bound_kernel(options, project, output)?,
    };
    let bounds = read(&file)?;
    let cpus = u64::from(system.cpus);
    let incomplete = |what: &str| {
        Failure::unable(
            format!("the kernel's bounds in {} have no {what}", file.display()),
            "see what `ashlar timing --kernel` reports",
        )
    };
    let clock = bounds.machine.clock_hz.filter(|clock| *clock > 0).ok_or_else(|| incomplete("clock"))?;
    let response = bounds.response().ok_or_else(|| incomplete("response to interrupts"))?;
    let waits =
        bounds.lock_wait(cpus).ok_or_else(|| incomplete(&format!("waits for locks among {cpus} processors")))?;
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
    let result = SystemTimingResult {
        version: VERSION,
        system: system.name.clone(),
        cpus,
        machine: bounds.machine.name,
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

fn threads(system: &system::System) -> Vec<Thread> {
    let thread = |one: system::ThreadTime| Thread {
        name: one.name,
        table: one.table,
        cpu: one.cpu,
        priority: one.priority,
        reservation: one.period.zip(one.budget),
        deadline: one.deadline,
        lends_to: one.lends_to,
    };
    system.threads().into_iter().map(thread).collect()
}

/// Bounds the kernel; the file with its report.
fn bound_kernel(options: &BoundOptions, project: &Project, output: &Output) -> Result<PathBuf, Failure> {
    let analyser = ANALYSER.ready(project, output)?;
    build_kernel(&KernelOptions::default(), project, output)?;
    let folder = project.build().join("timing");
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::unable(format!("{}: {error}", folder.display()), "is the disk full?"))?;
    let file = folder.join("kernel.json");
    let mut command = Command::new(&analyser);
    command.args(["--kernel", "--format", "json", "--output"]).arg(&file).env("ASHLAR_ROOT", project.root());
    command.args(options.machine.iter().flat_map(|machine| ["--machine", machine]));
    command.args(options.set.iter().flat_map(|set| ["--set", set]));
    if options.output.quiet || output.is_quiet() {
        command.arg("--quiet");
    }
    let status = command.status().map_err(|error| {
        Failure::unable(format!("{} cannot be started: {error}", analyser.display()), "remove it and try again")
    })?;
    match status.code() {
        Some(0) => Ok(file),
        Some(code) => Err(Failure::Passed(u8::try_from(code).unwrap_or(2))),
        None => Err(Failure::unable(format!("the analyser was killed: {status}"), "is there enough memory?")),
    }
}

fn read(file: &Path) -> Result<KernelBounds, Failure> {
    let unusable = |error: &dyn std::fmt::Display| {
        Failure::unable(
            format!("{} has no bounds of a kernel: {error}", file.display()),
            "write it with `ashlar timing --kernel --format json --output FILE`",
        )
    };
    let text = input_file::bytes(file, MOST_DATA).map_err(|error| unusable(&error))?;
    serde_json::from_slice(&text).map_err(|error| unusable(&error))
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
