//! Findings as SARIF 2.1.0, for editors and code review: errors, refuted constraints, a missed budget.

use serde_json::{json, Value};

use crate::model::{Report, Verdict};
use crate::words;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The findings of a report; none if the bound is there and within its budget.
pub fn sarif(report: &Report) -> Value {
    let mut results = Vec::new();
    for error in &report.errors {
        let text = format!("{}. {}", error.message, error.remedy);
        let place =
            place(&report.program.file, error.source.as_deref(), error.address.as_deref(), error.symbol.as_deref());
        results.push(result(&error.code, "error", &text, place));
    }
    for constraint in report.constraints.iter().filter(|constraint| !constraint.validated) {
        let run = constraint.counterexample.as_deref().unwrap_or("it could not be shown to hold");
        let text = format!("The constraint `{}` is not valid: {run}", constraint.text);
        results.push(result("refuted-constraint", "error", &text, place(&report.program.file, None, None, None)));
    }
    if report.verdict == Verdict::Late {
        let text = format!("{}; {}", words::verdict(report), words::slack(report).unwrap_or_default());
        let (entry, address) = (&report.program.entry, report.program.entry_address.as_deref());
        let source = report.path.first().and_then(|step| step.source.as_deref());
        results.push(result(
            "missed-budget",
            "error",
            &text,
            place(&report.program.file, source, address, Some(entry)),
        ));
    }
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "ashlar timing", "version": report.analysis.version, "rules": rules(&results) } },
            "artifacts": [{ "location": { "uri": uri(&report.program.file) }, "hashes": { "sha-256": report.program.sha256 } }],
            "results": results,
            "properties": { "wcet_cycles": report.wcet_cycles, "machine": report.machine.name },
        }],
    })
}

fn rules(results: &[Value]) -> Vec<Value> {
    let mut names: Vec<&str> = results.iter().filter_map(|result| result["ruleId"].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| json!({ "id": name })).collect()
}

fn result(rule: &str, level: &str, text: &str, location: Value) -> Value {
    json!({ "ruleId": rule, "level": level, "message": { "text": text }, "locations": [location] })
}

/// A place in the source if it is known, and always one in the executable.
fn place(file: &str, source: Option<&str>, address: Option<&str>, symbol: Option<&str>) -> Value {
    let physical = match source.and_then(|source| source.rsplit_once(':')) {
        Some((path, line)) => json!({
            "artifactLocation": { "uri": uri(path) },
            "region": { "startLine": line.parse::<u32>().unwrap_or(1).max(1) },
        }),
        None => {
            let mut place = json!({ "artifactLocation": { "uri": uri(file) } });
            let number = address.and_then(|text| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok());
            // SARIF has signed numbers.
            if let Some(number) = number.filter(|number| *number <= i64::MAX as u64) {
                place["address"] = json!({ "absoluteAddress": number });
            }
            place
        }
    };
    let mut location = json!({ "physicalLocation": physical });
    if let Some(symbol) = symbol {
        let full = address.map_or_else(|| symbol.to_string(), |address| format!("{symbol} at {address}"));
        location["logicalLocations"] = json!([{ "name": symbol, "fullyQualifiedName": full }]);
    }
    location
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    if path.starts_with('/') {
        format!("file://{out}")
    } else {
        out
    }
}
