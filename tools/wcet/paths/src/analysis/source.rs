//! Lines of source files, as far as they still stand where the executable says.

use std::collections::HashMap;

/// A file longer than this is not shown.
const LARGEST: u64 = 8 << 20;

/// Source files by path, read when first asked for.
#[derive(Debug, Default)]
pub struct Sources {
    files: HashMap<String, Vec<String>>,
}

impl Sources {
    /// Line `number`, from 1, of the file at `path`.
    pub fn line(&mut self, path: &str, number: u32) -> Option<String> {
        let lines = self.files.entry(path.to_string()).or_insert_with(|| read(path));
        lines.get(usize::try_from(number).ok()?.checked_sub(1)?).cloned()
    }
}

/// Lines of a regular file; none if it is not there, or is something else.
fn read(path: &str) -> Vec<String> {
    let regular = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
    let bytes = if regular { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&bytes).lines().map(str::to_string).collect()
}
