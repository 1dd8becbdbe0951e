//! What the kernel shares with user programs and with the tools, generated from the one table that describes it.
//!
//! `kernel/syscalls.toml` gives the numbers, the dispatcher, the user stubs in C and Rust and the page of the system calls;
//! `kernel/boot_table.toml` the C structures and the Rust records of the boot table. The generated files are committed,
//! as proofs and readers need them in the tree; the build compares them with a fresh generation.

pub mod boot_table;
pub mod fault;
pub mod syscalls;
mod table;

use std::path::{Path, PathBuf};

/// Every code of this crate's findings.
pub const CODES: &[diagnostics::Table] =
    &[diagnostics::Table { subject: "Tables of the kernel's interfaces", codes: fault::Code::TABLE, details: None }];

/// A generated file and its place below the top folder.
#[derive(Clone, Debug)]
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

/// Every file that the tables of the tree at `root` give. The faults of all tables are reported together.
pub fn generate(root: &Path) -> Result<Vec<Generated>, Error> {
    let abi = read(&root.join("kernel/abi.h"))?;
    let path = root.join("kernel/syscalls.toml");
    let text = read(&path)?;
    let calls = syscalls::read(&path, &text, &abi);
    let path = root.join("kernel/boot_table.toml");
    let text = read(&path)?;
    let schema = boot_table::read(&path, &text);
    match (calls, schema) {
        (Ok(calls), Ok(schema)) => Ok([syscalls::files(&calls, &abi), boot_table::files(&schema)].concat()),
        (calls, schema) => {
            let mut all = calls.err().unwrap_or_default();
            for diagnostic in schema.err().unwrap_or_default().diagnostics {
                all.push(diagnostic);
            }
            Err(Error::Faults(all))
        }
    }
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| Error::Read { path: path.to_path_buf(), error })
}
