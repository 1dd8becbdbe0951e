//! One program for one target: measured, analysed, and the two beside each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use crate::core;
use crate::measure::build::{build, Target};
use crate::measure::set::Program;
use crate::measure::subject::{measure, MeasuredLoop, COPIES, ENTRY};
use campaign::{Record, Shard};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wcet_paths::analysis::{Request, Stated};
use wcet_report::Report;

use crate::compare::claims;
use crate::compare::necessity::{necessity, Necessity};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{program} for {target}: {cause}")]
    Measure { program: String, target: &'static str, cause: crate::measure::Error },
    #[error("{machine}: {reason}")]
    Machine { machine: &'static str, reason: String },
}

/// What the analysis says of a loop, held against the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Exact,
    Above,
    Unbounded,
    /// The bound is wrong.
    Below,
    /// The report leaves the loop out.
    Missing,
}

/// A loop of a function, over all contexts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoopRow {
    pub function: String,
    pub address: String,
    pub source: Option<String>,
    pub measured: u64,
    pub bound: Option<u64>,
    pub verdict: Verdict,
    pub evidence: Option<String>,
    /// Why there is no bound, or in which context it is wrong.
    pub remark: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub program: String,
    pub about: String,
    pub target: String,
    /// Why blocks had to be copied for a graph with loops that have one header.
    pub split: Option<String>,
    pub loops: Vec<LoopRow>,
    /// The most cycles that were observed.
    pub observed: Option<u64>,
    /// The bound on cycles, and the one before any path was excluded.
    pub bound: Option<u64>,
    pub bound_without: Option<u64>,
    /// How many sets of edges were excluded, and how many edges the largest has.
    pub infeasible: usize,
    pub largest: usize,
    /// Of programs with such branches, the bound without each of the sets.
    pub necessity: Option<Necessity>,
    /// How many branches of the program exclude each other, as its comment says.
    pub conflict: Option<u32>,
    /// Errors of the analysis other than loops without a bound.
    pub errors: Vec<String>,
    /// What the analysis says of all runs, and some case contradicts.
    #[serde(default)]
    pub broken: Vec<String>,
    /// Of the analysis.
    pub seconds: f64,
}

impl Row {
    /// Of a program whose control flow the analysis refuses, for this reason.
    pub fn refused(program: &Program, target: Target, reason: String) -> Row {
        Row {
            program: program.name.clone(),
            about: program.about.clone(),
            target: target.name().to_string(),
            split: None,
            loops: Vec::new(),
            observed: None,
            bound: None,
            bound_without: None,
            infeasible: 0,
            largest: 0,
            necessity: None,
            conflict: None,
            errors: vec![reason],
            broken: Vec::new(),
            seconds: 0.0,
        }
    }

    /// Bounds that are wrong.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for found in self.loops.iter().filter(|found| matches!(found.verdict, Verdict::Below | Verdict::Missing)) {
            let bound = found.bound.map_or("none".to_string(), |bound| bound.to_string());
            let (address, measured) = (&found.address, found.measured);
            let remark = found.remark.as_deref().unwrap_or_default();
            faults.push(format!(
                "{} for {}: loop at {address} of {}: measured {measured}, bound {bound} {remark}",
                self.program, self.target, found.function
            ));
        }
        faults.extend(self.broken.iter().map(|broken| format!("{} for {}: {broken}", self.program, self.target)));
        if let (Some(observed), Some(bound)) = (self.observed, self.bound) {
            if bound < observed {
                let (program, target) = (&self.program, &self.target);
                faults.push(format!("{program} for {target}: observed {observed} cycles, bound {bound}"));
            }
        }
        faults
    }
}

/// The record of a shard of `campaign`: one item for each row, good if no bound is below what was measured.
pub fn record(campaign: &str, rows: &[Row], seed: u64, shard: Shard) -> Record {
    let mut record = Record::new(campaign, seed, shard);
    for row in rows {
        let faults = row.faults();
        let verdict = if faults.is_empty() { "sound" } else { "wrong" };
        let item = record.push(format!("{}-{}", row.program, row.target), verdict, faults.is_empty());
        let bounded = row.loops.iter().filter(|one| one.bound.is_some()).count();
        item.detail.extend(
            [
                ("loops", row.loops.len().into()),
                ("loops_bounded", bounded.into()),
                ("observed", row.observed.into()),
                ("bound", row.bound.into()),
                ("seconds", row.seconds.into()),
                ("faults", faults.into()),
            ]
            .map(|(name, value): (&str, Value)| (name.to_string(), value)),
        );
    }
    record
}

/// What the binary does not say of arguments of 32 bits: the calling convention of RV64 extends their sign to the whole
/// register. Elsewhere code reads no more than the 32 bits, or says so itself.
fn arguments(target: Target) -> Vec<String> {
    let all = || ["a0", "a1"].map(|name| format!("{name}=-0x80000000..0x7fffffff")).to_vec();
    match target {
        Target::RiscV64Speed => all(),
        _ => Vec::new(),
    }
}

