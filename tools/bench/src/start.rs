//! `bench start`: instructions from reset to the first program, and those of them that are the kernel's.

use super::measured;
use crate::results::{BenchResult, StartCounts};
use builder::machine::MachineOptions;
use builder::KernelOptions;
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use std::collections::BTreeMap;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(120);
/// What the kernel says of itself; the emulator's clock advances by a nanosecond an instruction.
const KERNEL: &str = "boot: start-up done in ([0-9]+) us";
const PROGRAM: &str = "BENCH start ([0-9]+) |error|does not count";

/// A system on a machine.
struct Case {
    name: &'static str,
    about: &'static str,
    system: &'static str,
    mebibytes: u64,
}

const CASES: [Case; 4] = [
    Case { name: "512_mib", about: "512 MiB", system: "bench-start", mebibytes: 512 },
    Case { name: "2048_mib", about: "2 GiB", system: "bench-start", mebibytes: 2048 },
    Case { name: "5120_mib", about: "5 GiB", system: "bench-start", mebibytes: 5120 },
    Case { name: "file", about: "512 MiB, 14 MB more in the image", system: "bench-start-file", mebibytes: 512 },
];

pub fn start(project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(CASES.len());
    let mut table = Table::new(["instructions until a program runs", "from reset", "in the kernel"]);
    let mut counts = BTreeMap::new();
    for case in &CASES {
        progress.step(case.about);
        let built = measured::build(case.system, &KernelOptions::default(), project, output)?;
        let machine =
            MachineOptions { cpus: Some(1), memory: Some(case.mebibytes), icount: true, ..MachineOptions::default() };
        let command = machine.command_line(&built)?;
        output.detail(&format!("+ {command}"));
        let mut session = measured::start(&command)?;
        let mut number = |console: usize, pattern: &str| -> Result<u64, Failure> {
            let unread = |why: String| Failure::Finding(format!("{}: no count: {why}", case.about));
            let found = session
                .wait_for(console, &measured::compile(pattern)?, TIMEOUT)
                .map_err(|error| unread(error.to_string()))?;
            let digits = found.line.split_whitespace().find_map(|word| word.parse().ok());
            digits.ok_or_else(|| unread(found.line.clone()))
        };
        let console = built.system.consoles.iter().position(|console| console.up.is_some()).unwrap_or(0);
        let kernel = 1000 * number(0, KERNEL)?;
        let reset = number(console, PROGRAM)?;
        session.finish();
        table.row(vec![case.about.into(), reset.to_string(), kernel.to_string()]);
        counts.insert(case.name, StartCounts { reset, kernel });
    }
    output.human(&table.render());
    output.json(&BenchResult::Start(counts));
    Ok(())
}
