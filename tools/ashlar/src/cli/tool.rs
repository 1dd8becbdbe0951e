//! The options of verbs about the tool itself, its documentation and its distribution.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct BookOptions {
    /// Change nothing: list the pictures that are out of date, and the names in the book that the tree does not have.
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct ExplainOptions {
    /// The code, in any case; without it, every code with its title.
    pub code: Option<String>,
    /// Print the reference page of all codes, in Markdown.
    #[arg(long, conflicts_with = "code")]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct CompletionsOptions {
    pub shell: clap_complete::Shell,
}

/// The archive holds the tool, the kernels, programs, headers and libraries, the Rust crate, the book, checksums, and the
/// evidence: what is proved, the kernel's bounds, the verdicts on drivers. Evidence is packed only if it was made of the same
/// binaries; for the rest the archive says that it is missing.
#[derive(Debug, Args)]
pub struct DistOptions {
    /// Where the archive goes; otherwise build/ashlar-VERSION-x86_64.tar.xz.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// First make the evidence that is missing: runs `prove`, `timing --kernel` and `drivers verify`, which takes minutes.
    #[arg(long)]
    pub evidence: bool,
}

#[derive(Debug, Args)]
pub struct ManOptions {
    /// Folder for the pages; made if it is not there.
    pub directory: PathBuf,
}

#[derive(Debug, Args)]
pub struct SchemaOptions {
    /// Its name; without it, the names of all schemas.
    pub name: Option<String>,
    /// Write all of them into this folder instead.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "name")]
    pub out: Option<PathBuf>,
}
