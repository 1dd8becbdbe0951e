//! Each rule is broken once in a good table, by a change of one field with the checksum made right again.

use super::*;
use crate::table::record;

/// Offset of a field in the record of this name.
fn offset(record: &str, field: &str) -> usize {
    let layouts = record::layouts();
    let (_, _, fields) = layouts.iter().find(|(name, _, _)| *name == record).unwrap();
    fields.iter().find(|(name, _)| *name == field).unwrap().1
}

/// A table of two processes with one object of each kind, and one page of payload.
fn image() -> Vec<u8> {
    let resolved = good::resolved();
    let payload = vec![7; 4096];
    let mut image = crate::table::write(&resolved, crc32(&payload));
    image.resize(resolved.image.payload_offset as usize, 0);
    image.extend(payload);
    image
}

fn field_at(image: &[u8], section: usize, index: usize, record: &str, field: &str) -> usize {
    let directory = Section::read(&image[record::Header::SIZE + section * Section::SIZE..]);
    let size = record::layouts().iter().find(|(name, _, _)| *name == record).unwrap().1;
    directory.offset as usize + index * size + offset(record, field)
}

fn with_checksum(mut image: Vec<u8>) -> Vec<u8> {
    let header = record::Header::read(&image);
    image[TABLE_CRC_OFFSET..TABLE_CRC_OFFSET + 4].fill(0);
    let crc = crc32(&image[..header.table_size as usize]);
    image[TABLE_CRC_OFFSET..TABLE_CRC_OFFSET + 4].copy_from_slice(&crc.to_le_bytes());
    image
}

#[test]
fn a_good_table_passes() {
    assert_eq!(verify(&image()), Ok(()));
}

