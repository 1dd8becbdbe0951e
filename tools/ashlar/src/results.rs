//! What commands print with `--format json`: one type for each, from which the output and its schema are made.

use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// Why a command could not do its work (exit status 2), or is not a command.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommandFailed {
    pub error: CommandError,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CommandError {
    pub message: String,
    /// What to do about it; empty if nothing is known.
    pub remedy: String,
}

/// `ashlar build`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BuildResult {
    pub system: String,
    /// The kernel's ELF file.
    pub kernel: PathBuf,
    /// Boot table, programs and files.
    pub image: PathBuf,
}

/// `ashlar image`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImageResult {
    pub system: String,
    /// The disc image.
    pub iso: PathBuf,
}

/// `ashlar doctor`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorResult {
    /// How many of the findings are not well.
    pub faults: usize,
    /// The command that installs every package that is missing.
    pub install: Option<String>,
    pub findings: Vec<DoctorFinding>,
}

/// One thing that the machine should have.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorFinding {
    pub name: String,
    pub ok: bool,
    /// What is wrong.
    pub fault: Option<String>,
    /// What cannot be done without it.
    pub needed_for: String,
    pub remedy: Option<String>,
}

/// `ashlar explain`: one code, or several if a short name means several.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ExplainResult {
    One(ExplainedCode),
    Several { codes: Vec<ExplainedCode> },
    List { codes: Vec<ListedCode> },
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedCode {
    pub code: String,
    pub title: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ExplainedCode {
    pub code: String,
    pub title: String,
    pub explanation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<CodeExample>,
}

/// C that has the finding, and what to write instead.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CodeExample {
    pub refused: String,
    pub accepted: String,
}
