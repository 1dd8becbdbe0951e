//! What runs shards: processes of this machine, or the job array of a cluster.

mod local;
mod slurm;

use crate::plan::Plan;
use crate::shard::Shard;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Engine {
    /// So many processes at a time.
    Local { jobs: usize },
    /// A job array of Slurm, submitted by `sbatch` with these further arguments.
    Slurm { arguments: Vec<String> },
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("{0} cannot be started: {1}")]
    Start(String, std::io::Error),
    #[error("{0} cannot be written: {1}")]
    Write(String, std::io::Error),
    #[error("sbatch refuses the job: {0}")]
    Refused(String),
}

impl Engine {
    /// Runs these shards of the plan and returns when all have ended, in whatever way.
    pub(crate) fn run(&self, plan: &Plan, shards: &[Shard]) -> Result<(), EngineError> {
        match self {
            Engine::Local { jobs } => local::run(plan, shards, *jobs),
            Engine::Slurm { arguments } => slurm::run(plan, shards, arguments),
        }
    }
}
