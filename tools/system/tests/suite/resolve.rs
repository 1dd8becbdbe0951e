//! Resolving and writing: ids, slots, places, the image and its checks.

use crate::common;
use crate::common::fake;
use std::path::{Path, PathBuf};
use system::{Assets, Resolution};
use testing::Folder;

/// Description `text` as the file NAME.toml in `folder`, resolved with everything built there.
fn resolve(folder: &Folder, name: &str, text: &str) -> Resolution {
    let (path, assets) = prepare(folder, name, text);
    let system = system::load(&path, &assets).unwrap_or_else(|report| panic!("{report}"));
    system::resolve(&system, &assets).unwrap_or_else(|report| panic!("{report}"))
}

fn prepare(folder: &Folder, name: &str, text: &str) -> (PathBuf, Assets) {
    let assets = common::assets(folder);
    fake::build_all(&assets);
    let path = folder.join(format!("{name}.toml"));
    fake::write(&path, text.as_bytes());
    (path, assets)
}

fn of_tree(folder: &Folder, path: &Path) -> Resolution {
    let name = path.file_stem().expect("a description has a name").to_string_lossy().into_owned();
    resolve(folder, &name, &std::fs::read_to_string(path).expect("the description is there"))
}

#[test]
fn every_system_of_the_tree_makes_an_image_that_passes_the_checks_of_start_up() {
    let folder = Folder::new("images");
    let mut kernel = common::start_up::StartUp::new("images");
    for path in common::systems() {
        let resolution = of_tree(&folder, &path);
        let image = resolution.image();
        assert_eq!(image.len() as u64, resolution.resolved.image.size);
        assert_eq!(kernel.refusal(&image), None, "{}", path.display());
    }
}

#[test]
fn the_same_description_gives_the_same_bytes() {
    let folder = Folder::new("same");
    let path = common::root().join("systems/three-linux.toml");
    let (first, second) = (of_tree(&folder, &path), of_tree(&folder, &path));
    assert_eq!(first.image(), second.image());
    assert_eq!(first.resolved.to_json().expect("it prints"), second.resolved.to_json().expect("it prints"));
    assert_eq!(first.c_header(), second.c_header());
}

#[test]
fn files_and_programs_are_in_the_image_once() {
    let folder = Folder::new("once");
    let resolved = of_tree(&folder, &common::root().join("systems/three-linux.toml")).resolved;
    let count = |what: &str| resolved.image.payload.iter().filter(|chunk| chunk.what == what).count();
    assert_eq!(count("file debian-cloud"), 1);
    assert_eq!(count("program vmm, segment 0"), 1);
    let kernel_offsets: Vec<u64> = resolved
        .processes
        .iter()
        .flat_map(|process| &process.segments)
        .filter(|segment| segment.what == "file debian-cloud")
        .map(|segment| segment.image_offset)
        .collect();
    assert_eq!(kernel_offsets.len(), 3);
    assert!(kernel_offsets.iter().all(|offset| *offset == kernel_offsets[0]));
    let pages: Vec<u64> = resolved.image.payload.iter().map(|chunk| chunk.offset).collect();
    assert!(pages.iter().all(|offset| offset % 4096 == 0) && pages.windows(2).all(|pair| pair[0] < pair[1]));
}

const FAMILY: &str = r#"
[system]
machine = "q35"

[process.parent]
program = "supervisor"
console = "screen"
devices = ["com2"]
power = true

[process.child]
program = "hello"
parent = "parent"
on_death = "gone"
fault_endpoint = "faults"
cpu = 2
period = "10ms"
budget = "1ms"
args.word = "text"
args.number = 0x10

[process.child.thread.worker]
priority = 7
period = "20ms"
budget = "3ms"

[vm.guest]
memory = "32MiB"
kernel = "debian-cloud"
initrd = "busybox"
console = "guest"

[endpoint.faults]
receiver = "parent"
senders = ["guest", "child"]
as = "trouble"

[notification.gone]
waiter = "parent"
signallers = ["guest", "child"]

[notification.line]
waiter = "parent"

[interrupt.com2]
notification = "line"

[console.screen]
input = "gone"

[console.guest]
"#;

