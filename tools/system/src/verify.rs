//! The checks that start-up makes on a system image, made here too.
//!
//! Knows: what a whole and consistent image is. Does not know: what the system means.

use crate::layout::*;
use crate::table::crc32::crc32;
use crate::table::record::{self, Record, Section};
use crate::table::{HEADER_SIZE, MAGIC, NUM_SECTIONS, SEGMENT_COPY, SEGMENT_IMAGE, TABLE_CRC_OFFSET, VERSION};

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
    #[error("{what} {index} names something that is not there, or has a value out of range")]
    Record { what: &'static str, index: usize },
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
        Ok(tables) => tables.check(&header, &mut damages),
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

struct Tables {
    cpus: Vec<record::Cpu>,
    processes: Vec<record::Process>,
    threads: Vec<record::Thread>,
    segments: Vec<record::Segment>,
    grants: Vec<record::Grant>,
    endpoints: Vec<record::Endpoint>,
    notifications: Vec<record::Notification>,
    bbqs: Vec<record::Bbq>,
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
            bbqs: section(table, 7, NUM_BBQ)?,
            shares: section(table, 8, NUM_SHARE)?,
            irqs: section(table, 9, NUM_IRQ)?,
            devices: section(table, 10, NUM_DEVICE)?,
            vms: section(table, 11, NUM_VM)?,
            consoles: section(table, 12, NUM_CONSOLE)?,
        })
    }

    fn check(&self, header: &record::Header, damages: &mut Vec<Damage>) {
        let process = |id: u32| (id as usize) < self.processes.len();
        let notification = |id: u32| id == NONE || (id as usize) < self.notifications.len();
        let cpu = |id: u32| (id as usize) < self.cpus.len();
        let mut all = |what, records: Vec<bool>| {
            let bad = records.iter().enumerate().filter(|(_, good)| !**good);
            damages.extend(bad.map(|(index, _)| Damage::Record { what, index }));
        };
        all("process", (0..self.processes.len()).map(|index| self.process_is_good(index)).collect());
        all(
            "thread",
            (0..)
                .zip(&self.threads)
                .map(|(index, thread): (u32, _)| {
                    process(thread.process)
                        && cpu(thread.cpu)
                        && thread.priority < NUM_PRIORITY
                        && thread.id == NUM_CPU + index
                })
                .collect(),
        );
        all("segment", self.segments.iter().map(|segment| segment_is_good(segment, header)).collect());
        all("grant", self.grants.iter().map(|grant| self.grant_is_good(grant)).collect());
        all("endpoint", self.endpoints.iter().map(|endpoint| process(endpoint.owner)).collect());
        all("notification", self.notifications.iter().map(|object| process(object.owner)).collect());
        all("buffer", self.bbqs.iter().map(|bbq| (1..=BBQ_CAPACITY).contains(&bbq.capacity)).collect());
        all("share", self.shares.iter().map(|share| process(share.from) && process(share.to)).collect());
        all("interrupt", self.irqs.iter().map(|irq| notification(irq.notification) && cpu(irq.cpu)).collect());
        all("device", self.devices.iter().map(|device| process(device.owner) && device_is_good(device)).collect());
        all("virtual machine", self.vms.iter().map(|vm| process(vm.process)).collect());
        all("console", self.consoles.iter().map(|console| console.name[31] == 0).collect());
        all("set of CPUs", vec![!self.cpus.is_empty()]);
        all("set of consoles", vec![!self.consoles.is_empty()]);
    }

    fn process_is_good(&self, index: usize) -> bool {
        let process = &self.processes[index];
        let range =
            |first: u32, count: u32, length: usize| first.checked_add(count).is_some_and(|end| end as usize <= length);
        // Parents need not come first, but following them must end.
        let mut ancestor = process.parent;
        for _ in 0..self.processes.len() {
            match self.processes.get(ancestor as usize) {
                Some(parent) => ancestor = parent.parent,
                None => break,
            }
        }
        ancestor == NONE
            && process.name[31] == 0
            && process.num_threads > 0
            && range(process.first_thread, process.num_threads, self.threads.len())
            && range(process.first_segment, process.num_segments, self.segments.len())
            && range(process.first_grant, process.num_grants, self.grants.len())
            && (process.fault_endpoint == NONE || (process.fault_endpoint as usize) < self.endpoints.len())
            && process.budget_ns <= process.period_ns
    }

    fn grant_is_good(&self, grant: &record::Grant) -> bool {
        let bound = match grant.kind {
            GRANT_ENDPOINT => self.endpoints.len(),
            GRANT_NOTIFICATION => self.notifications.len(),
            GRANT_BBQ => self.bbqs.len(),
            GRANT_SHARE => self.shares.len(),
            GRANT_PROCESS => self.processes.len(),
            GRANT_IRQ => NUM_IRQ as usize,
            GRANT_MMIO | GRANT_PORT => self.devices.len(),
            GRANT_VM => self.vms.len(),
            GRANT_CONSOLE => self.consoles.len(),
            GRANT_DMA | GRANT_POWER => 1,
            _ => 0,
        };
        let tells = matches!(grant.kind, GRANT_PROCESS | GRANT_IRQ | GRANT_CONSOLE);
        let told = grant.badge == u64::from(NONE) || grant.badge < self.notifications.len() as u64;
        grant.slot < NUM_GRANT && (grant.object as usize) < bound && (!tells || told)
    }
}

fn section<R: Record>(table: &[u8], index: usize, bound: u32) -> Result<Vec<R>, Damage> {
    let damage = Damage::SectionBounds(index);
    let at = record::Header::SIZE + index * Section::SIZE;
    debug_assert!(index < NUM_SECTIONS);
    let section = Section::read(&table[at..]);
    let (offset, count) = (section.offset as usize, section.count as usize);
    if section.count > bound || offset < HEADER_SIZE || offset % 8 != 0 {
        return Err(damage);
    }
    let bytes = offset.checked_add(count * R::SIZE).and_then(|end| table.get(offset..end)).ok_or(damage)?;
    Ok(bytes.chunks_exact(R::SIZE).map(R::read).collect())
}

fn segment_is_good(segment: &record::Segment, header: &record::Header) -> bool {
    let pages = |value: u64| value % PAGE_SIZE == 0;
    let end = segment.vaddr.checked_add(segment.memory_size);
    let image_end = segment.image_offset.checked_add(segment.image_size);
    let writable = segment.prot & PROT_WRITE != 0;
    let executable = segment.prot & PROT_EXEC != 0;
    pages(segment.vaddr)
        && pages(segment.memory_size)
        && pages(segment.image_offset)
        && segment.vaddr >= USER_BASE
        && end.is_some_and(|end| end <= USER_END)
        && segment.image_offset >= header.payload_offset
        && image_end.is_some_and(|end| end <= header.image_size)
        && segment.image_size <= segment.memory_size
        && segment.prot & !(PROT_READ | PROT_WRITE | PROT_EXEC) == 0
        && !(writable && executable)
        && match segment.kind {
            SEGMENT_COPY => true,
            SEGMENT_IMAGE => !writable && segment.image_size.next_multiple_of(PAGE_SIZE) == segment.memory_size,
            _ => false,
        }
}

fn device_is_good(device: &record::Device) -> bool {
    let end = device.base.checked_add(device.size);
    match device.kind {
        GRANT_PORT => end.is_some_and(|end| end <= 0x1_0000),
        GRANT_MMIO => end.is_some() && device.base % PAGE_SIZE == 0 && device.size % PAGE_SIZE == 0,
        _ => false,
    }
}
