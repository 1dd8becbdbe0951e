//! Findings as SARIF 2.1.0, for editors and code hosts.

use crate::check::Row;
use crate::counterexample::trace::Line;
use diagnostics::sarif::{log, Finding, Level, Place, Rule, Run};
use protocol::rules;
use serde_json::Value;

pub fn sarif(rows: &[Row]) -> Value {
    log(&Run {
        tool: "drivercheck",
        rules: rules::CODES.iter().map(|code| Rule { id: code.name, name: None, title: Some(code.title) }).collect(),
        results: rows.iter().filter(|row| row.verdict != "PROVED").map(finding).collect(),
        ..Run::default()
    })
}

fn finding(row: &Row) -> Finding {
    let message = match (&row.trace, &row.reason) {
        (Some(trace), None) => trace.finding.clone(),
        (_, Some(reason)) => {
            let doubt = row.doubt.iter().map(|doubt| format!("; {doubt}; what may help: {}", doubt.remedy));
            format!("{} {}: {reason}{}", row.protocol, row.subprotocol, doubt.collect::<String>())
        }
        _ => row.subprotocol.clone(),
    };
    let lines = || row.trace.iter().flat_map(|trace| &trace.lines);
    let doubted = || {
        let (file, line) = row.doubt.as_ref().and_then(|doubt| doubt.file.clone().zip(doubt.line))?;
        Some(Place { file, line: Some(line), message: Some(message.clone()), ..Place::default() })
    };
    Finding {
        rule: format!("driver::rule-{}", row.rule),
        level: if row.verdict == "VIOLATED" { Level::Error } else { Level::Warning },
        places: lines().last().map(|line| place(line, message.clone())).or_else(doubted).into_iter().collect(),
        steps: lines().map(|line| place(line, said(line))).collect(),
        message,
    }
}

/// What happens in a line: values, the message, the state before and after.
fn said(line: &Line) -> String {
    let values = Some(line.values.join(", ")).filter(|values| !values.is_empty());
    let parts = [values.as_ref(), line.message.as_ref(), line.before.as_ref(), line.after.as_ref()];
    parts.into_iter().flatten().cloned().collect::<Vec<_>>().join(" | ")
}

fn place(line: &Line, message: String) -> Place {
    Place { file: line.file.clone(), line: Some(line.line), message: Some(message), ..Place::default() }
}
