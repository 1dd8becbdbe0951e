//! Everything but processes, as kernel/start/table_objects.c checks it.

use super::{rules, Damage, Tables};
use crate::layout::*;
use crate::table::record::{Device, Irq};
use crate::table::{ENDPOINT_FIFO, IRQ_ACTIVE_LOW, IRQ_LEVEL};

const PORT_END: u64 = 0x1_0000;
const FOUR_GIB: u64 = 4 * GIB;
const NUM_FUNCTION: u32 = 0x1_0000;

pub(super) fn check(tables: &Tables, damages: &mut Vec<Damage>) {
    rules("endpoint", &tables.endpoints, damages, |_, endpoint| {
        vec![
            (tables.has_process(endpoint.owner), "its owner is no process"),
            (endpoint.flags & !ENDPOINT_FIFO == 0, "unknown flags"),
        ]
    });
    rules("notification", &tables.notifications, damages, |_, notification| {
        vec![(tables.has_process(notification.owner), "its owner is no process")]
    });
    rules("buffer", &tables.buffers, damages, |_, buffer| {
        vec![((1..=BUFFER_CAPACITY).contains(&buffer.capacity), "its capacity is out of range")]
    });
    rules("share", &tables.shares, damages, |_, share| {
        let ends = tables.has_process(share.from) && tables.has_process(share.to);
        vec![(ends && share.from != share.to, "it does not join two processes")]
    });
    rules("interrupt", &tables.irqs, damages, |index, irq| interrupt(tables, index, irq));
    rules("device", &tables.devices, damages, |index, device| {
        let apart = tables.devices[..index].iter().all(|other| other.kind != device.kind || !overlap(device, other));
        let same = |other: &&Device| device.function != NONE && other.function == device.function;
        let alone = tables.devices[..index].iter().filter(same).all(|other| other.owner == device.owner);
        vec![
            (tables.has_process(device.owner), "its owner is no process"),
            (range_is_good(device), "its range is empty or out of bounds"),
            (apart, "it overlaps an earlier device"),
            (device.function == NONE || device.function < NUM_FUNCTION, "its PCI function does not exist"),
            (alone, "its PCI function belongs to another process"),
        ]
    });
    rules("virtual machine", &tables.vms, damages, |index, vm| {
        let alone = tables.vms[..index].iter().all(|other| other.process != vm.process);
        vec![(tables.has_process(vm.process), "its monitor is no process"), (alone, "its monitor has another machine")]
    });
    rules("console", &tables.consoles, damages, |_, console| vec![(console.name.contains(&0), "its name has no end")]);
    rules("system", &[()], damages, |_, _| {
        let something = !tables.cpus.is_empty() && !tables.consoles.is_empty();
        vec![(something, "it names no CPU or no console")]
    });
}

fn interrupt(tables: &Tables, index: usize, irq: &Irq) -> Vec<(bool, &'static str)> {
    let told = irq.notification == NONE || (irq.notification as usize) < tables.notifications.len();
    let once = tables.irqs[..index].iter().all(|other| other.gsi != irq.gsi);
    vec![
        (irq.gsi < NUM_IRQ_LINE, "the line does not exist"),
        (irq.flags & !(IRQ_LEVEL | IRQ_ACTIVE_LOW) == 0, "unknown flags"),
        (told, "it signals no notification"),
        (tables.has_cpu(irq.cpu), "its CPU does not exist"),
        (once, "the line is given twice"),
    ]
}

fn range_is_good(device: &Device) -> bool {
    let end = device.base.checked_add(device.size).filter(|_| device.size > 0);
    match device.kind {
        GRANT_PORT => end.is_some_and(|end| end <= PORT_END),
        GRANT_MMIO => {
            let pages = device.base % PAGE_SIZE == 0 && device.size % PAGE_SIZE == 0;
            pages && end.is_some_and(|end| end <= FOUR_GIB)
        }
        _ => false,
    }
}

fn overlap(a: &Device, b: &Device) -> bool {
    a.base < b.base.saturating_add(b.size) && b.base < a.base.saturating_add(a.size)
}
