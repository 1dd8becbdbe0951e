//! Compares the committed Coq terms with what `c2coq` generates from the C.

use crate::error::Error;
use crate::finding::Finding;
use project::Project;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::process::{Command, Output};

/// What `c2coq` reports: the form of the crate `diagnostics`.
#[derive(Deserialize)]
struct Report {
    diagnostics: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Diagnostic {
    code: String,
    message: String,
    /// The first is the place of the fault.
    labels: Vec<Label>,
}

#[derive(Deserialize)]
struct Label {
    file: String,
    line: usize,
}

/// The code of terms that differ; any other is of a fault in the C.
const STALE: &str = "coq::stale-code";

impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Finding {
        let kind = if diagnostic.code == STALE { "stale-code" } else { "refused-c" };
        match diagnostic.labels.first() {
            Some(label) => Finding::at(kind, &label.file, Some(label.line), diagnostic.message),
            None => Finding::of(kind, diagnostic.message),
        }
    }
}

/// Generates anew and compares; each layer and function that differs is a finding.
pub fn stale(project: &Project) -> Result<Vec<Finding>, Error> {
    let done = c2coq(project, &["coq", "--check", "--format", "json"])?;
    let said = String::from_utf8_lossy(&done.stdout);
    let complaint = String::from_utf8_lossy(&done.stderr);
    verdict(done.status.code(), &said, complaint.trim())
}

/// The functions of each layer of the kernel, whether it is translated or not.
pub fn functions(project: &Project) -> Result<BTreeMap<String, Vec<String>>, Error> {
    let done = c2coq(project, &["functions"])?;
    let layers: Vec<(String, Vec<String>)> = serde_json::from_slice(&done.stdout).map_err(|error| {
        let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
        Error::Translator { message: format!("could not list the kernel's functions: {error}: {complaint}") }
    })?;
    Ok(layers.into_iter().collect())
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
            let report: Report = serde_json::from_str(said).map_err(|error| Error::Translator {
                message: format!("gave a report that cannot be read: {error}: {said}{complaint}"),
            })?;
            if report.diagnostics.is_empty() {
                return Err(Error::Translator {
                    message: format!("found a difference that it does not name: {complaint}"),
                });
            }
            Ok(report.diagnostics.into_iter().map(Finding::from).collect())
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
        let said = r#"{"diagnostics": [
            {"code": "coq::stale-code", "message": "queue_peek", "labels": [{"file": "proof/Q.v", "line": 7, "text": ""}]},
            {"code": "subset::pointer", "message": "a pointer", "labels": []}]}"#;
        let found = verdict(Some(1), said, "").unwrap();
        assert_eq!((found[0].kind, found[0].to_string().as_str()), ("stale-code", "proof/Q.v:7: queue_peek"));
        assert_eq!((found[1].kind, found[1].to_string().as_str()), ("refused-c", "a pointer"));
        assert!(verdict(Some(1), "", "no").is_err());
        assert!(verdict(Some(1), r#"{"diagnostics": []}"#, "no").is_err());
        assert!(verdict(Some(2), "", "x").is_err());
    }
}
