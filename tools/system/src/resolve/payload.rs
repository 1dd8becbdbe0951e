//! The payload: what the image holds beside the boot table, each thing once.

use super::resolved::Chunk;
use crate::layout::PAGE_SIZE;
use std::collections::HashMap;

/// Page-aligned parts, numbered by their offset in the payload.
#[derive(Debug, Clone, Default)]
pub struct Payload {
    pub bytes: Vec<u8>,
    pub chunks: Vec<Chunk>,
    places: HashMap<String, u64>,
}

impl Payload {
    /// The payload offset of the part called `what`; `contents` is added the first time.
    pub fn place(&mut self, what: &str, contents: &[u8]) -> u64 {
        if let Some(offset) = self.places.get(what) {
            return *offset;
        }
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(contents);
        let whole = (self.bytes.len() as u64).next_multiple_of(PAGE_SIZE);
        self.bytes.resize(whole as usize, 0);
        self.chunks.push(Chunk { what: what.to_string(), offset, size: contents.len() as u64 });
        self.places.insert(what.to_string(), offset);
        offset
    }
}