#[test]
fn a_process_is_told_its_slots_badges_bits_threads_files_and_arguments() {
    let folder = Folder::new("environment");
    let resolved = resolve(&folder, "family", FAMILY).resolved;
    let environment = |index: usize| resolved.processes[index].environment.join("\n");
    let parent = environment(0);
    for line in [
        "name=parent",
        "slot.endpoint.trouble=0",
        "slot.notification.gone=1",
        "slot.notification.line=2",
        "slot.process.child=3",
        "slot.interrupt.com2=4",
        "slot.device.com2=5",
        "slot.console.screen=6",
        "slot.power.machine=7",
        "badge.trouble.guest=1",
        "badge.trouble.child=2",
        "bit.gone.guest=63",
        "bit.gone.child=62",
        "thread.main=0",
    ] {
        assert!(parent.lines().any(|found| found == line), "{line} is not in\n{parent}");
    }
    let child = environment(1);
    for line in ["thread.worker=1", "arg.word=text", "arg.number=0x10", "period_ns=10000000", "budget_ns=1000000"] {
        assert!(child.lines().any(|found| found == line), "{line} is not in\n{child}");
    }
    let guest = environment(2);
    let memory = format!("arg.memory={}", 32 << 20);
    for line in [memory.as_str(), "arg.cmdline=console=ttyS0", "file.kernel=0x500000000000 1536"] {
        assert!(guest.lines().any(|found| found == line), "{line} is not in\n{guest}");
    }
    let first_notification = guest.lines().find(|line| line.starts_with("slot.notification."));
    assert!(first_notification.is_some_and(|line| line.starts_with("slot.notification.input=")), "{guest}");
}

#[test]
fn ids_slots_and_quotas_are_resolved() {
    let folder = Folder::new("ids");
    let resolved = resolve(&folder, "family", FAMILY).resolved;
    let (parent, child, guest) = (&resolved.processes[0], &resolved.processes[1], &resolved.processes[2]);
    assert_eq!(resolved.cpus, 3);
    assert!(parent.starts_at_boot && !child.starts_at_boot && guest.starts_at_boot);
    assert_eq!(child.parent.as_ref().map(|parent| parent.id), Some(0));
    assert_eq!(child.fault_endpoint.as_ref().map(|endpoint| endpoint.id), Some(0));
    let threads: Vec<(u32, u32, u32)> =
        resolved.processes.iter().flat_map(|p| &p.threads).map(|t| (t.id, t.cpu, t.priority)).collect();
    assert_eq!(threads, [(16, 0, 100), (17, 2, 100), (18, 2, 7), (19, 0, 100)]);
    let times: Vec<(u64, u64)> = resolved
        .processes
        .iter()
        .flat_map(|p| &p.threads)
        .map(|t| (t.period_ns / 1_000_000, t.budget_ns / 1_000_000))
        .collect();
    assert_eq!(times, [(0, 0), (10, 1), (20, 3), (0, 0)]);
    let grant = |name: &str| parent.grants.iter().find(|grant| grant.name == name).expect("the grant is there");
    assert_eq!((grant("process.child").object, grant("process.child").badge), (1, 0));
    assert_eq!((grant("interrupt.com2").object, grant("interrupt.com2").badge), (3, 1));
    assert_eq!((grant("console.screen").object, grant("console.screen").badge), (1, 0));
    // A quota left out is the least, 256 KiB, and what the children have.
    assert_eq!(u64::from(child.quota_frames), child.need_frames + 64);
    assert_eq!(u64::from(parent.quota_frames), parent.need_frames + 64 + u64::from(child.quota_frames));
    assert!(guest.need_frames > (32 << 20) / 4096);
    assert_eq!(resolved.memory_frames, u64::from(parent.quota_frames) + u64::from(guest.quota_frames));
}