#[test]
fn every_rule_of_the_records_can_fail() {
    let big = u32::MAX - 1;
    // Section, record, field, index, value of its low 32 bits.
    let breaks: &[(usize, &str, &str, usize, u32)] = &[
        (1, "boot_process", "parent", 1, 1),
        (1, "boot_process", "parent", 0, big),
        (1, "boot_process", "quota", 0, 1),
        (1, "boot_process", "num_threads", 0, 0),
        (1, "boot_process", "first_thread", 0, big),
        (1, "boot_process", "num_segments", 0, 99),
        (1, "boot_process", "first_grant", 1, 99),
        (1, "boot_process", "fault_endpoint", 0, 9),
        (1, "boot_process", "flags", 0, 0),
        (1, "boot_process", "flags", 0, 8),
        (1, "boot_process", "period_ns", 0, 1),
        (2, "boot_thread", "process", 1, 0),
        (2, "boot_thread", "cpu", 0, 1),
        (2, "boot_thread", "priority", 0, 255),
        (2, "boot_thread", "id", 0, 0),
        (3, "boot_segment", "vaddr", 0, 0x1234),
        (3, "boot_segment", "vaddr", 0, 0),
        (3, "boot_segment", "memory_size", 0, 0),
        (3, "boot_segment", "image_offset", 0, 0x1000_0000),
        (3, "boot_segment", "image_size", 0, 0x2000),
        (3, "boot_segment", "prot", 0, 6),
        (3, "boot_segment", "prot", 0, 0),
        (3, "boot_segment", "kind", 0, 2),
        (3, "boot_segment", "vaddr", 1, 0x40_0000),
        (4, "boot_grant", "slot", 1, 0),
        (4, "boot_grant", "slot", 0, 64),
        (4, "boot_grant", "kind", 0, 13),
        (4, "boot_grant", "rights", 0, 0),
        (4, "boot_grant", "rights", 0, 4),
        (4, "boot_grant", "object", 0, 9),
        (5, "boot_endpoint", "owner", 0, 1),
        (5, "boot_endpoint", "flags", 0, 2),
        (6, "boot_notification", "owner", 0, 1),
        (7, "boot_buffer", "capacity", 0, 0),
        (7, "boot_buffer", "capacity", 0, 65),
        (8, "boot_share", "to", 0, 0),
        (8, "boot_share", "from", 0, 9),
        (9, "boot_irq", "gsi", 0, 24),
        (9, "boot_irq", "flags", 0, 4),
        (9, "boot_irq", "notification", 0, 9),
        (9, "boot_irq", "cpu", 0, 9),
        (10, "boot_device", "base", 0, 0x1_0000),
        (10, "boot_device", "size", 0, 0),
        (10, "boot_device", "kind", 0, 1),
        (10, "boot_device", "owner", 0, 1),
        (10, "boot_device", "function", 0, 0x1_0000),
        (11, "boot_vm", "process", 0, 1),
    ];
    let good = image();
    for &(section, record, field, index, value) in breaks {
        let mut bad = good.clone();
        let at = field_at(&bad, section, index, record, field);
        bad[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let damages = verify(&with_checksum(bad)).expect_err(&format!("{record}[{index}].{field} = {value}"));
        let told = damages.iter().all(|damage| matches!(damage, Damage::Record { .. }));
        assert!(told, "{record}[{index}].{field} = {value}: {damages:?}");
    }
    // The two rules that need a wider change.
    let mut bad = good.clone();
    let at = field_at(&bad, 12, 0, "boot_console", "name");
    bad[at..at + 32].fill(b'x');
    assert!(verify(&with_checksum(bad)).is_err());
    let mut bad = good;
    bad[record::Header::SIZE + 4..record::Header::SIZE + 8].fill(0);
    assert!(verify(&with_checksum(bad)).is_err(), "no CPU");
}

/// The good table as data.
mod good {
    use crate::layout::*;
    use crate::resolve::resolved::*;

    fn reference(id: u32) -> Ref {
        Ref { id, name: format!("p{id}") }
    }

    fn grant(slot: u32, kind: u32, rights: u32, object: u32) -> Grant {
        Grant { slot, name: String::new(), kind, object, rights, badge: 0 }
    }

    fn process(id: u32, parent: Option<u32>, grants: Vec<Grant>) -> Process {
        let segment = |vaddr, prot, copied| Segment {
            what: String::new(),
            vaddr,
            memory_size: 4096,
            image_offset: 4096,
            image_size: if copied { 0 } else { 4096 },
            prot,
            copied,
        };
        Process {
            id,
            name: format!("p{id}"),
            program: None,
            parent: parent.map(reference),
            starts_at_boot: true,
            quota_frames: 20 - 10 * id,
            need_frames: 1,
            entry: 0x40_0000,
            stack_top: STACK_TOP,
            argument: 0,
            period_ns: 0,
            budget_ns: 0,
            fault_endpoint: None,
            threads: vec![Thread { id: NUM_CPU + id, name: "main".into(), cpu: 0, priority: 1 }],
            segments: vec![segment(0x40_0000, PROT_READ, false), segment(0x50_0000, PROT_READ | PROT_WRITE, true)],
            grants,
            environment: Vec::new(),
        }
    }

    pub fn resolved() -> Resolved {
        let all = vec![
            grant(0, GRANT_ENDPOINT, RIGHT_RECV, 0),
            grant(1, GRANT_NOTIFICATION, RIGHT_WAIT, 0),
            grant(2, GRANT_BUFFER, RIGHT_INSERT, 0),
            grant(3, GRANT_SHARE, RIGHT_OFFER, 0),
            grant(4, GRANT_PROCESS, 0, 1),
            grant(5, GRANT_IRQ, 0, 3),
            grant(6, GRANT_PORT, 0, 0),
            grant(7, GRANT_VM, 0, 0),
            grant(8, GRANT_CONSOLE, 0, 0),
            grant(9, GRANT_POWER, 0, 0),
        ];
        Resolved {
            format: FORMAT,
            system: "good".into(),
            about: String::new(),
            machine: String::new(),
            cpus: 1,
            memory_frames: 20,
            processes: vec![process(0, None, all), process(1, Some(0), Vec::new())],
            endpoints: vec![Endpoint { id: 0, name: String::new(), receiver: reference(0), fifo: false }],
            notifications: vec![Notification { id: 0, name: String::new(), waiter: reference(0) }],
            buffers: vec![Buffer { id: 0, name: String::new(), capacity: 4 }],
            shares: vec![Share { id: 0, name: String::new(), from: reference(0), to: reference(1) }],
            interrupts: vec![Interrupt {
                name: String::new(),
                line: 3,
                level: false,
                active_low: false,
                notification: reference(0),
                cpu: 0,
            }],
            devices: vec![Device {
                id: 0,
                name: String::new(),
                ports: true,
                base: 0x2f8,
                size: 8,
                function: Some(0x20),
                owner: reference(0),
            }],
            vms: vec![Vm { id: 0, monitor: reference(0), memory: 0 }],
            consoles: vec![Console { id: 0, name: "kernel".into(), up: None }],
            image: Image { payload_offset: 4096, size: 8192, payload: Vec::new() },
        }
    }
}
