//! Long campaigns in shards: mutants, random calls, kills, seeded faults, differential checks, timing sweeps.
//!
//! A campaign has items at positions 0, 1, …; shard I of N runs those whose position is I-1 modulo N and writes one
//! [`Record`]. A [`Plan`] runs the shards on an [`Engine`] and runs those again that left no record; [`merge()`] puts the
//! records together and names the shards that are missing.

mod engine;
mod merge;
mod plan;
mod record;
mod shard;

pub use engine::{Engine, EngineError};
pub use merge::{merge, MergeError, Merged};
pub use plan::{record_path, CampaignError, Plan};
pub use record::{Item, ReadError, Record};
pub use shard::{item_seed, share, Shard, ShardError};
