//! Findings as JSON, the same for every tool. The types are also what the JSON schemas are made from.

use crate::{Diagnostic, Label, Report};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// All findings of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct ReportJson {
    pub diagnostics: Vec<DiagnosticJson>,
}

/// One finding.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Diagnostic")]
pub struct DiagnosticJson {
    /// Stable name of the kind of finding; `ashlar explain CODE` explains it.
    pub code: String,
    /// The kind of finding in a few words.
    pub title: String,
    /// What is wrong here.
    pub message: String,
    /// How to mend it.
    pub remedy: String,
    /// Places: the first is where the fault is, further ones show what it conflicts with.
    pub labels: Vec<LabelJson>,
    /// The steps that lead to the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Vec<String>>,
}

/// A place in a file. Lines and columns count from 1, columns in characters; the end is the place after the last one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Label")]
pub struct LabelJson {
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
    pub text: String,
}

impl Report {
    /// For programs.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(ReportJson::from(self)).unwrap_or_default()
    }
}

impl From<&Report> for ReportJson {
    fn from(report: &Report) -> ReportJson {
        ReportJson { diagnostics: report.diagnostics.iter().map(DiagnosticJson::from).collect() }
    }
}

impl From<&Diagnostic> for DiagnosticJson {
    fn from(diagnostic: &Diagnostic) -> DiagnosticJson {
        DiagnosticJson {
            code: diagnostic.code.name.to_string(),
            title: diagnostic.code.title.to_string(),
            message: diagnostic.message.clone(),
            remedy: diagnostic.remedy.clone(),
            labels: diagnostic.labels.iter().map(LabelJson::from).collect(),
            witness: diagnostic.witness.clone(),
        }
    }
}

impl From<&Label> for LabelJson {
    fn from(label: &Label) -> LabelJson {
        let place = label.source.place(&label.span);
        LabelJson {
            file: label.source.path.display().to_string(),
            line: place.line,
            column: place.column,
            end_line: place.end_line,
            end_column: place.end_column,
            text: label.text.clone(),
        }
    }
}
