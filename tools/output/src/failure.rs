//! Why a verb did not succeed, and its exit status.

use schemars::JsonSchema;
use serde::Serialize;
use system::Report;

/// The end of a verb that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The verb did its work and found something: exit status 1. The text has been shown by the verb if it is empty.
    #[error("{0}")]
    Finding(String),
    /// Faults of a description: exit status 1, or 2 if it cannot be read.
    #[error("{0}")]
    Faults(Report),
    /// A program that did the verb's work ended with this status, and has said why.
    #[error("")]
    Passed(u8),
    /// The verb could not do its work: exit status 2.
    #[error("{message}")]
    Unable { message: String, remedy: String },
}

impl Failure {
    /// A failure to do the work, and how to mend it.
    pub fn unable(message: impl Into<String>, remedy: impl Into<String>) -> Failure {
        Failure::Unable { message: message.into(), remedy: remedy.into() }
    }

    /// clap's message about wrong usage, for programs: the error itself, and its hints as remedy.
    pub fn usage(error: &clap::Error) -> Failure {
        let text = error.to_string();
        let mut parts = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
        let message = parts.next().unwrap_or_default();
        let hints: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        Failure::unable(message.trim_start_matches("error: "), hints.join("; "))
    }

    /// The process's exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Faults(report) if is_unreadable(report) => 2,
            Failure::Finding(_) | Failure::Faults(_) => 1,
            Failure::Passed(status) => *status,
            Failure::Unable { .. } => 2,
        }
    }
}

/// The description itself cannot be read, so nothing is known of it.
fn is_unreadable(report: &Report) -> bool {
    report.diagnostics.iter().any(|one| one.code == system::Code::Unreadable && one.labels.is_empty())
}

impl From<Report> for Failure {
    fn from(report: Report) -> Failure {
        Failure::Faults(report)
    }
}

impl From<project::Error> for Failure {
    fn from(error: project::Error) -> Failure {
        Failure::unable(error.to_string(), error.remedy())
    }
}

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
