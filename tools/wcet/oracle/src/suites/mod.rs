//! Suites of others: programs without input, fetched by a script of `tests/foreign`, compiled for each target of the own set
//! with the same flags, and bounded.
//!
//! **Takes** a suite's file in `tests/foreign`: the script that fetches it, its folders, and what is stated of its programs.
//! **Returns** for each program and target a [`Row`]: whether there was an answer in time, each loop with its bound, and beside
//! it how often it ran.
//!
//! The region is `main`, once, with memory as the executable has it: what a program works on it has inside. So its one run is all
//! that it can do, and a bound below what is counted in that run is wrong. Nothing of a suite is part of what is shipped.

mod one;
mod page;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

pub use crate::foreign::directory;

pub use one::{row, Answer, Row, SuiteLoop};
pub use page::page;

/// A suite, as its file describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Of its page.
    pub heading: String,
    pub title: String,
    /// The script beside the file. Given a folder it leaves the suite's sources in `source` there.
    pub fetch: String,
    /// What makes a program one of which `entry` is bounded, beside the file.
    pub entry: String,
    /// Folders of the sources; each folder in one of them is a program.
    pub folders: Vec<String>,
    /// Seconds after which no more is sought for a program.
    pub timeout: u64,
    /// Seconds within which an answer is wanted.
    pub limit: u64,
    /// Instructions of a run that are looked at, at most.
    pub instructions: u64,
    #[serde(default)]
    pub recursion: Vec<Recursion>,
    /// What the page says behind its tables.
    #[serde(default)]
    pub remarks: Vec<String>,
}

/// How deep a function calls itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recursion {
    pub program: String,
    pub symbol: String,
    pub depth: u32,
    pub because: String,
}

/// A program: all sources of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub name: String,
    /// The folder of the suite that it is in.
    pub part: String,
    pub folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}: {1}")]
    File(PathBuf, String),
    #[error("{0} failed: {1}")]
    Fetch(PathBuf, String),
    #[error("{0}")]
    Program(crate::measure::Error),
    #[error("{0}: {1}")]
    Machine(&'static str, String),
}

/// The suite that there is.
pub const SUITE: &str = "taclebench";

/// Where a suite's sources, programs and rows go, unless another place is named.
pub fn build_folder() -> PathBuf {
    directory().join("../../build/foreign").join(SUITE)
}

/// The suite's file.
pub fn read() -> Result<Suite, Error> {
    let path = directory().join(format!("{SUITE}.toml"));
    let wrong = |error: String| Error::File(path.clone(), error);
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    toml::from_str(&text).map_err(|error| wrong(error.to_string()))
}

/// Fetches the suite into `folder`, unless it is there, and lists its programs.
pub fn fetch(suite: &Suite, folder: &Path) -> Result<Vec<Program>, Error> {
    let script = directory().join(&suite.fetch);
    let failed = |error: String| Error::Fetch(script.clone(), error);
    let status = Command::new(&script).arg(folder).status().map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    let mut programs = Vec::new();
    for part in &suite.folders {
        let path = folder.join("source").join(part);
        let wrong = |error: std::io::Error| Error::File(path.clone(), error.to_string());
        let part = part.rsplit('/').next().unwrap_or(part);
        for one in std::fs::read_dir(&path).map_err(wrong)? {
            let folder = one.map_err(wrong)?.path();
            if folder.is_dir() {
                let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                programs.push(Program { name, part: part.to_string(), folder });
            }
        }
    }
    // Parts stay in their order.
    let place = |part: &str| suite.folders.iter().position(|folder| folder.ends_with(part));
    programs.sort_by(|a, b| (place(&a.part), &a.name).cmp(&(place(&b.part), &b.name)));
    Ok(programs)
}
