//! Findings as SARIF 2.1.0, for editors and code hosts.

use crate::check::Row;
use serde_json::{json, Value};

const RULES: [(&str, &str); 5] = [
    ("emit", "Only messages are sent that the protocol enables."),
    ("await", "An enabled message is eventually waited for."),
    ("await-ends", "Every AWAIT ends."),
    ("timed", "No timed state lasts for ever."),
    ("final", "When the driver returns, every protocol is in a final state."),
];

pub fn sarif(rows: &[Row]) -> Value {
    let rule = |(index, (name, text)): (usize, &(&str, &str))| json!({ "id": format!("rule-{}", index + 1), "name": name, "shortDescription": { "text": text } });
    let found = rows.iter().filter(|row| row.verdict != "PROVED");
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "drivercheck",
                "rules": RULES.iter().enumerate().map(rule).collect::<Vec<_>>(),
            }},
            "results": found.map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(row: &Row) -> Value {
    let level = if row.verdict == "VIOLATED" { "error" } else { "warning" };
    let text = match (&row.trace, &row.reason) {
        (Some(trace), _) => trace.finding.clone(),
        (_, Some(reason)) => format!("{} {}: {reason}", row.protocol, row.subprotocol),
        _ => row.subprotocol.clone(),
    };
    let lines = row.trace.iter().flat_map(|trace| &trace.lines);
    let step = |line: &crate::counterexample::trace::Line| {
        let mut text = line.values.join(", ");
        for part in [&line.message, &line.before, &line.after].into_iter().flatten() {
            text = if text.is_empty() { part.clone() } else { format!("{text} | {part}") };
        }
        json!({ "location": location(&line.file, line.line, &text) })
    };
    let steps: Vec<Value> = lines.clone().map(step).collect();
    let at = lines.last().map(|line| location(&line.file, line.line, &text));
    let mut made = json!({
        "ruleId": format!("rule-{}", row.rule),
        "level": level,
        "message": { "text": text },
        "locations": at.into_iter().collect::<Vec<_>>(),
    });
    if !steps.is_empty() {
        made["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    }
    made
}

fn location(file: &str, line: usize, text: &str) -> Value {
    json!({
        "physicalLocation": { "artifactLocation": { "uri": file }, "region": { "startLine": line } },
        "message": { "text": text },
    })
}
