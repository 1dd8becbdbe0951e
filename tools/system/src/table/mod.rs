//! The boot table: the resolved system in the layout that start-up reads.
//!
//! The layout is generated from kernel/boot_table.toml (`records`). Every number was found before (`resolve`), and what it
//! means was checked on the description (`check`).

mod record;
pub mod records;

use crate::layout::*;
use crate::resolve::resolved::{Ref, Resolved};
use record::{name, Record};
use records::*;

/// The header with its sections.
pub const HEADER_SIZE: usize = Header::SIZE + NUM_SECTIONS * Section::SIZE;

/// Bytes of the table, header included.
pub fn size(resolved: &Resolved) -> u64 {
    sections(resolved).iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>() + HEADER_SIZE as u64
}

/// The table for a payload with this checksum.
pub fn write(resolved: &Resolved, payload_crc32: u32) -> Vec<u8> {
    let sections = sections(resolved);
    let mut header = Header {
        magic: MAGIC,
        version: VERSION,
        table_size: size(resolved) as u32,
        image_size: resolved.image.size,
        table_crc32: 0,
        payload_crc32,
        payload_offset: resolved.image.payload_offset,
        memory_frames: resolved.memory_frames,
        name: name(&resolved.system),
    };
    let mut body = Vec::new();
    let mut directory = Vec::new();
    for (count, bytes) in &sections {
        let offset = (HEADER_SIZE + body.len()) as u32;
        Section { offset, count: *count }.write(&mut directory);
        body.extend_from_slice(bytes);
    }
    let whole = |header: &Header| {
        let mut table = Vec::new();
        header.write(&mut table);
        table.extend_from_slice(&directory);
        table.extend_from_slice(&body);
        table
    };
    header.table_crc32 = crc32fast::hash(&whole(&header));
    whole(&header)
}

/// Count and bytes of each section, in the order of `enum boot_section_index`.
fn sections(resolved: &Resolved) -> [(u32, Vec<u8>); NUM_SECTIONS] {
    let id = |reference: &Option<Ref>| reference.as_ref().map_or(NONE, |reference| reference.id);
    let processes = &resolved.processes;
    let mut firsts = Firsts::default();
    [
        records((0..resolved.cpus).map(|_| records::Cpu { reserved: 0, flags: resolved.mitigations })),
        records(processes.iter().map(|process| {
            let (first_thread, first_segment, first_grant) = firsts.after(process);
            records::Process {
                name: name(&process.name),
                parent: id(&process.parent),
                quota: process.quota_frames,
                first_thread,
                num_threads: process.threads.len() as u32,
                first_segment,
                num_segments: process.segments.len() as u32,
                first_grant,
                num_grants: process.grants.len() as u32,
                fault_endpoint: id(&process.fault_endpoint),
                flags: if process.starts_at_boot { PROCESS_AUTOSTART } else { 0 },
                entry: process.entry,
                stack_top: process.stack_top,
                argument: process.argument,
            }
        })),
        records(processes.iter().flat_map(|process| {
            process.threads.iter().map(|thread| records::Thread {
                process: process.id,
                cpu: thread.cpu,
                priority: thread.priority,
                id: thread.id,
                period_ns: thread.period_ns,
                budget_ns: thread.budget_ns,
            })
        })),
        records(processes.iter().flat_map(|process| &process.segments).map(|segment| records::Segment {
            vaddr: segment.vaddr,
            memory_size: segment.memory_size,
            image_offset: segment.image_offset,
            image_size: segment.image_size,
            prot: segment.prot,
            kind: match (segment.copied, segment.trace) {
                (true, _) => SEGMENT_COPY,
                (false, true) => SEGMENT_TRACE,
                (false, false) => SEGMENT_IMAGE,
            },
        })),
        records(processes.iter().flat_map(|process| &process.grants).map(|grant| records::Grant {
            slot: grant.slot,
            kind: grant.kind,
            object: grant.object,
            rights: grant.rights,
            badge: grant.badge,
        })),
        records(resolved.endpoints.iter().map(|endpoint| records::Endpoint {
            owner: endpoint.receiver.id,
            flags: if endpoint.fifo { ENDPOINT_FIFO } else { 0 },
        })),
        records(
            resolved.notifications.iter().map(|object| records::Notification { owner: object.waiter.id, reserved: 0 }),
        ),
        records(resolved.buffers.iter().map(|buffer| records::Buffer { capacity: buffer.capacity, reserved: 0 })),
        records(resolved.shares.iter().map(|share| records::Share { from: share.from.id, to: share.to.id })),
        records(resolved.interrupts.iter().map(|interrupt| records::Irq {
            gsi: interrupt.line,
            flags: if interrupt.level { IRQ_LEVEL } else { 0 } | if interrupt.active_low { IRQ_ACTIVE_LOW } else { 0 },
            notification: interrupt.notification.id,
            cpu: interrupt.cpu,
            function: interrupt.function.unwrap_or(NONE),
            reserved: 0,
        })),
        records(resolved.devices.iter().map(|device| records::Device {
            base: device.base,
            size: device.size,
            kind: if device.ports { GRANT_PORT } else { GRANT_MMIO },
            owner: device.owner.id,
            function: device.function.unwrap_or(NONE),
            reserved: 0,
        })),
        records(resolved.vms.iter().map(|vm| records::Vm { process: vm.monitor.id, reserved: 0 })),
        records(resolved.consoles.iter().map(|console| records::Console { name: name(&console.name) })),
    ]
}

fn records<R: Record>(all: impl Iterator<Item = R>) -> (u32, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut count = 0;
    for record in all {
        record.write(&mut bytes);
        count += 1;
    }
    // Every section begins at a multiple of 8 bytes, as its records want it.
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    (count, bytes)
}

/// Indices of the next process's first thread, segment and grant.
#[derive(Default)]
struct Firsts {
    thread: u32,
    segment: u32,
    grant: u32,
}

impl Firsts {
    fn after(&mut self, process: &crate::resolve::resolved::Process) -> (u32, u32, u32) {
        let firsts = (self.thread, self.segment, self.grant);
        self.thread += process.threads.len() as u32;
        self.segment += process.segments.len() as u32;
        self.grant += process.grants.len() as u32;
        firsts
    }
}

#[cfg(test)]
mod damaged;
#[cfg(test)]
mod tests;
