//! Options of a run.

use campaign::Shard;

/// What a run does besides the checks of every run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Compile everything anew and hold it against the time budget.
    pub full: bool,
    /// Like `full`, then all campaigns in whole and the independent checker.
    pub audit: bool,
    /// Mutants of the C.
    pub mutants: Option<Sample>,
    /// So many mutants of the specifications.
    pub spec_mutants: Option<usize>,
    /// So many mutants of the assumptions.
    pub assumption_mutants: Option<usize>,
    /// So many mutants of the definitions below the main theorems.
    pub definition_mutants: Option<usize>,
    /// Mutants of this layer only.
    pub layer: Option<String>,
    /// Random operations of each specification against the C.
    pub operations: Option<u64>,
    pub seed: u64,
    pub shard: Shard,
    /// Write anew what is derived from the proofs and committed.
    pub write: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            full: false,
            audit: false,
            mutants: None,
            spec_mutants: None,
            assumption_mutants: None,
            definition_mutants: None,
            layer: None,
            operations: None,
            seed: 1,
            shard: Shard::ALL,
            write: false,
        }
    }
}

/// How many of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    Some(usize),
    All,
}

impl Sample {
    /// `None` for all.
    pub fn count(self) -> Option<usize> {
        match self {
            Sample::Some(count) => Some(count),
            Sample::All => None,
        }
    }
}

impl std::str::FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Sample, String> {
        match text {
            "all" => Ok(Sample::All),
            _ => text.parse().map(Sample::Some).map_err(|_| "give a number, or `all`".into()),
        }
    }
}
