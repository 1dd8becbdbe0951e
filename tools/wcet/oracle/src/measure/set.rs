//! The programs of the set.

use std::path::{Path, PathBuf};

use crate::measure::Error;

/// Where the programs are.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/wcet")
}

/// What stands beside the programs in the directory.
const RUNTIME: &str = "runtime";

/// A program of the set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub name: String,
    pub source: PathBuf,
    /// The first sentence of its comment.
    pub about: String,
    /// Of programs with branches that exclude one another: how many branches the largest such conflict has.
    pub conflict: Option<u32>,
}

/// All programs, in the order of their names.
pub fn programs() -> Result<Vec<Program>, Error> {
    let directory = directory();
    let unreadable = |cause| Error::Read { path: directory.clone(), cause };
    let mut found = Vec::new();
    for file in std::fs::read_dir(&directory).map_err(unreadable)? {
        let source = file.map_err(unreadable)?.path();
        let name = source.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if source.extension().is_some_and(|extension| extension == "c") && name != RUNTIME {
            found.push(program(name, source)?);
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn program(name: String, source: PathBuf) -> Result<Program, Error> {
    let text = std::fs::read_to_string(&source).map_err(|cause| Error::Read { path: source.clone(), cause })?;
    let comment = text.split("*/").next().unwrap_or_default().trim_start_matches("/*").replace("\n *", "");
    let about = comment.split(". ").next().unwrap_or_default().split(".Inputs").next().unwrap_or_default();
    let about = about.split(" Inputs:").next().unwrap_or_default().trim().trim_end_matches('.').to_string();
    let number = |text: &str| text.split_whitespace().next().and_then(|word| word.parse().ok());
    let conflict = comment.split("conflict:").nth(1).and_then(number);
    Ok(Program { name, source, about, conflict })
}
