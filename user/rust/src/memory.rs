//! Pages of memory that other processes may see.
//!
//! Such a page is shown as atomic words: another process may write to it at any moment, whatever it has agreed to.

use crate::abi::{PROT_READ, PROT_WRITE};
use crate::calls;
use crate::error::Result;
use core::ops::Deref;
use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a page.
pub const PAGE_SIZE: usize = 4096;
/// Words of a page.
pub const PAGE_WORDS: usize = PAGE_SIZE / size_of::<u64>();

/// Where this crate maps pages, each at an address of its own. Below the stacks of threads (`user/libc/thread.c`) and above
/// all else that the libraries map.
const AREA: u64 = 0x0000_4000_0000_0000;
static NEXT: AtomicU64 = AtomicU64::new(AREA);

/// An address at which nothing has been mapped before. The area has room for 2^32 pages.
pub(crate) fn fresh_address() -> u64 {
    NEXT.fetch_add(PAGE_SIZE as u64, Ordering::Relaxed)
}

/// A page that can be read and written, of this process or accepted from another. It is unmapped when it is dropped; a
/// process that it was offered to keeps it.
#[derive(Debug)]
pub struct Page {
    address: u64,
}

impl Page {
    /// A fresh, cleared page, paid by this process's quota.
    ///
    /// # Errors
    /// `QUOTA` if the process has no frame left, `NO_MEMORY` if the machine has none.
    pub fn new() -> Result<Page> {
        let address = fresh_address();
        // SAFETY: nothing else is mapped at a fresh address.
        unsafe { calls::sys_mem_map(address, 1, PROT_READ | PROT_WRITE) }?;
        Ok(Page { address })
    }

    /// What is mapped at a fresh address, for reading and writing.
    pub(crate) fn mapped(address: u64) -> Page {
        Page { address }
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }
}

impl Deref for Page {
    type Target = [AtomicU64; PAGE_WORDS];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64; PAGE_WORDS] {
        // SAFETY: the page stays mapped, for reading and writing, as long as `self` lives; all bits are an atomic word, and
        // nothing but atomic words refers to it.
        unsafe { &*(self.address as *const [AtomicU64; PAGE_WORDS]) }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        unmap(self.address);
    }
}

/// A page of another process that can only be read. It is unmapped when it is dropped.
#[derive(Debug)]
pub struct ReadPage {
    address: u64,
}

impl ReadPage {
    /// What is mapped at a fresh address, for reading.
    pub(crate) fn mapped(address: u64) -> ReadPage {
        ReadPage { address }
    }

    /// A word of the page.
    ///
    /// # Panics
    /// If `index` is [`PAGE_WORDS`] or more.
    #[inline(always)]
    pub fn load(&self, index: usize, ordering: Ordering) -> u64 {
        // SAFETY: the page stays mapped for reading as long as `self` lives, and a word is only read through the reference.
        let words = unsafe { &*(self.address as *const [AtomicU64; PAGE_WORDS]) };
        words[index].load(ordering)
    }
}

impl Drop for ReadPage {
    fn drop(&mut self) {
        unmap(self.address);
    }
}

fn unmap(address: u64) {
    // SAFETY: no reference to the page is left. It stays mapped if a device may reach it, which harms nothing: its
    // address is not used again.
    let _ = unsafe { calls::sys_mem_unmap(address, 1) };
}
