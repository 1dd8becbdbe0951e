//! `bench trace`: what recording for `ashlar trace` costs the operations of `bench ipc`.

use super::counted::count;
use super::{ipc, measured};
use crate::results::{BenchResult, RecordingCost};
use builder::KernelOptions;
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use std::collections::BTreeMap;

pub fn trace(project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(2);
    let mut medians = Vec::new();
    for (trace, about) in [(false, "counting instructions"), (true, "counting them on the kernel that records")] {
        progress.step(about);
        let kernel = KernelOptions { trace, ..KernelOptions::default() };
        let built = measured::build("bench-ipc", &kernel, project, output)?;
        let counts = count(&built, &ipc::OPERATIONS, output)?;
        counts.verdict()?;
        medians.push(counts.medians);
    }
    let (on, off) = (medians.pop().unwrap_or_default(), medians.pop().unwrap_or_default());
    let mut table = Table::new(["instructions", "not recording", "recording", "cost"]);
    let mut costs = BTreeMap::new();
    for operation in &ipc::OPERATIONS {
        let of = |medians: &BTreeMap<String, u64>| medians.get(operation.name).copied().unwrap_or(0);
        let (off, on) = (of(&off), of(&on));
        table.row(vec![operation.about.into(), off.to_string(), on.to_string(), (on as i64 - off as i64).to_string()]);
        costs.insert(operation.name, RecordingCost { off, on });
    }
    output.human(&table.render());
    output.json(&BenchResult::Trace(costs));
    Ok(())
}
