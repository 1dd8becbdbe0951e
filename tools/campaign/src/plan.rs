//! Running the shards of a campaign on an engine until each has left its record.

use crate::engine::{Engine, EngineError};
use crate::merge::{merge, MergeError, Merged};
use crate::record::Record;
use crate::shard::Shard;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How often the shards that left no record are begun again before they are reported as missing.
const ATTEMPTS: usize = 3;

/// A campaign to be run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub campaign: String,
    pub seed: u64,
    pub shards: usize,
    /// Folder of the records and of what the shards print.
    pub out: PathBuf,
    /// Program and arguments; `--shard I/N` is appended. It writes the record at `record_path`.
    pub command: Vec<OsString>,
    /// Where the command runs.
    pub folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    #[error("{0} cannot be written: {1}")]
    Out(PathBuf, std::io::Error),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("no shard of {0} has left a record; see the logs in {1}")]
    Nothing(String, PathBuf),
    #[error("the records do not belong together: {}", .0.iter().map(MergeError::to_string).collect::<Vec<_>>().join("; "))]
    Merge(Vec<MergeError>),
}

/// Where the record of a shard is.
pub fn record_path(out: &Path, campaign: &str, seed: u64, shard: Shard) -> PathBuf {
    out.join(format!("{campaign}-seed{seed}-{}of{}.json", shard.index, shard.count))
}

impl Plan {
    /// Where `shard` writes its record.
    pub fn record(&self, shard: Shard) -> PathBuf {
        record_path(&self.out, &self.campaign, self.seed, shard)
    }

    /// What `shard` prints goes here, on every engine.
    pub fn log(&self, shard: Shard) -> PathBuf {
        self.record(shard).with_extension("log")
    }

    /// The shards without a record of this campaign.
    pub fn lost(&self) -> Vec<Shard> {
        let is_there = |shard: &Shard| {
            Record::read(&self.record(*shard)).is_ok_and(|record| {
                (record.campaign.as_str(), record.seed, record.shard) == (&self.campaign, self.seed, *shard)
            })
        };
        Shard::of(self.shards).filter(|shard| !is_there(shard)).collect()
    }

    /// Runs every shard that has no record yet, those that are lost again, and merges the records. `tell` gets lines
    /// about what goes on.
    pub fn run(&self, engine: &Engine, tell: &mut dyn FnMut(String)) -> Result<Merged, CampaignError> {
        std::fs::create_dir_all(&self.out).map_err(|error| CampaignError::Out(self.out.clone(), error))?;
        let mut lost = self.lost();
        if lost.len() < self.shards {
            tell(format!("{} of {} shards have a record already", self.shards - lost.len(), self.shards));
        }
        for attempt in 0..ATTEMPTS {
            if lost.is_empty() {
                break;
            }
            let names: Vec<String> = lost.iter().map(Shard::to_string).collect();
            match attempt {
                0 => tell(format!("running {} shards", lost.len())),
                _ => tell(format!("lost, and run again: {}", names.join(" "))),
            }
            engine.run(self, &lost)?;
            lost = self.lost();
        }
        let present = Shard::of(self.shards).filter(|shard| !lost.contains(shard));
        let records: Vec<(String, Record)> = present
            .filter_map(|shard| {
                let path = self.record(shard);
                Some((path.display().to_string(), Record::read(&path).ok()?))
            })
            .collect();
        if records.is_empty() {
            return Err(CampaignError::Nothing(self.campaign.clone(), self.out.clone()));
        }
        merge(&records).map_err(CampaignError::Merge)
    }
}
