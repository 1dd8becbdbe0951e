//! `bench timing`: what the timing analysis takes, of processor time and memory, and what it is about: the kernel with all
//! its regions, and the set of small programs.

use crate::results::{AnalysisCost, BenchResult};
use builder::on_demand::{ANALYSER, COMPARISON};
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use rustix::process::{waitid, Pid, WaitId, WaitIdOptions};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often the memory of a process is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Of the set, programs for this instruction set, as compiled by default.
const TARGET: &str = "armv6-O2";

/// What a process took, the processes that it waited for included in the time.
struct Taken {
    seconds: f64,
    mebibytes: f64,
    said: Vec<u8>,
}

pub fn timing(project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(4);
    progress.step("building the analyser");
    let (analyser, compare) = (ANALYSER.ready(project, output)?, COMPARISON.ready(project, output)?);
    let mut table = Table::new(["analysis of", "parts", "bounded", "loops", "bounded", "CPU seconds", "MiB"]);
    let mut costs = BTreeMap::new();

    progress.step("the kernel");
    let mut command = Command::new(&analyser);
    command.args(["--kernel", "--format", "json", "--quiet"]).env("ASHLAR_ROOT", project.root());
    let taken = run(&mut command, output)?;
    let report: Value = serde_json::from_slice(&taken.said).map_err(|error| unreadable(&analyser, &error))?;
    let count = |list: &Value, bound: &str| {
        let all = list.as_array().map(Vec::as_slice).unwrap_or_default();
        (all.len(), all.iter().filter(|one| !one[bound].is_null()).count())
    };
    let (regions, loops) = (count(&report["regions"], "wcet_cycles"), count(&report["loops"], "bound"));
    row(&mut table, &mut costs, "kernel", regions, loops, &taken);

    progress.step("the set of programs");
    let mut command = Command::new(&compare);
    command.args(["--json", "--jobs", "1", "--target", TARGET]).current_dir(project.root());
    let taken = run(&mut command, output)?;
    let (mut programs, mut loops) = ((0, 0), (0, 0));
    for line in String::from_utf8_lossy(&taken.said).lines() {
        let row: Value = serde_json::from_str(line).map_err(|error| unreadable(&compare, &error))?;
        let (all, bounded) = count(&row["loops"], "bound");
        loops = (loops.0 + all, loops.1 + bounded);
        programs = (programs.0 + 1, programs.1 + usize::from(!row["bound"].is_null()));
    }
    row(&mut table, &mut costs, "set", programs, loops, &taken);
    progress.step("done");
    output.human(&table.render());
    output.json(&BenchResult::Timing(costs));
    Ok(())
}

fn row(
    table: &mut Table,
    costs: &mut BTreeMap<&'static str, AnalysisCost>,
    name: &'static str,
    parts: (usize, usize),
    loops: (usize, usize),
    taken: &Taken,
) {
    let numbers = [parts.0, parts.1, loops.0, loops.1].map(|number| number.to_string());
    let mut cells = vec![name.to_string()];
    cells.extend(numbers);
    cells.extend([format!("{:.1}", taken.seconds), format!("{:.0}", taken.mebibytes)]);
    table.row(cells);
    let cost = AnalysisCost {
        parts: parts.0,
        parts_bounded: parts.1,
        loops: loops.0,
        loops_bounded: loops.1,
        cpu_seconds: taken.seconds,
        mebibytes: taken.mebibytes,
    };
    costs.insert(name, cost);
}

fn unreadable(tool: &std::path::Path, error: &serde_json::Error) -> Failure {
    Failure::unable(format!("{} printed no result: {error}", tool.display()), "run it by hand")
}

/// Runs a process to its end; a finding (exit status 1) is a result too.
fn run(command: &mut Command, output: &Output) -> Result<Taken, Failure> {
    output.detail(&format!("+ {command:?}"));
    let cannot = |error: &dyn std::fmt::Display| Failure::unable(format!("{command:?}: {error}"), "run it by hand");
    let said = tempfile().map_err(|error| cannot(&error))?;
    let copy = said.try_clone().map_err(|error| cannot(&error))?;
    let mut child = Command::new(command.get_program());
    child.args(command.get_args()).envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    if let Some(folder) = command.get_current_dir() {
        child.current_dir(folder);
    }
    let mut child = child.stdout(copy).stderr(Stdio::null()).spawn().map_err(|error| cannot(&error))?;
    let pid = Pid::from_child(&child);
    let mut kibibytes = 0;
    // Not reaped yet, so that its times can still be read.
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while waitid(WaitId::Pid(pid), look).map_err(|error| cannot(&error))?.is_none() {
        kibibytes = kibibytes.max(peak(child.id()).unwrap_or(0));
        std::thread::sleep(LOOK);
    }
    let ticks = ticks(child.id()).unwrap_or(0);
    let status = child.wait().map_err(|error| cannot(&error))?;
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(cannot(&status));
    }
    let said = contents(said).map_err(|error| cannot(&error))?;
    Ok(Taken { seconds: ticks as f64 / 100.0, mebibytes: kibibytes as f64 / 1024.0, said })
}

/// A file without a name.
fn tempfile() -> std::io::Result<std::fs::File> {
    let path = std::env::temp_dir().join(format!("ashlar-bench-{}", std::process::id()));
    let file = std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn contents(mut file: std::fs::File) -> std::io::Result<Vec<u8>> {
    use std::io::{Read, Seek};
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The most memory that a process had, in KiB.
fn peak(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Processor time of a process and of those that it waited for, in hundredths of a second (the unit of Linux).
fn ticks(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the name, which may hold anything: state is field 3; times are fields 14 to 17.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use output::{Format, Output};
    use std::process::Command;

    #[test]
    fn time_and_memory_of_a_process() {
        let mut command = Command::new("sh");
        command.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo $i"]);
        let taken = super::run(&mut command, &Output::new(Format::Human, 0, true))
            .unwrap_or_else(|_| panic!("sh does not run"));
        assert_eq!(taken.said, b"200000\n");
        assert!(taken.seconds > 0.0 && taken.mebibytes > 0.1, "{} {}", taken.seconds, taken.mebibytes);
    }
}
