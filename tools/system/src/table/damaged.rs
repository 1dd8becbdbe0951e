//! Each check of the kernel on the boot table refuses a table with one wrong field and a right checksum.

#[path = "../../tests/suite/common/start_up.rs"]
mod start_up;

use super::*;
use crc32fast::hash as crc32;
use start_up::StartUp;

/// A table of two processes with one object of each kind, and one page of payload.
fn image() -> Vec<u8> {
    let resolved = good::resolved();
    let payload = vec![7; 4096];
    let mut image = crate::table::write(&resolved, crc32(&payload));
    image.resize(resolved.image.payload_offset as usize, 0);
    image.extend(payload);
    image
}

/// Byte at which a field of the header stands, read as a number.
fn header_word(image: &[u8], field: &str) -> usize {
    word(image, Header::offset(field))
}

fn word(image: &[u8], at: usize) -> usize {
    u32::from_le_bytes(image[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Where entry `index` of a section stands.
fn entry(image: &[u8], section: usize, size: usize, index: usize) -> usize {
    word(image, Header::SIZE + section * Section::SIZE + Section::offset("offset")) + index * size
}

fn with_checksum(mut image: Vec<u8>) -> Vec<u8> {
    let (size, at) = (header_word(&image, "table_size"), Header::offset("table_crc32"));
    image[at..at + 4].fill(0);
    let crc = crc32(&image[..size]);
    image[at..at + 4].copy_from_slice(&crc.to_le_bytes());
    image
}

#[test]
fn a_good_table_passes() {
    assert_eq!(StartUp::new("good").refusal(&image()), None);
}

/// What is damaged in words; section, size of its records, index and offset of the field; the value that is written.
type Case = (&'static str, (usize, usize, usize, usize), u32);

/// An entry's field, by section, record and index, and a value for its low 32 bits that the kernel must refuse.
macro_rules! wrong {
    ($($section:literal $record:ident { $($field:ident[$index:literal] = $value:expr),* })*) => {
        vec![$($((
            concat!(stringify!($record), "[", $index, "].", stringify!($field), " = ", stringify!($value)),
            ($section, $record::SIZE, $index, $record::offset(stringify!($field))),
            $value,
        )),*),*]
    };
}

#[test]
fn the_kernel_refuses_every_wrong_entry() {
    const BIG: u32 = u32::MAX - 1;
    let cases: Vec<Case> = wrong! {
        1 Process {
            parent[1] = 1, parent[0] = BIG, num_threads[0] = 0, num_threads[0] = BIG, first_thread[0] = BIG,
            num_segments[0] = 99, first_segment[0] = BIG, first_grant[1] = 99, num_grants[0] = BIG,
            fault_endpoint[0] = 9
        }
        2 Thread {
            process[1] = 0, cpu[0] = 1, priority[0] = 255, id[0] = 0, period_ns[0] = 1, budget_ns[0] = 1
        }
        3 Segment {
            image_offset[0] = 0x1000_0000, image_offset[0] = 1, image_offset[0] = 0, image_size[0] = 0x2000,
            memory_size[0] = 0, prot[0] = 3, kind[0] = 2, kind[0] = 3, prot[2] = 3, image_size[2] = 8,
            memory_size[2] = 0x10_0000, memory_size[2] = 0x20_1000
        }
        4 Grant {
            slot[1] = 0, slot[0] = 64, kind[0] = 0, kind[0] = 14, rights[0] = 0, rights[0] = 4, object[0] = 9,
            object[1] = 9, rights[1] = 4, object[2] = 9, rights[2] = 0, object[3] = 9, rights[3] = 2, rights[3] = 3,
            object[4] = 0, object[4] = 9, object[5] = 7, object[6] = 9, kind[6] = 7, object[7] = 9, object[8] = 9,
            badge[4] = 9, badge[5] = 9, badge[5] = NONE, badge[8] = 9, object[10] = 9
        }
        5 Endpoint { owner[0] = 9 }
        6 Notification { owner[0] = 9 }
        7 Buffer { capacity[0] = 0, capacity[0] = 65 }
        8 Share { from[0] = 9, to[0] = 9, from[0] = 1 }
        9 Irq { gsi[0] = 24, gsi[0] = 1, gsi[0] = 4, notification[0] = 9, cpu[0] = 9, function[0] = 0x1_0000 }
        10 Device {
            base[0] = 0x1_0000, base[0] = 0x3f8, size[0] = 0, size[0] = 0x1_0000, kind[0] = 1, owner[0] = 1,
            owner[0] = 9, function[0] = 0x1_0000
        }
        11 Vm { process[0] = 1, process[0] = 9 }
    };
    let mut kernel = StartUp::new("entries");
    let good = image();
    for (what, (section, size, index, field), value) in cases {
        let mut bad = good.clone();
        let at = entry(&bad, section, size, index) + field;
        assert_ne!(word(&bad, at) as u32, value, "{what} is no change");
        bad[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let reason = kernel.refusal(&with_checksum(bad)).unwrap_or_else(|| panic!("{what} is accepted"));
        assert!(reason.contains("entry "), "{what}: {reason}");
    }
}

#[test]
fn the_kernel_refuses_wrong_headers_names_and_sections() {
    let mut kernel = StartUp::new("headers");
    let good = image();
    let mut refused = |at: usize, bytes: &[u8], part: &str| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        let reason = kernel.refusal(&with_checksum(bad)).unwrap_or_else(|| panic!("byte {at} is accepted"));
        assert!(reason.contains(part), "{reason}");
    };
    refused(Header::offset("magic"), &[0], "magic");
    refused(Header::offset("version"), &[9], "version");
    refused(Header::offset("image_size"), &[1, 0x1f], "contradict");
    refused(Header::offset("image_size") + 3, &[1], "cut short");
    refused(Header::offset("payload_offset"), &[1], "contradict");
    refused(Header::offset("payload_crc32"), &[1, 2, 3, 4], "payload checksum");
    refused(entry(&good, 12, Console::SIZE, 0), &[b'x'; 32], "its name has no end");
    refused(entry(&good, 1, Process::SIZE, 0), &[b'x'; 32], "its name has no end");
    refused(entry(&good, 1, Process::SIZE, 0) + Process::offset("entry") + 4, &[0, 0x80], "no user addresses");
    let section = |index: usize| Header::SIZE + index * Section::SIZE;
    refused(section(12) + Section::offset("count"), &[0; 4], "no console");
    refused(section(3) + Section::offset("offset"), &[1], "outside the table");
    refused(section(3) + Section::offset("count"), &[0xff; 2], "has room for");
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
            trace: false,
        };
        let trace = Segment {
            memory_size: TRACE_RINGS + TRACE_RING_BYTES,
            image_size: 0,
            trace: true,
            ..segment(0x60_0000, PROT_READ, false)
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
            fault_endpoint: None,
            threads: vec![Thread {
                id: NUM_CPU + id,
                name: "main".into(),
                cpu: 0,
                priority: 1,
                period_ns: 0,
                budget_ns: 0,
            }],
            segments: vec![
                segment(0x40_0000, PROT_READ, false),
                segment(0x50_0000, PROT_READ | PROT_WRITE, true),
                trace,
            ],
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
            grant(10, GRANT_MESSAGE, 0, 3),
        ];
        Resolved {
            format: FORMAT,
            system: "good".into(),
            about: String::new(),
            machine: String::new(),
            cpus: 1,
            mitigations: 0,
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
                function: Some(0x20),
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