/// Builds, measures and analyses `program`; refinement of paths stops after `timeout`.
pub fn compare(program: &Program, target: Target, into: &Path, timeout: Duration) -> Result<Row, Error> {
    let wrong = |cause| Error::Measure { program: program.name.clone(), target: target.name(), cause };
    let unusable = |reason: String| Error::Machine { machine: target.machine(), reason };
    let path = target.machine_file();
    let machine = wcet_paths::analysis::load_machine(None, &path.to_string_lossy(), &[])
        .map_err(|errors| unusable(errors.into_iter().map(|error| error.message).collect::<Vec<_>>().join("; ")))?;
    let file = build(program, target, into).map_err(wrong)?;
    let data =
        std::fs::read(&file).map_err(|cause| wrong(crate::measure::Error::Read { path: file.clone(), cause }))?;
    let is_core = target == Target::RiscV32Core;
    let mut measured = measure(&file, (!is_core).then_some(&machine.machine)).map_err(wrong)?;
    if is_core {
        measured.cycles = core::cycles(&file, &data).map_err(wrong)?.into_iter().max();
    }
    let copies = if measured.split.is_some() { COPIES } else { 0 };
    let request = Request {
        file: file.to_string_lossy().into_owned(),
        data,
        entry: Some(ENTRY.to_string()),
        machine: Some(machine),
        stated: Stated { copies, registers: arguments(target), ..Stated::default() },
        timeout: Some(timeout),
        ..Request::default()
    };
    let mut broken = Ok(BTreeSet::new());
    let report = wcet_paths::analysis::analyse_and_show(&request, &mut |_, _, _| {}, &mut |claims| {
        broken = claims::broken(&file, &claims);
    });
    let necessity = match (program.conflict, &request.machine) {
        (Some(_), Some(loaded)) => necessity(&file, &loaded.machine, timeout).map_err(wrong)?,
        _ => None,
    };
    Ok(Row {
        program: program.name.clone(),
        about: program.about.clone(),
        target: target.name().to_string(),
        split: measured.split,
        loops: loops(&measured.loops, &report),
        observed: measured.cycles,
        bound: report.wcet_cycles,
        bound_without: report.analysis.refinement.first().map(|step| step.wcet_cycles),
        infeasible: report.infeasible.len(),
        largest: report.infeasible.iter().map(|set| set.edges.len()).max().unwrap_or(0),
        necessity,
        conflict: program.conflict,
        errors: errors(&report),
        broken: broken.map_err(wrong)?.into_iter().collect(),
        seconds: report.analysis.seconds,
    })
}

/// Errors that are not about a loop's bound, which the loop tells.
fn errors(report: &Report) -> Vec<String> {
    let unbounded = |text: &str| text.starts_with("this loop has no bound");
    let others = report.errors.iter().filter(|error| !unbounded(&error.message));
    others.map(|error| format!("{} {}", error.address.clone().unwrap_or_default(), error.message)).collect()
}

fn loops(measured: &[MeasuredLoop], report: &Report) -> Vec<LoopRow> {
    let mut by_place: BTreeMap<(u64, u64), Vec<&MeasuredLoop>> = BTreeMap::new();
    for found in measured {
        by_place.entry((found.header, found.entry)).or_default().push(found);
    }
    by_place.into_values().map(|contexts| one(&contexts, report)).collect()
}

fn one(contexts: &[&MeasuredLoop], report: &Report) -> LoopRow {
    let first = contexts[0];
    let most = contexts.iter().map(|context| context.most).max().unwrap_or(0);
    let address = format!("{:#x}", first.header);
    let told = report.loops.iter().find(|found| found.address == address && found.function == first.function);
    let mut row = LoopRow {
        function: first.function.clone(),
        address,
        source: first.source.as_deref().map(|source| source.rsplit('/').next().unwrap_or(source).to_string()),
        measured: most,
        bound: None,
        verdict: Verdict::Missing,
        evidence: None,
        remark: None,
    };
    let Some(told) = told else { return row };
    row.bound = told.bound;
    row.evidence = told.evidence.map(|evidence| format!("{evidence:?}"));
    row.remark = told.reason.clone();
    row.verdict = match told.bound {
        None => Verdict::Unbounded,
        Some(bound) if bound < most => Verdict::Below,
        Some(bound) if bound == most => Verdict::Exact,
        Some(_) => Verdict::Above,
    };
    // A context may have a bound of its own. Of contexts with equal names the report tells one each.
    for context in contexts {
        let same = told.contexts.iter().filter(|of| of.calls == context.calls);
        let bound = same.map(|of| of.bound.unwrap_or(u64::MAX)).max();
        if bound.is_some_and(|bound| bound < context.most) {
            row.verdict = Verdict::Below;
            row.remark = Some(format!("in {}: measured {}, bound {bound:?}", context.calls.join(" > "), context.most));
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::{record, LoopRow, Row, Verdict};
    use campaign::Shard;

    #[test]
    fn a_bound_below_a_measurement_is_a_finding_of_the_campaign() {
        let row = |program: &str, observed, bound, verdict| Row {
            program: program.into(),
            about: String::new(),
            target: "armv6-O2".into(),
            split: None,
            loops: vec![LoopRow {
                function: "f".into(),
                address: "0x10".into(),
                source: None,
                measured: 5,
                bound: Some(4),
                verdict,
                evidence: None,
                remark: None,
            }],
            observed: Some(observed),
            bound: Some(bound),
            bound_without: None,
            infeasible: 0,
            largest: 0,
            necessity: None,
            conflict: None,
            errors: Vec::new(),
            broken: Vec::new(),
            seconds: 1.0,
        };
        let rows = [
            row("sound", 10, 10, Verdict::Exact),
            row("cycles", 11, 10, Verdict::Exact),
            row("loop", 10, 10, Verdict::Below),
        ];
        let record = record("timing", &rows, 7, Shard { index: 1, count: 2 });
        let verdicts: Vec<(&str, bool)> = record.items.iter().map(|item| (item.id.as_str(), item.good)).collect();
        assert_eq!(verdicts, [("sound-armv6-O2", true), ("cycles-armv6-O2", false), ("loop-armv6-O2", false)]);
    }
}
