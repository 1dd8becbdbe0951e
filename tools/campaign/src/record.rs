//! What one shard of a campaign found.

use crate::shard::Shard;
use diagnostics::input_file::{self, InputError, MOST_DATA};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The result of one shard, as the file that `ashlar report` reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    pub campaign: String,
    pub seed: u64,
    /// Its number from 1 on, and how many shards there are.
    #[schemars(with = "(usize, usize)")]
    pub shard: Shard,
    pub items: Vec<Item>,
}

/// One item: its name, unique in the campaign, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    pub id: String,
    /// A word such as `killed`, `survived`, `passed`, `failed`.
    pub verdict: String,
    /// Whether the verdict is the wanted one; an item that is not good is a finding.
    pub good: bool,
    /// Whatever else the campaign says of the item.
    #[serde(flatten)]
    pub detail: Map<String, Value>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{0}: {1}")]
    File(PathBuf, InputError),
    #[error("{0} is not the record of a shard: {1}")]
    Form(PathBuf, serde_json::Error),
}

impl Record {
    pub fn new(campaign: impl Into<String>, seed: u64, shard: Shard) -> Record {
        Record { campaign: campaign.into(), seed, shard, items: Vec::new() }
    }

    /// Adds an item.
    pub fn push(&mut self, id: impl Into<String>, verdict: impl Into<String>, good: bool) -> &mut Item {
        let item = Item { id: id.into(), verdict: verdict.into(), good, detail: Map::new() };
        self.items.push(item);
        let last = self.items.len() - 1;
        &mut self.items[last]
    }

    pub fn read(path: &Path) -> Result<Record, ReadError> {
        let text = input_file::bytes(path, MOST_DATA).map_err(|error| ReadError::File(path.to_path_buf(), error))?;
        serde_json::from_slice(&text).map_err(|error| ReadError::Form(path.to_path_buf(), error))
    }

    /// Writes the file in one step, so that a shard that is killed leaves no half of one.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        let part = path.with_extension(format!("part-{}", std::process::id()));
        std::fs::write(&part, text)?;
        std::fs::rename(&part, path)
    }
}

#[cfg(test)]
mod tests {
    use super::Record;
    use crate::Shard;

    #[test]
    fn a_record_survives_its_file() {
        let folder = testing::Folder::new("record");
        let path = folder.join("record.json");
        let mut record = Record::new("kills", 7, Shard { index: 2, count: 3 });
        record.push("a", "passed", true).detail.insert("seconds".into(), 3.5.into());
        record.push("b", "failed", false);
        record.write(&path).unwrap();
        assert_eq!(Record::read(&path).unwrap(), record);
        let text = std::fs::read_to_string(&path).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["items"][0]["seconds"], &value["shard"]), (&3.5.into(), &serde_json::json!([2, 3])));
        std::fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert!(Record::read(&path).unwrap_err().to_string().contains("is not the record"));
        std::fs::remove_file(&path).unwrap();
        assert!(Record::read(&path).is_err());
    }
}
