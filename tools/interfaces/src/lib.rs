//! What the kernel shares with user programs, generated from the one table that describes it.
//!
//! `kernel/syscalls.toml` gives the numbers, the dispatcher, the user stubs and the page of the system calls. The generated
//! files are committed, so that the kernel's proofs and its readers find them in the tree; the build compares them.

pub mod fault;
pub mod syscalls;
mod table;

use std::path::{Path, PathBuf};

/// Every code of this crate's findings.
pub const CODES: &[diagnostics::Table] =
    &[diagnostics::Table { subject: "Tables of the kernel's interfaces", codes: fault::Code::TABLE, details: None }];

/// A generated file and its place below the top folder.
#[derive(Debug)]
pub struct Generated {
    pub path: PathBuf,
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path} cannot be read: {error}", path = path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{path} cannot be written: {error}", path = path.display())]
    Write { path: PathBuf, error: std::io::Error },
    /// Everything that is wrong with a table.
    #[error("the table is faulty")]
    Faults(diagnostics::Report),
}

/// Every file that the tables of the tree at `root` give.
pub fn generate(root: &Path) -> Result<Vec<Generated>, Error> {
    let path = root.join("kernel/syscalls.toml");
    let text = read(&path)?;
    let abi = read(&root.join("kernel/abi.h"))?;
    let table = syscalls::read(&text, &abi).map_err(|faults| Error::Faults(fault::report(&path, &text, &faults)))?;
    Ok(syscalls::files(&table))
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| Error::Read { path: path.to_path_buf(), error })
}
