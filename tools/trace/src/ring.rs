//! The rings in the machine's memory, one for each CPU: where they are, and what is new in them.
//!
//! A CPU writes its ring while it is read. So the counts are read before and after: what was counted before is complete, and
//! what the CPU may have begun to overwrite meanwhile is not used.

use crate::event::{Event, What};
use object::{Object, ObjectSymbol};
use std::ops::Range;

/// Of `kernel/arch/x86_64/cpu/trace.c`.
const MEMORY: &str = "trace_memory";
// kernel/abi.h: a page of counts, and then the rings.
const RINGS: u64 = 4096;
const RING_EVENTS: u64 = 65536;
const EVENT_BYTES: u64 = 16;
const COUNT_BYTES: u64 = 64;
/// Where the kernel's image is mapped; see `kernel/arch/x86_64/layout.h`.
const KERNEL_BASE: u64 = 0xffff_ffff_8000_0000;

#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("not an ELF file: {0}")]
    Elf(#[from] object::Error),
    #[error("this kernel records nothing: it has no {0}")]
    NoSymbol(&'static str),
    #[error("{MEMORY} of this kernel is not what this tool reads, for {0} CPUs")]
    Shape(u32),
}

/// Where the rings lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Physical addresses.
    pub ring: Range<u64>,
    pub counts: Range<u64>,
    /// Events that each ring holds.
    pub events: u64,
}

impl Layout {
    /// Of the kernel whose ELF file this is, for a machine with so many CPUs.
    pub fn of(elf: &[u8], cpus: u32) -> Result<Layout, LayoutError> {
        let file = object::File::parse(elf)?;
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(MEMORY)).ok_or(LayoutError::NoSymbol(MEMORY))?;
        let (start, size) = (symbol.address().wrapping_sub(KERNEL_BASE), symbol.size());
        let ring = RING_EVENTS * EVENT_BYTES;
        let rings = size.checked_sub(RINGS).filter(|rings| rings % ring == 0 && u64::from(cpus) * ring <= *rings);
        if rings.is_none() {
            return Err(LayoutError::Shape(cpus));
        }
        let cpus = u64::from(cpus);
        let first = start + RINGS;
        Ok(Layout { ring: first..first + cpus * ring, counts: start..start + cpus * COUNT_BYTES, events: RING_EVENTS })
    }
}

/// What has been read so far.
#[derive(Debug)]
pub struct Reader {
    layout: Layout,
    /// Of each CPU, the number of the next event.
    next: Vec<u64>,
    pub events: Vec<Event>,
    /// Events that were overwritten before they were read, or are of no known kind.
    pub lost: u64,
}

impl Reader {
    pub fn new(layout: Layout) -> Reader {
        let cpus = (layout.counts.end - layout.counts.start) / COUNT_BYTES;
        Reader { layout, next: vec![0; cpus as usize], events: Vec::new(), lost: 0 }
    }

    /// Takes what is new: the counts as they were before the ring was read, the ring, and the counts after that. Shorter
    /// pieces than the layout says have nothing new behind their end.
    pub fn take(&mut self, before: &[u8], ring: &[u8], after: &[u8]) {
        let size = self.layout.events;
        for (cpu, next) in self.next.iter_mut().enumerate() {
            let (Some(complete), Some(now)) = (count(before, cpu), count(after, cpu)) else { continue };
            // Event `now` may be half written: it stands where `now - size` stood.
            let first = (*next).max((now + 1).saturating_sub(size)).min(complete);
            self.lost += first - *next;
            for number in first..complete {
                let at = (cpu as u64 * size + number % size) * EVENT_BYTES;
                match event(ring, at as usize, cpu as u32) {
                    Some(event) => self.events.push(event),
                    None => self.lost += 1,
                }
            }
            *next = complete;
        }
    }
}

fn count(bytes: &[u8], cpu: usize) -> Option<u64> {
    word(bytes, cpu * COUNT_BYTES as usize)
}

fn event(ring: &[u8], at: usize, cpu: u32) -> Option<Event> {
    let (when, numbers) = (word(ring, at)?, word(ring, at + 8)?);
    let what = What::from_numbers(numbers as u32, (numbers >> 32) as u32)?;
    Some(Event { when, cpu, what })
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}
