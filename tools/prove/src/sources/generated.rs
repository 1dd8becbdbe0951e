//! Compares the committed Coq terms with what `c2coq` generates from the C.

use crate::error::Error;
use crate::finding::Finding;
use project::Project;
use serde::Deserialize;
use std::process::{Command, Output};

#[derive(Deserialize)]
struct Report {
    findings: Vec<Stale>,
}

#[derive(Deserialize)]
struct Stale {
    file: String,
    line: Option<usize>,
    message: String,
}

/// Generates anew and compares; each layer and function that differs is a finding.
pub fn stale(project: &Project) -> Result<Vec<Finding>, Error> {
    let done = c2coq(project, &["coq", "--check", "--format", "json"])?;
    let said = String::from_utf8_lossy(&done.stdout);
    let complaint = String::from_utf8_lossy(&done.stderr);
    verdict(done.status.code(), &said, complaint.trim())
}

/// Runs `c2coq` in the root of the tree.
pub fn c2coq(project: &Project, arguments: &[&str]) -> Result<Output, Error> {
    let tool = Project::tool("c2coq");
    Command::new(&tool)
        .args(arguments)
        .current_dir(project.root())
        .output()
        .map_err(|error| Error::not_started(&tool.display().to_string(), error))
}

fn verdict(status: Option<i32>, said: &str, complaint: &str) -> Result<Vec<Finding>, Error> {
    match status {
        Some(0) => Ok(vec![]),
        Some(1) => {
            let stale = |stale: Stale| Finding::at("stale-code", &stale.file, stale.line, stale.message);
            match serde_json::from_str::<Report>(said) {
                Ok(report) if !report.findings.is_empty() => Ok(report.findings.into_iter().map(stale).collect()),
                // Faults of the C itself come in another form.
                _ => Ok(vec![Finding::of("stale-code", format!("{said}{complaint}").trim())]),
            }
        }
        _ => Err(Error::Translator { message: format!("could not compare the generated code: {complaint}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn reads_the_verdict() {
        assert!(verdict(Some(0), "", "").unwrap().is_empty());
        let said = r#"{"findings": [{"code": "c", "file": "proof/layers/queue/Code.v", "line": 7, "message": "queue_peek", "remedy": "r"}]}"#;
        assert_eq!(verdict(Some(1), said, "").unwrap()[0].to_string(), "proof/layers/queue/Code.v:7: queue_peek");
        assert_eq!(verdict(Some(1), "", "no\n").unwrap()[0].to_string(), "no");
        assert!(verdict(Some(2), "", "x").is_err());
    }
}
