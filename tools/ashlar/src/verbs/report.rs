//! `report`: merges the records of campaigns' shards.

use crate::cli::ReportOptions;
use crate::results::ReportResult;
use campaign::{merge, MergeError, Merged, Record};
use output::{Failure, Output};
use std::collections::BTreeMap;

pub fn report(options: &ReportOptions, output: &Output) -> Result<(), Failure> {
    let mut faults = Vec::new();
    let mut campaigns: BTreeMap<String, Vec<(String, Record)>> = BTreeMap::new();
    for path in &options.files {
        match Record::read(path) {
            Ok(record) => {
                campaigns.entry(record.campaign.clone()).or_default().push((path.display().to_string(), record));
            }
            Err(error) => faults.push(error.to_string()),
        }
    }
    let mut merged = Vec::new();
    for records in campaigns.values() {
        match merge(records) {
            Ok(one) => merged.push(one),
            Err(errors) => faults.extend(errors.iter().map(MergeError::to_string)),
        }
    }
    if !faults.is_empty() {
        return Err(Failure::unable(faults.join("\n"), "give one record for each shard of a campaign"));
    }
    let result = ReportResult { campaigns: merged };
    output.json(&result);
    show(&result.campaigns, output)
}

/// Shows merged campaigns to people; a finding or a missing shard is one of this run too.
pub fn show(merged: &[Merged], output: &Output) -> Result<(), Failure> {
    merged.iter().for_each(|one| output.human(one.table().trim_end()));
    if merged.iter().all(Merged::is_good) {
        return Ok(());
    }
    let (findings, missing) = (
        merged.iter().map(|one| one.findings).sum::<usize>(),
        merged.iter().map(|one| one.missing.len()).sum::<usize>(),
    );
    Err(Failure::Finding(format!("{findings} findings, {missing} missing shards")))
}
