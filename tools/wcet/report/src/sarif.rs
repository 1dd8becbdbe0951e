//! Findings as SARIF 2.1.0, for editors and code review: errors, refuted constraints, a missed budget.

use diagnostics::sarif::{log, Finding, Level, Place, Rule, Run, Symbol};
use serde_json::{json, Value};
use std::collections::BTreeSet;

use crate::model::{Report, Verdict};
use crate::words;

/// The findings of a report; none if the bound is there and within its budget.
pub fn sarif(report: &Report) -> Value {
    let results = findings(report);
    let names: BTreeSet<String> = results.iter().map(|result| result.rule.clone()).collect();
    log(&Run {
        tool: "ashlar timing",
        version: Some(&report.analysis.version),
        rules: names.iter().map(|name| Rule { id: name, name: None, title: None }).collect(),
        artifacts: vec![(&report.program.file, &report.program.sha256)],
        results,
        properties: json!({ "wcet_cycles": report.wcet_cycles, "machine": report.machine.name }),
    })
}

fn findings(report: &Report) -> Vec<Finding> {
    let file = &report.program.file;
    let mut results = Vec::new();
    for error in &report.errors {
        let text = format!("{}. {}", error.message, error.remedy);
        let place = place(file, error.source.as_deref(), error.address.as_deref(), error.symbol.as_deref());
        results.push(finding(&error.code, text, place));
    }
    for constraint in report.constraints.iter().filter(|constraint| !constraint.validated) {
        let run = constraint.counterexample.as_deref().unwrap_or("it could not be shown to hold");
        let text = format!("The constraint `{}` is not valid: {run}", constraint.text);
        results.push(finding("refuted-constraint", text, place(file, None, None, None)));
    }
    if report.verdict == Verdict::Late {
        let text = format!("{}; {}", words::verdict(report), words::slack(report).unwrap_or_default());
        let (entry, address) = (&report.program.entry, report.program.entry_address.as_deref());
        let source = report.path.first().and_then(|step| step.source.as_deref());
        results.push(finding("missed-budget", text, place(file, source, address, Some(entry))));
    }
    results
}

fn finding(rule: &str, message: String, place: Place) -> Finding {
    Finding { rule: rule.to_string(), level: Level::Error, message, places: vec![place], steps: Vec::new() }
}

/// A place in the source if it is known, and always one in the executable.
fn place(file: &str, source: Option<&str>, address: Option<&str>, symbol: Option<&str>) -> Place {
    let symbol = symbol.map(|name| Symbol {
        name: name.to_string(),
        full_name: address.map_or_else(|| name.to_string(), |address| format!("{name} at {address}")),
    });
    match source.and_then(|source| source.rsplit_once(':')) {
        Some((path, line)) => {
            Place { file: path.to_string(), line: Some(line.parse().unwrap_or(1)), symbol, ..Place::default() }
        }
        None => {
            let number = address.and_then(|text| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok());
            Place { file: file.to_string(), address: number, symbol, ..Place::default() }
        }
    }
}
