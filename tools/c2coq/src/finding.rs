//! What the layer and system-call checks find: faults of the build as a whole, not of a place in one source.

use std::path::PathBuf;

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// Stable name of the kind of fault.
    pub code: &'static str,
    pub file: PathBuf,
    pub line: Option<u32>,
    pub message: String,
    pub remedy: String,
}

/// The findings as text, one paragraph each.
pub fn human(findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let line = finding.line.map_or(String::new(), |line| format!(":{line}"));
        let Finding { code, file, message, remedy, .. } = finding;
        out.push_str(&format!("{}{line}: {message} [{code}]\n    remedy: {remedy}\n", file.display()));
    }
    out
}

#[derive(Serialize)]
struct Report<'a> {
    findings: &'a [Finding],
}

/// `{"findings": [{code, file, line, message, remedy}]}`
pub fn json(findings: &[Finding]) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&Report { findings })
}
