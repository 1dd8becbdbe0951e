//! Long campaigns in shards: mutants, random calls, kills, seeded faults, differential checks, timing sweeps.
//!
//! A campaign has items at positions 0, 1, …; shard I of N runs those whose position is I-1 modulo N and writes one
//! [`Record`]. [`merge()`] puts the records of all shards together and names the shards that are missing.

mod merge;
mod record;
mod shard;

pub use merge::{merge, MergeError, Merged};
pub use record::{Item, ReadError, Record};
pub use shard::{item_seed, Shard, ShardError};
