//! Verdicts on mutants, kept between runs in `build/mutants.jsonl`, so that an interrupted campaign continues.
//!
//! A verdict's key is a hash of everything that decides it; after a change of the proofs the old lines are not found.

use crate::coq::compile::make_folder;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What Coq says about proofs with a mutant in the place of the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The first place that it refuses.
    Breaks(String),
    Holds,
    /// The terms are those of the real code: nothing to ask.
    SameTerms,
    /// The mutated code is none.
    NoCode(String),
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    verdict: Verdict,
}

pub struct Verdicts {
    path: PathBuf,
    known: Mutex<BTreeMap<String, Verdict>>,
}

/// Changes when verdicts are reached in another way.
const METHOD: &str = "1";

/// The key of what was decided by these texts.
pub fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in [METHOD].iter().chain(parts) {
        hash.update(format!("{} {part}\n", part.len()));
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Verdicts {
    /// Reads what is known; a line that was cut off does not count.
    pub fn read(path: &Path) -> Verdicts {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let known = lines.map(|line| (line.key, line.verdict)).collect();
        Verdicts { path: path.to_path_buf(), known: Mutex::new(known) }
    }

    pub fn known(&self, key: &str) -> Option<Verdict> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub fn remember(&self, key: &str, verdict: &Verdict) -> Result<(), Error> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key.to_string(), verdict.clone());
        make_folder(self.path.parent().unwrap_or(Path::new(".")))?;
        let line = Line { key: key.to_string(), verdict: verdict.clone() };
        let text = serde_json::to_string(&line).unwrap_or_default();
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            // A line that was cut off must not take this one with it.
            .and_then(|mut file| file.write_all(format!("\n{text}\n").as_bytes()))
            .map_err(|error| Error::unwritable(&self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::{key, Verdict, Verdicts};

    #[test]
    fn verdicts_stay_also_after_a_cut() {
        let folder = testing::Folder::new("results");
        let path = folder.join("results.jsonl");
        let (a, b) = (key(&["a", "bc"]), key(&["ab", "c"]));
        assert_ne!(a, b);
        let results = Verdicts::read(&path);
        assert_eq!(results.known(&a), None);
        results.remember(&a, &Verdict::Breaks("P.v:3".into())).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"key\": \"x\", \"ver")).unwrap();
        Verdicts::read(&path).remember(&b, &Verdict::Holds).unwrap();
        let again = Verdicts::read(&path);
        assert_eq!(again.known(&a), Some(Verdict::Breaks("P.v:3".into())));
        assert_eq!(again.known(&b), Some(Verdict::Holds));
    }
}
