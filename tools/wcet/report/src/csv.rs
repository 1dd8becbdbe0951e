//! Tables for spreadsheets: one table of named rows, so that one file holds the bound, the loops and the functions.

use crate::model::Report;
use crate::words;

/// Rows of `kind,function,address,source,cycles,count,evidence,detail`; fields in quotes as RFC 4180 has them.
pub fn csv(report: &Report) -> String {
    let mut out = String::from("kind,function,address,source,cycles,count,evidence,detail\r\n");
    let mut row = |fields: [&str; 8]| {
        let quoted: Vec<String> = fields.iter().map(|field| quote(field)).collect();
        out.push_str(&quoted.join(","));
        out.push_str("\r\n");
    };
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let program = &report.program;
    let address = program.entry_address.as_deref().unwrap_or_default();
    let verdict = words::verdict(report);
    row(["bound", &program.entry, address, "", &number(report.wcet_cycles), "", "", &verdict]);
    for error in &report.errors {
        let detail = format!("{}; {}", error.message, error.remedy);
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        row(["error", &text(&error.symbol), &text(&error.address), &text(&error.source), "", "", &error.code, &detail]);
    }
    for found in &report.loops {
        let evidence = found.evidence.map(words::evidence).unwrap_or_default();
        let detail = found.detail.as_ref().or(found.reason.as_ref()).map(String::as_str).unwrap_or_default();
        let source = found.source.as_deref().unwrap_or_default();
        row(["loop", &found.function, &found.address, source, "", &number(found.bound), evidence, detail]);
    }
    for function in &report.functions {
        let source = function.source.as_deref().unwrap_or_default();
        let (total, own) = (function.total_cycles.to_string(), format!("{} by itself", function.self_cycles));
        row([
            "function",
            &function.function,
            &function.address,
            source,
            &total,
            &function.entered.to_string(),
            "",
            &own,
        ]);
    }
    for region in report.regions.iter().flatten() {
        let start = region.start.as_deref().unwrap_or_default();
        let dominated = region.dominated_by.as_deref().unwrap_or_default();
        row(["region", &region.name, start, "", &number(region.wcet_cycles), "", &region.kind, dominated]);
    }
    for one in report.responses.iter().flatten() {
        let vector = one.vector.to_string();
        let handler = one.handler.as_deref().unwrap_or("none waits");
        let waits = words::lock_waits(one);
        row(["response", &one.name, &vector, "", &one.cycles.to_string(), "", handler, &waits]);
    }
    for one in report.response_loops.iter().flatten() {
        let (cycles, bound) = (one.cycles.to_string(), number(one.bound));
        row(["response loop", &one.function, &one.address, "", &cycles, &bound, "", &one.region]);
    }
    for lock in report.locks.iter().flatten() {
        let waits = format!(
            "held {} cycles with waits for others, {} waited for one among {} processors",
            lock.held_cycles,
            lock.wait_cycles,
            number(report.lock_processors)
        );
        let (section, members) = (lock.section_cycles.to_string(), lock.members.to_string());
        row(["lock", &lock.name, &lock.place, "", &section, &members, "", &waits]);
    }
    for observed in &report.observed {
        let (bound, detail) = (observed.bound_cycles.to_string(), format!("observed at most {}", observed.cycles));
        row(["observed", &observed.name, "", "", &bound, &observed.passages.to_string(), "", &detail]);
    }
    out
}

fn quote(field: &str) -> String {
    // A spreadsheet would run a field that begins so as a formula.
    let risky = field.starts_with(['=', '+', '@', '\t', '\r']) || (field.starts_with('-') && field.len() > 1);
    let field = if risky { format!("'{field}") } else { field.to_string() };
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}
