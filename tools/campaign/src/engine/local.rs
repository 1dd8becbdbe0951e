//! Shards as processes of this machine.

use super::EngineError;
use crate::plan::Plan;
use crate::shard::Shard;
use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Runs the shards, `jobs` at a time.
pub fn run(plan: &Plan, shards: &[Shard], jobs: usize) -> Result<(), EngineError> {
    let next = Mutex::new(shards.iter());
    let worker = || loop {
        let shard = next.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some(shard) = shard else { return Ok(()) };
        one(plan, *shard)?;
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.clamp(1, shards.len().max(1))).map(|_| scope.spawn(worker)).collect();
        // A worker that panicked has lost its shard, which is found by its missing record.
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })
}

/// Runs one shard to its end. Whether it was good is for its record to say.
fn one(plan: &Plan, shard: Shard) -> Result<(), EngineError> {
    let log = plan.log(shard);
    let written = |error| EngineError::Write(log.display().to_string(), error);
    let out = File::create(&log).map_err(written)?;
    let err = out.try_clone().map_err(written)?;
    let (program, arguments) = plan.command.split_first().ok_or_else(|| {
        EngineError::Start(plan.campaign.clone(), std::io::Error::other("the campaign has no command"))
    })?;
    let mut command = Command::new(program);
    command.args(arguments).args(["--shard", &shard.to_string()]).current_dir(&plan.folder);
    command.stdin(Stdio::null()).stdout(out).stderr(err);
    command.status().map_err(|error| EngineError::Start(program.to_string_lossy().into_owned(), error))?;
    Ok(())
}
