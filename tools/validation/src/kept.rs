//! Results of earlier runs, by the contents of everything that they depend on: the image, the terms, and this program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::program::Program;
use crate::report::FunctionResult;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Row {
    result: FunctionResult,
    covered: Vec<u64>,
    /// Of a validation that was not finished: the questions that it had.
    limit: Option<u64>,
}

#[derive(Debug, Default)]
pub struct Kept {
    file: Option<PathBuf>,
    rows: BTreeMap<String, Row>,
}

/// What results depend on, as a number.
fn digest(image: &[u8], program: &Program) -> Option<String> {
    let this = std::fs::read(std::env::current_exe().ok()?).ok()?;
    let mut hash = Sha256::new();
    hash.update(Sha256::digest(&this));
    hash.update(Sha256::digest(image));
    hash.update(format!("{:?}{:?}{:?}", program.functions, program.objects, program.cells));
    let mut prototypes: Vec<_> = program.prototypes.iter().map(|one| format!("{one:?}")).collect();
    prototypes.sort();
    hash.update(prototypes.concat());
    hash.update(format!("{:?}", program.certified));
    Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Kept {
    /// Without a folder, or if it cannot be read, nothing is kept.
    pub fn open(folder: Option<&Path>, image: &[u8], program: &Program) -> Kept {
        let Some(folder) = folder else { return Kept::default() };
        let Some(name) = digest(image, program) else { return Kept::default() };
        let file = folder.join(format!("{}.json", &name[..32]));
        let rows = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Kept { file: Some(file), rows }
    }

    pub fn get(&self, name: &str, limit: u64) -> Option<FunctionResult> {
        let row = self.rows.get(name).filter(|row| row.limit.is_none_or(|had| had >= limit))?;
        Some(FunctionResult { covered_addresses: row.covered.clone(), ..row.result.clone() })
    }

    /// `limit`: the questions that were not enough.
    pub fn put(&mut self, result: &FunctionResult, limit: Option<u64>) {
        let Some(file) = &self.file else { return };
        let row = Row { result: result.clone(), covered: result.covered_addresses.clone(), limit };
        self.rows.insert(result.name.clone(), row);
        // A run that cannot keep its results is only slower next time.
        if let (Some(folder), Ok(text)) = (file.parent(), serde_json::to_vec(&self.rows)) {
            let _ = std::fs::create_dir_all(folder);
            let _ = std::fs::write(file, text);
        }
    }
}
