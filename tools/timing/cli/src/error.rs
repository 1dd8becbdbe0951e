//! Why the command does not succeed.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path} cannot be read: {cause}", path = path.display())]
    Read { path: PathBuf, cause: std::io::Error },
    #[error("there is no symbol `{0}`, nor is that a number such as 0x1000")]
    NoSymbol(String),
    #[error("`{0}` is not of the form NAME=VALUE")]
    NoPair(String),
    #[error("{0}")]
    Setup(String),
    /// What is wrong with the program, a line each.
    #[error("the program has faults")]
    Findings(Vec<String>),
}
