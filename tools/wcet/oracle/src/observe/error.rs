//! Why nothing was observed.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the trace cannot be read: {0}")]
    Trace(String),
    #[error("{what} could not be run: {cause}; `ashlar doctor` says what is missing")]
    Run { what: String, cause: String },
    #[error("the emulator ended before {wanted} kernel entries were traced; it said: {said}")]
    Short { wanted: u64, said: String },
    #[error("{0}")]
    Kernel(#[from] wcet_kernel::Error),
    #[error("{0}")]
    Machine(#[from] crate::simulate::SimulateError),
}
