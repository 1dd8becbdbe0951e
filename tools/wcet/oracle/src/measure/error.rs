//! Why there is no measurement.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path} cannot be read: {cause}", path = path.display())]
    Read { path: PathBuf, cause: std::io::Error },
    #[error("{program} cannot be run: {cause}; `./ashlar doctor` says which package has it")]
    Missing { program: String, cause: std::io::Error },
    #[error("{program} fails on {path}: {message}", path = path.display())]
    Failed { program: String, path: PathBuf, message: String },
    #[error("{path} has no function `entry`", path = path.display())]
    NoEntry { path: PathBuf },
    /// The analysis refuses the program, for these reasons.
    #[error("refused: {}", .0.join("; "))]
    Refused(Vec<String>),
    #[error("{0}")]
    Setup(String),
    /// As much was counted as was asked for.
    #[error("enough instructions were executed")]
    Enough,
    /// The control-flow graph is wrong.
    #[error("{from} is followed by {to}, which the graph does not have")]
    NotInGraph { from: String, to: String },
}
