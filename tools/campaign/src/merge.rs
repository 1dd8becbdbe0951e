//! The records of all shards of a campaign as one.

use crate::record::{Item, Record};
use crate::shard::Shard;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A campaign, as far as its shards have reported.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Merged {
    pub campaign: String,
    pub seed: u64,
    pub shards: usize,
    /// Indices of the shards without a record.
    pub missing: Vec<usize>,
    /// How many items have each verdict.
    pub verdicts: BTreeMap<String, usize>,
    /// How many items are not good.
    pub findings: usize,
    /// Sorted by name.
    pub items: Vec<Item>,
}

/// Why records do not belong together. Names are those the caller gave, usually of files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("there is no record to merge")]
    Nothing,
    #[error("{name} is of another campaign: {found}, while {first} is of {expected}")]
    Different { name: String, found: String, first: String, expected: String },
    #[error("{name} and {first} are both shard {shard}")]
    SameShard { name: String, first: String, shard: Shard },
    #[error("item {id} is in {name} and in {first}")]
    SameItem { name: String, first: String, id: String },
}

/// Merges named records of one campaign; all that is wrong with them at once, if anything is.
pub fn merge(records: &[(String, Record)]) -> Result<Merged, Vec<MergeError>> {
    let Some((first, model)) = records.first() else { return Err(vec![MergeError::Nothing]) };
    let mut errors = Vec::new();
    let mut shards: BTreeMap<Shard, &str> = BTreeMap::new();
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, record) in records {
        if identity(record) != identity(model) {
            errors.push(MergeError::Different {
                name: name.clone(),
                found: identity(record),
                first: first.clone(),
                expected: identity(model),
            });
            continue;
        }
        if let Some(first) = shards.insert(record.shard, name) {
            errors.push(MergeError::SameShard { name: name.clone(), first: first.into(), shard: record.shard });
            continue;
        }
        for item in &record.items {
            if let Some(first) = owners.insert(&item.id, name) {
                errors.push(MergeError::SameItem { name: name.clone(), first: first.into(), id: item.id.clone() });
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let present: BTreeSet<usize> = shards.keys().map(|shard| shard.index).collect();
    let mut items: Vec<Item> = records.iter().flat_map(|(_, record)| record.items.clone()).collect();
    items.sort_by(|a, b| a.id.cmp(&b.id));
    let mut verdicts = BTreeMap::new();
    for item in &items {
        *verdicts.entry(item.verdict.clone()).or_insert(0) += 1;
    }
    Ok(Merged {
        campaign: model.campaign.clone(),
        seed: model.seed,
        shards: model.shard.count,
        missing: (1..=model.shard.count).filter(|index| !present.contains(index)).collect(),
        verdicts,
        findings: items.iter().filter(|item| !item.good).count(),
        items,
    })
}

/// What records of one campaign have in common.
fn identity(record: &Record) -> String {
    format!("{}, seed {}, {} shards", record.campaign, record.seed, record.shard.count)
}

impl Merged {
    /// All shards have reported and every item is good.
    pub fn is_good(&self) -> bool {
        self.missing.is_empty() && self.findings == 0
    }

    /// For people: the counts, then each finding, then the missing shards.
    pub fn table(&self) -> String {
        let present = self.shards - self.missing.len();
        let mut text = format!(
            "{}, seed {}: {} items in {present} of {} shards\n",
            self.campaign,
            self.seed,
            self.items.len(),
            self.shards
        );
        for (verdict, count) in &self.verdicts {
            text += &format!("{count:8}  {verdict}\n");
        }
        for item in self.items.iter().filter(|item| !item.good) {
            text += &format!("finding: {}: {}\n", item.id, item.verdict);
        }
        if !self.missing.is_empty() {
            let list: Vec<String> = self.missing.iter().map(|index| format!("{index}/{}", self.shards)).collect();
            text += &format!("missing shards: {}\n", list.join(" "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{merge, MergeError};
    use crate::{Record, Shard};

    fn record(shard: &str, items: &[(&str, &str, bool)]) -> (String, Record) {
        let mut record = Record::new("mutants", 3, shard.parse::<Shard>().unwrap());
        for (id, verdict, good) in items {
            record.push(*id, *verdict, *good);
        }
        (format!("{}.json", record.shard.index), record)
    }

    #[test]
    fn counts_and_names_what_is_missing() {
        let records = [record("3/4", &[("c", "survived", false)]), record("1/4", &[("a", "killed", true)])];
        let merged = merge(&records).unwrap();
        assert_eq!((merged.missing.as_slice(), merged.findings, merged.is_good()), (&[2, 4][..], 1, false));
        assert_eq!(merged.items.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        let table = merged.table();
        for text in ["2 items in 2 of 4 shards", "1  killed", "finding: c: survived", "missing shards: 2/4 4/4"] {
            assert!(table.contains(text), "{text}: {table}");
        }
    }

    #[test]
    fn a_whole_campaign_without_findings_is_good() {
        let records = [record("1/2", &[("a", "killed", true)]), record("2/2", &[])];
        assert!(merge(&records).unwrap().is_good());
        assert!(!merge(&records[..1]).unwrap().is_good());
    }

    #[test]
    fn refuses_what_does_not_belong_together_all_at_once() {
        let one = record("1/3", &[("a", "killed", true)]);
        let same_shard = ("again.json".to_string(), one.1.clone());
        let same_item = record("2/3", &[("a", "killed", true), ("b", "killed", true)]);
        let mut other_seed = record("3/3", &[]);
        other_seed.1.seed = 4;
        let other_count = record("1/2", &[]);
        let errors = merge(&[one, same_shard, same_item, other_seed, other_count]).unwrap_err();
        assert_eq!(errors.len(), 4, "{errors:?}");
        assert!(
            matches!(&errors[0], MergeError::SameShard { name, first, .. } if name == "again.json" && first == "1.json")
        );
        assert!(matches!(&errors[1], MergeError::SameItem { id, .. } if id == "a"));
        assert!(errors[2..].iter().all(|error| matches!(error, MergeError::Different { .. })));
        assert_eq!(merge(&[]).unwrap_err(), [MergeError::Nothing]);
    }

    #[test]
    fn an_item_twice_in_one_record_is_refused() {
        assert!(merge(&[record("1/1", &[("a", "killed", true), ("a", "killed", true)])]).is_err());
    }
}
