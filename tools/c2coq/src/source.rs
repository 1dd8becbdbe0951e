//! Source files and positions in them: from an offset to a line and a column.
//!
//! A *trusted* file describes the hardware; it is read for its declarations only and never checked.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u32);

/// A range of bytes of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The smallest range that covers both; `self` alone if they stand in different files.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

#[derive(Debug)]
pub struct SourceFile {
    pub path: PathBuf,
    pub text: Arc<str>,
    pub trusted: bool,
    line_starts: Vec<u32>,
}

/// Every file of a run. Files can be put in memory with [`Sources::add`]; others are read from disk once.
#[derive(Debug, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
    by_path: HashMap<PathBuf, FileId>,
}

impl Sources {
    /// Adds a file that stands in memory; a later [`Sources::load`] of the same path finds it.
    pub fn add(&mut self, path: &Path, text: &str) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1));
        self.files.push(SourceFile {
            path: path.to_path_buf(),
            text: Arc::from(text),
            trusted: false,
            line_starts: starts.collect(),
        });
        self.by_path.insert(path.to_path_buf(), id);
        id
    }

    /// Reads a file unless it was read before. Bytes that are not UTF-8 become U+FFFD.
    pub fn load(&mut self, path: &Path) -> io::Result<FileId> {
        if let Some(id) = self.by_path.get(path) {
            return Ok(*id);
        }
        let canonical = path.canonicalize()?;
        if let Some(id) = self.by_path.get(&canonical).copied() {
            self.by_path.insert(path.to_path_buf(), id);
            return Ok(id);
        }
        let bytes = std::fs::read(path)?;
        if u32::try_from(bytes.len()).is_err() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "larger than 4 GiB"));
        }
        let id = self.add(path, &String::from_utf8_lossy(&bytes));
        self.by_path.insert(canonical, id);
        Ok(id)
    }

    /// True if `path` is in memory or on disk.
    pub fn exists(&self, path: &Path) -> bool {
        self.by_path.contains_key(path) || path.is_file()
    }

    pub fn get(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    pub fn set_trusted(&mut self, id: FileId) {
        self.files[id.0 as usize].trusted = true;
    }

    pub fn trusted(&self, id: FileId) -> bool {
        self.get(id).trusted
    }

    /// Line and column of an offset, both from 1; columns count bytes.
    pub fn position(&self, file: FileId, offset: u32) -> (u32, u32) {
        let starts = &self.get(file).line_starts;
        let line = starts.partition_point(|start| *start <= offset).max(1);
        (line as u32, offset - starts[line - 1] + 1)
    }

    /// True if the range begins in the first column of a line.
    pub fn at_line_start(&self, span: Span) -> bool {
        self.position(span.file, span.start).1 == 1
    }
}
