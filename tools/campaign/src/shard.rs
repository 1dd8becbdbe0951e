//! Which items of a campaign one run takes.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One of several equal parts of a campaign; `[index, count]` in JSON, `I/N` on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "(usize, usize)", into = "(usize, usize)")]
pub struct Shard {
    /// From 1.
    pub index: usize,
    pub count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a shard: give I/N with I from 1 to N, such as 1/4")]
pub struct ShardError(String);

impl Shard {
    /// The whole campaign in one part.
    pub const ALL: Shard = Shard { index: 1, count: 1 };

    /// Whether the item at `position`, counted from 0, belongs to this shard.
    pub fn has(self, position: usize) -> bool {
        position % self.count == self.index - 1
    }

    /// Every shard of `count`.
    pub fn of(count: usize) -> impl Iterator<Item = Shard> {
        (1..=count).map(move |index| Shard { index, count })
    }
}

impl TryFrom<(usize, usize)> for Shard {
    type Error = ShardError;

    fn try_from((index, count): (usize, usize)) -> Result<Shard, ShardError> {
        if 1 <= index && index <= count {
            Ok(Shard { index, count })
        } else {
            Err(ShardError(format!("{index}/{count}")))
        }
    }
}

impl From<Shard> for (usize, usize) {
    fn from(shard: Shard) -> (usize, usize) {
        (shard.index, shard.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let wrong = || ShardError(text.to_string());
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let numbers = (index.parse().map_err(|_| wrong())?, count.parse().map_err(|_| wrong())?);
        Shard::try_from(numbers).map_err(|_| wrong())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// The seed of the item at `position` of a campaign with `seed`: the same on every machine, whatever the shards.
pub fn item_seed(seed: u64, position: u64) -> u64 {
    // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    let mut x = seed.wrapping_add(position.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What a shard takes of a list, in an order that the seed gives: each entry is in one shard.
pub fn share<T>(all: Vec<T>, seed: u64, shard: Shard) -> Vec<T> {
    let mut all: Vec<(usize, T)> = all.into_iter().enumerate().collect();
    all.sort_by_key(|(position, _)| item_seed(seed, *position as u64));
    let mine = all.into_iter().enumerate().filter(|(position, _)| shard.has(*position));
    mine.map(|(_, (_, entry))| entry).collect()
}

#[cfg(test)]
mod tests {
    use super::{item_seed, share, Shard};
    use std::collections::BTreeSet;

    #[test]
    fn shards_share_all_items() {
        for count in 1..7 {
            for position in 0..20 {
                assert_eq!(Shard::of(count).filter(|shard| shard.has(position)).count(), 1);
            }
        }
    }

    #[test]
    fn shards_share_the_list_whatever_the_seed() {
        let all: Vec<usize> = (0..50).collect();
        let whole = |seed| share(all.clone(), seed, Shard::ALL);
        assert_eq!(whole(1), whole(1));
        assert_ne!(whole(1), whole(2));
        for seed in 0..4 {
            let mut shared: Vec<usize> = Shard::of(7).flat_map(|shard| share(all.clone(), seed, shard)).collect();
            assert_ne!(shared, all);
            shared.sort_unstable();
            assert_eq!(shared, all);
        }
    }

    #[test]
    fn reads_and_writes_shards() {
        let shard: Shard = "2/4".parse().unwrap();
        assert_eq!((shard, shard.to_string().as_str()), (Shard { index: 2, count: 4 }, "2/4"));
        assert_eq!(serde_json::to_string(&shard).unwrap(), "[2,4]");
        assert_eq!(serde_json::from_str::<Shard>("[2,4]").unwrap(), shard);
        for wrong in ["", "1", "0/4", "5/4", "0/0", "1/x", "-1/4", "1/4/4"] {
            assert!(wrong.parse::<Shard>().unwrap_err().to_string().contains("I/N"), "{wrong}");
        }
        assert!(serde_json::from_str::<Shard>("[0,4]").is_err());
    }

    #[test]
    fn items_have_seeds_of_their_own() {
        let seeds: BTreeSet<u64> = (0..4).flat_map(|seed| (0..1000).map(move |at| item_seed(seed, at))).collect();
        assert_eq!(seeds.len(), 4000);
        // The first output of the published generator from state 0.
        assert_eq!(item_seed(0, 0), 0xe220_a839_7b1d_cdaf);
    }
}
