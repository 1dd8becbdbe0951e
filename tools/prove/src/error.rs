//! Errors that end a run without a result.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} cannot be written: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("{program} cannot be started: {source}")]
    NotStarted { program: String, source: io::Error },
    /// A list in the tree that does not have the form of its kind.
    #[error("{file}: {message}")]
    BadFile { file: &'static str, message: String, form: &'static str },
    #[error("c2coq {message}")]
    Translator { message: String },
    #[error("no function of a layer `{0}` is certified")]
    UnknownLayer(String),
    #[error("the layer has no specification to change")]
    NoSpecification,
    #[error("coqc failed on an excerpt: {0}")]
    Excerpt(String),
    #[error("a worker of the campaign panicked")]
    Worker,
    /// The tree itself is at fault: a program of the toolchain refused it as a whole.
    #[error("{what}:\n{output}")]
    Refused { what: &'static str, output: String },
}

impl Error {
    pub fn unreadable(path: &Path, source: io::Error) -> Error {
        Error::Unreadable { path: path.to_path_buf(), source }
    }

    pub fn unwritable(path: &Path, source: io::Error) -> Error {
        Error::Unwritable { path: path.to_path_buf(), source }
    }

    pub fn not_started(program: &str, source: io::Error) -> Error {
        Error::NotStarted { program: program.to_string(), source }
    }

    /// What the user can do about it; `None` if the tree is at fault, which is a finding.
    pub fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Error::Unreadable { .. } => "check that the tree is complete",
            Error::Unwritable { .. } => "check permissions and free space",
            Error::NotStarted { .. } => "run ./ashlar doctor",
            Error::BadFile { form, .. } => form,
            Error::Translator { .. } => "build the tools: cd tools && cargo build --release",
            Error::UnknownLayer(_) => "proof/certified.toml lists the layers",
            Error::NoSpecification => "choose a layer that has a Spec.v",
            Error::Excerpt(_) => "try again with more memory",
            Error::Worker => "report it with what standard error shows",
            Error::Refused { .. } => return None,
        };
        Some(remedy.into())
    }
}
