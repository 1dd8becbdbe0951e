//! `bench locks`: acquiring and releasing a lock on this machine's own processors.

use crate::results::BenchResult;
use builder::make::capture;
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Cycles of one acquire and release, by lock and number of CPUs.
#[derive(Debug, PartialEq, Deserialize)]
struct Measured {
    lock: String,
    cpus: u64,
    cycles: f64,
}

pub fn locks(project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(1);
    progress.step("locks on this machine's processors");
    let text = capture(project, "kernel", &["bench-locks"], output)?;
    let measured: Vec<Measured> = text.lines().filter_map(parse).collect();
    if measured.is_empty() {
        return Err(Failure::Finding(format!("the benchmark reported nothing:\n{text}")));
    }
    let mut table = Table::new(["lock", "CPUs", "cycles", "efficiency"]);
    let mut cycles: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for one in &measured {
        let alone = measured.iter().find(|other| other.lock == one.lock && other.cpus == 1);
        // With n CPUs, n transactions are done in the time of one if nothing is lost: n * t1 / tn, both per transaction
        // of the whole machine.
        let efficiency = alone.map(|alone| alone.cycles / one.cycles);
        table.row(vec![
            one.lock.clone(),
            one.cpus.to_string(),
            format!("{:.1}", one.cycles),
            efficiency.map_or_else(String::new, |value| format!("{value:.2}")),
        ]);
        cycles.entry(one.lock.clone()).or_default().insert(one.cpus.to_string(), one.cycles);
    }
    output.human(&table.render());
    output.human("reference, uncontended: mC2 ticket 34, MCS 74; bare loops: ticket 19, MCS 33, pthread_spin 20");
    output.json(&BenchResult::Locks(cycles));
    Ok(())
}

/// Reads `{"lock": NAME, "cpus": N, "cycles": C}`.
fn parse(line: &str) -> Option<Measured> {
    serde_json::from_str(line).ok()
}
