//! What several tests share.
#![allow(dead_code)]

use protocol::Checked;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The protocols of the tree.
pub fn protocols() -> Vec<PathBuf> {
    files(&root().join("protocols"))
}

/// Protocol files of a folder, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "proto"));
    files.sort();
    files
}

pub fn load(path: &Path) -> Checked {
    protocol::load(path).unwrap_or_else(|report| panic!("{report}"))
}