#[test]
fn the_least_quota_counts_frames_and_tables() {
    let folder = Folder::new("need");
    let text = "[system]\nmachine = \"q35\"\n[process.a]\nprogram = \"hello\"\nstack = \"8KiB\"\n";
    let process = &resolve(&folder, "least", text).resolved.processes[0];
    // Frames: data 3, stack 2, message page 1. Tables: root; code and data 3; stack 3 (its own 512 GiB);
    // environment and messages 3.
    assert_eq!(process.need_frames, 3 + 2 + 1 + 1 + 3 + 3 + 3);
    let copied: u64 = process.segments.iter().filter(|segment| segment.copied).map(|s| s.memory_size).sum();
    assert_eq!(copied, 5 * 4096);
}

#[test]
fn the_header_names_slots_and_processes() {
    let folder = Folder::new("header");
    let header = resolve(&folder, "family", FAMILY).c_header();
    for line in [
        "#define PROCESS_GUEST 2u",
        "#define PARENT_SLOT_PROCESS_CHILD 3u",
        "#define CHILD_THREAD_WORKER 1u",
        "#define CONSOLE_KERNEL 0u",
    ] {
        assert!(header.lines().any(|found| found == line), "{line} is not in\n{header}");
    }
}

#[test]
fn a_process_loaded_by_its_parent_has_only_its_environment() {
    let folder = Folder::new("loaded");
    let text = "[system]\nmachine = \"q35\"\n[process.loader]\nprogram = \"hello\"\nfiles.child = \"hello.elf\"\n\
                [process.child]\nparent = \"loader\"\n";
    let resolved = resolve(&folder, "loaded", text).resolved;
    let child = &resolved.processes[1];
    assert_eq!(child.segments.len(), 1);
    assert_eq!((child.entry, child.stack_top), (0, 0));
    assert!(resolved.processes[0].environment.iter().any(|line| line.starts_with("file.child=0x")));
}

#[test]
fn more_segments_than_the_kernel_holds_are_refused() {
    let folder = Folder::new("segments");
    let mut text = String::from("[system]\nmachine = \"q35\"\n");
    for process in 0..60 {
        text += &format!("[process.p{process}]\nprogram = \"hello\"\n");
        for file in 0..5 {
            text += &format!("files.f{file} = \"busybox\"\n");
        }
    }
    let (path, assets) = prepare(&folder, "many", &text);
    let system = system::load(&path, &assets).unwrap_or_else(|report| panic!("{report}"));
    let report = system::resolve(&system, &assets).expect_err("60 processes with 9 segments each are 540");
    assert_eq!(report.diagnostics[0].code.name(), "ASH-S011");
}

#[test]
fn an_image_is_written_only_where_it_can_be() {
    let folder = Folder::new("written");
    let resolution = resolve(&folder, "family", FAMILY);
    let path = folder.join("system.img");
    system::write_image(&resolution, &path).expect("the folder can be written");
    assert_eq!(std::fs::read(&path).expect("it was written"), resolution.image());
    assert!(system::write_image(&resolution, &folder.join("no/such/folder/system.img")).is_err());
}

#[test]
fn a_service_is_told_of_its_clients_parts_of_the_disk() {
    let folder = Folder::new("parts");
    let resolved = of_tree(&folder, &common::root().join("systems/guests-disk.toml")).resolved;
    let environment = |name: &str| {
        let process = resolved.processes.iter().find(|process| process.name == name).expect("there is such a process");
        process.environment.clone()
    };
    let service = environment("blocks");
    let mib = |count: u64| count << 20;
    for line in [
        "arg.disk=ahci".to_string(),
        format!("client.one=0 {} 1", mib(64)),
        format!("client.two={} {} 1", mib(64), mib(64)),
        format!("client.program={} {} 1", mib(128), mib(32)),
    ] {
        assert!(service.contains(&line), "{line} is not in {service:?}");
    }
    assert_eq!(service.iter().filter(|line| line.starts_with("slot.share.")).count(), 4, "{service:?}");
    for client in ["one", "two", "program"] {
        let seen = environment(client);
        assert!(seen.contains(&"arg.disk=blocks".to_string()), "{seen:?}");
        assert!(seen.iter().any(|line| line.starts_with(&format!("slot.share.blocks-sata-{client}="))), "{seen:?}");
        assert!(!seen.iter().any(|line| line.starts_with("client.")), "{seen:?}");
    }
    assert!(environment("ahci").contains(&"arg.sata=blocks".to_string()));
}
