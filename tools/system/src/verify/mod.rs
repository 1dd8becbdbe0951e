//! The checks that start-up makes on a system image, made here too.
//!
//! Knows: what a whole and consistent image is, rule for rule as kernel/start/table*.c. Start-up stops at the first
//! fault; here all are found.
//! Does not know: what the system means, nor what only the running machine tells (its memory, its clocks).

mod grants;
mod objects;
mod processes;

use crate::layout::*;
use crate::table::crc32::crc32;
use crate::table::record::{self, Record, Section};
use crate::table::{HEADER_SIZE, MAGIC, TABLE_CRC_OFFSET, VERSION};

/// One thing that is wrong with an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("the image is too short for a boot table")]
    Short,
    #[error("this is no system image: the magic number is wrong")]
    Magic,
    #[error("boot table version {0}, but this is for version {VERSION}")]
    Version(u32),
    #[error("the sizes in the header do not fit the image")]
    Size,
    #[error("the boot table is damaged: its checksum is wrong")]
    TableChecksum,
    #[error("the payload is damaged: its checksum is wrong")]
    PayloadChecksum,
    #[error("section {0} lies outside the table or holds more than the kernel can")]
    SectionBounds(usize),
    #[error("{what} {index}: {reason}")]
    Record { what: &'static str, index: usize, reason: &'static str },
}

/// Everything that is wrong with `image`. Damage that makes the rest unreadable ends the search.
pub fn verify(image: &[u8]) -> Result<(), Vec<Damage>> {
    let header = header(image).map_err(|damage| vec![damage])?;
    let mut damages = Vec::new();
    let table = &image[..header.table_size as usize];
    let mut cleared = table.to_vec();
    cleared[TABLE_CRC_OFFSET..TABLE_CRC_OFFSET + 4].fill(0);
    if crc32(&cleared) != header.table_crc32 {
        damages.push(Damage::TableChecksum);
    }
    if crc32(&image[header.payload_offset as usize..]) != header.payload_crc32 {
        damages.push(Damage::PayloadChecksum);
    }
    match Tables::read(table) {
        Ok(tables) => {
            objects::check(&tables, &mut damages);
            processes::check(&tables, &header, &mut damages);
            grants::check(&tables, &mut damages);
        }
        Err(damage) => damages.push(damage),
    }
    if damages.is_empty() {
        Ok(())
    } else {
        Err(damages)
    }
}

fn header(image: &[u8]) -> Result<record::Header, Damage> {
    if image.len() < HEADER_SIZE {
        return Err(Damage::Short);
    }
    let header = record::Header::read(image);
    if header.magic != MAGIC {
        return Err(Damage::Magic);
    }
    if header.version != VERSION {
        return Err(Damage::Version(header.version));
    }
    let whole = header.image_size == image.len() as u64
        && header.image_size % PAGE_SIZE == 0
        && header.payload_offset % PAGE_SIZE == 0
        && header.payload_offset <= header.image_size
        && header.table_size as usize >= HEADER_SIZE
        && u64::from(header.table_size) <= header.payload_offset;
    if whole {
        Ok(header)
    } else {
        Err(Damage::Size)
    }
}

/// The sections of a boot table, each within its bounds.
struct Tables {
    cpus: Vec<record::Cpu>,
    processes: Vec<record::Process>,
    threads: Vec<record::Thread>,
    segments: Vec<record::Segment>,
    grants: Vec<record::Grant>,
    endpoints: Vec<record::Endpoint>,
    notifications: Vec<record::Notification>,
    buffers: Vec<record::Buffer>,
    shares: Vec<record::Share>,
    irqs: Vec<record::Irq>,
    devices: Vec<record::Device>,
    vms: Vec<record::Vm>,
    consoles: Vec<record::Console>,
}

impl Tables {
    fn read(table: &[u8]) -> Result<Self, Damage> {
        Ok(Tables {
            cpus: section(table, 0, NUM_CPU)?,
            processes: section(table, 1, NUM_PROCESS)?,
            threads: section(table, 2, NUM_THREAD - NUM_CPU)?,
            segments: section(table, 3, NUM_SEGMENT)?,
            grants: section(table, 4, NUM_PROCESS * NUM_GRANT)?,
            endpoints: section(table, 5, NUM_ENDPOINT)?,
            notifications: section(table, 6, NUM_NOTIFICATION)?,
            buffers: section(table, 7, NUM_BUFFER)?,
            shares: section(table, 8, NUM_SHARE)?,
            irqs: section(table, 9, NUM_IRQ)?,
            devices: section(table, 10, NUM_DEVICE)?,
            vms: section(table, 11, NUM_VM)?,
            consoles: section(table, 12, NUM_CONSOLE)?,
        })
    }

    fn has_process(&self, id: u32) -> bool {
        (id as usize) < self.processes.len()
    }

    fn has_cpu(&self, id: u32) -> bool {
        (id as usize) < self.cpus.len()
    }
}

fn section<R: Record>(table: &[u8], index: usize, bound: u32) -> Result<Vec<R>, Damage> {
    let damage = Damage::SectionBounds(index);
    let section = Section::read(&table[record::Header::SIZE + index * Section::SIZE..]);
    let (offset, count) = (section.offset as usize, section.count as usize);
    if section.count > bound || offset < HEADER_SIZE || offset % 8 != 0 {
        return Err(damage);
    }
    let bytes = offset.checked_add(count * R::SIZE).and_then(|end| table.get(offset..end)).ok_or(damage)?;
    Ok(bytes.chunks_exact(R::SIZE).map(R::read).collect())
}

/// Collects the damages of one kind of record: for each record, the rules it breaks.
fn rules<R>(
    what: &'static str,
    records: &[R],
    damages: &mut Vec<Damage>,
    rules: impl Fn(usize, &R) -> Vec<(bool, &'static str)>,
) {
    for (index, record) in records.iter().enumerate() {
        let broken = rules(index, record).into_iter().filter(|(holds, _)| !holds);
        damages.extend(broken.map(|(_, reason)| Damage::Record { what, index, reason }));
    }
}

#[cfg(test)]
mod tests;
