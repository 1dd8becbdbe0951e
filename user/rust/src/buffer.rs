//! Bounded buffers: the kernel keeps words between processes that insert and processes that remove.

use crate::calls;
use crate::env;
use crate::error::Result;

/// The right to insert: `writers` of the description.
#[derive(Debug)]
pub struct Inserter {
    slot: u32,
}

impl Inserter {
    /// That of the buffer NAME.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description gives this process no buffer of this name.
    pub fn find(name: &str) -> Result<Inserter> {
        Ok(Inserter { slot: env::slot("buffer.", name)? })
    }

    /// Appends a word, waiting while the buffer is full.
    ///
    /// # Errors
    /// `BAD_SLOT` without the right to insert, `CANCELLED` if the process is being ended.
    pub fn insert(&self, word: u64) -> Result<()> {
        // SAFETY: the call touches no memory.
        unsafe { calls::sys_buffer_insert(self.slot, word) }
    }
}

/// The right to remove: `readers` of the description.
#[derive(Debug)]
pub struct Remover {
    slot: u32,
}

impl Remover {
    /// That of the buffer NAME.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description gives this process no buffer of this name.
    pub fn find(name: &str) -> Result<Remover> {
        Ok(Remover { slot: env::slot("buffer.", name)? })
    }

    /// Takes the oldest word, waiting while the buffer is empty.
    ///
    /// # Errors
    /// `BAD_SLOT` without the right to remove, `CANCELLED` if the process is being ended.
    pub fn remove(&self) -> Result<u64> {
        // SAFETY: the call touches no memory.
        unsafe { calls::sys_buffer_remove(self.slot) }
    }
}
