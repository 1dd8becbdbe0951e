//! The machine's memory, as the emulator's monitor writes it into files.

use emulator::monitor;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the kernel's image is mapped; see `kernel/arch/x86_64/layout.h`.
pub const KERNEL_BASE: u64 = 0xffff_ffff_8000_0000;

/// Of one machine. Pieces are copied while it runs: words of a piece are of about the same time, not of the same.
#[derive(Debug)]
pub struct Memory {
    socket: PathBuf,
    folder: PathBuf,
    has_answered: AtomicBool,
}

impl Memory {
    /// The monitor answers at `socket`; pieces pass through files in `folder`.
    pub fn new(socket: PathBuf, folder: PathBuf) -> Memory {
        Memory { socket, folder, has_answered: AtomicBool::new(false) }
    }

    /// The bytes at these physical addresses.
    pub fn read(&self, addresses: &Range<u64>) -> Result<Vec<u8>, String> {
        let path = self.folder.join("memory");
        let size = addresses.end - addresses.start;
        let command = format!("pmemsave {:#x} {size} \"{}\"", addresses.start, path.display());
        monitor::obey(&self.socket, &command)?;
        self.has_answered.store(true, Ordering::Relaxed);
        fs::read(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
    }

    /// Whether the monitor has answered yet.
    pub fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    /// The word at this physical address.
    pub fn word(&self, address: u64) -> Result<u64, String> {
        let bytes = self.read(&(address..address + 8))?;
        Ok(bytes.try_into().map(u64::from_le_bytes).unwrap_or_default())
    }

    /// Where the page map with this root, a physical address, puts a virtual address; none if nothing is there. Entries are those
    /// of x86-64: four levels, bit 0 present, bit 7 a page at a higher level.
    pub fn translate(&self, root: u64, address: u64) -> Result<Option<u64>, String> {
        let mut table = root;
        for level in (0..4).rev() {
            let shift = 12 + 9 * level;
            let entry = self.word(table + (address >> shift & 0x1ff) * 8)?;
            let place = entry & 0x000f_ffff_ffff_f000;
            match (entry & 1, level, entry >> 7 & 1) {
                (0, _, _) => return Ok(None),
                (_, 0, _) => return Ok(Some(place | (address & 0xfff))),
                (_, 1 | 2, 1) => {
                    let offset = (1 << shift) - 1;
                    return Ok(Some(place & !offset | address & offset));
                }
                _ => table = place,
            }
        }
        Ok(None)
    }
}
