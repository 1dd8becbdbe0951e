//! How much memory the kernel charges to each process (frames it owns, its page tables, its guest's tables), and whether the
//! quotas hold it. In a faulty description what is unknown counts nothing, so further faults are still found.

use crate::check::cpus_needed;
use crate::codes::Code;
use crate::description::guest_links::{Device, GuestLink};
use crate::description::{Description, Machine, Process};
use crate::file::{path_of, Files};
use crate::layout::*;
use crate::Assets;
use diagnostics::units::show_size;
use diagnostics::{Diagnostic, Report};
use std::collections::BTreeSet;

/// Frames beyond the least that a process gets when the description gives no quota: 256 KiB.
const SPARE_FRAMES: u64 = 64;
/// Memory kept for the kernel's own code, tables and stacks.
const KERNEL_MEMORY: u64 = 64 * MIB;
/// Beside the tables of a guest's memory: the vcpu page, the page tables that reach it, the nested root.
const VM_FRAMES: u64 = 6;

/// The stack of a further thread, with the tables that reach it: `user/libc/thread.c`.
const THREAD_FRAMES: u64 = 16 + 3;

/// What the two ends of a link share, each with the tables that reach it: `user/vmm/virtio/disk.c`, `user/vmm/virtio/network.c`,
/// `user/services/block` and `user/services/switch`, and for other programs `user/runtime/disk_client.c`, `user/net/net.c` and `user/apps/tone.c`. What
/// comes unawaited is kept in further pages, for which the spare frames are enough where there is one link.
fn link_frames(link: &GuestLink) -> u64 {
    let is_library = link.guest.vm.is_none() && link.guest.uplink.is_none();
    match link.device {
        Device::Network if is_library => 161 + 4,
        Device::Network => 73 + 4,
        Device::Disk if link.guest.vm.is_some() => 260 + 4,
        Device::Disk if Device::Disk.is_shared_by(link.guest) => 518 + 4,
        Device::Disk => 20 + 4,
        Device::Sound => 35 + 4,
    }
}

/// The link of a guest with a PCI device to the bus, with what comes unawaited and the tables that reach it.
const BUS_LINK_FRAMES: u64 = 6 + 9 + 4;

/// For messages that come unawaited, of each link of a process that serves several clients.
const SERVED_LINK_FRAMES: u64 = 16;

/// What one process needs and gets, in frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allotment {
    /// The least for itself, without children.
    pub need: u64,
    /// What it gets, its children's quotas included.
    pub quota: u64,
}

/// The allotment of every process, in the order of the description; faults go to `report`.
pub fn plan(
    description: &Description,
    machine: Option<&Machine>,
    files: &Files,
    assets: &Assets,
    report: &mut Report,
) -> Vec<Allotment> {
    let needs: Vec<u64> =
        description.processes.iter().map(|process| need(description, process, files, assets)).collect();
    let mut planner = Planner { description, needs, shares: vec![None; description.processes.len()] };
    for index in 0..description.processes.len() {
        planner.share(index, 0);
    }
    let shares: Vec<Allotment> = planner.shares.iter().map(|share| share.unwrap_or_default()).collect();
    for (index, process) in description.processes.iter().enumerate() {
        check_quota(description, process, &shares, index, report);
    }
    if let Some(machine) = machine {
        check_machine(description, machine, &shares, image_size(files), report);
    }
    shares
}

/// Frames that processes without parent get in all: what the machine must have free at boot.
pub fn frames_of_roots(description: &Description, shares: &[Allotment]) -> u64 {
    let roots = description.processes.iter().zip(shares).filter(|(process, _)| process.parent.is_none());
    roots.map(|(_, share)| share.quota).sum()
}

/// Frames for `bytes`, rounded up.
pub fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_SIZE)
}

/// Bytes of the kernel's trace that a process of the system sees: of all CPUs that run it.
pub fn trace_size(description: &Description) -> u64 {
    TRACE_RINGS + cpus_needed(description) * TRACE_RING_BYTES
}

/// Where the files of a process lie: name in the process, description's name of the file, address, bytes.
pub struct Mapped<'a> {
    pub name: &'a str,
    pub file: &'a str,
    pub vaddr: u64,
    pub size: u64,
}

/// The files of `process` as they are mapped, one after the other with an unmapped page between.
pub fn mapped_files<'a>(
    description: &Description,
    process: &'a Process,
    files: &Files,
    assets: &Assets,
) -> Vec<Mapped<'a>> {
    let guest = process.vm.iter().flat_map(|vm| {
        let kernel = vm.kernel.iter().map(|file| ("kernel", file));
        let initrd = vm.initrd.iter().map(|file| ("initrd", file));
        kernel.chain(initrd).chain(vm.firmware.iter().map(|file| ("firmware", file)))
    });
    let own = process.files.iter().map(|(name, file)| (name.value.as_str(), file));
    let mut vaddr = FILE_VADDR;
    let mut out = Vec::new();
    for (name, file) in guest.chain(own) {
        let path = path_of(description, assets, &file.value);
        let size = path.and_then(|path| files.contents.get(&path)).map_or(0, |bytes| bytes.len() as u64);
        out.push(Mapped { name, file: &file.value, vaddr, size });
        vaddr += (pages(size) + 1) * PAGE_SIZE;
    }
    out
}

/// The least number of frames with which `process` can start, its children's aside.
fn need(description: &Description, process: &Process, files: &Files, assets: &Assets) -> u64 {
    let mut tables = Tables::default();
    let mut frames = 0;
    let program = process.program.as_ref().and_then(|name| files.programs.get(&name.value));
    for segment in program.iter().flat_map(|program| &program.segments) {
        tables.reach(segment.vaddr, segment.memory_size);
        if segment.copied {
            frames += pages(segment.memory_size);
        }
    }
    if !process.loaded_by_parent {
        tables.reach(STACK_TOP - pages(process.stack) * PAGE_SIZE, process.stack);
        frames += pages(process.stack);
    }
    for file in mapped_files(description, process, files, assets) {
        tables.reach(file.vaddr, file.size);
        if let Some(vm) = process.vm.as_ref().filter(|_| file.name == "firmware") {
            frames += firmware_frames(file.size, vm.num_cpus());
        }
    }
    if process.trace {
        tables.reach(TRACE_VADDR, trace_size(description));
    }
    let threads = 1 + process.threads.len() as u64;
    tables.reach(ENV_VADDR, PAGE_SIZE);
    tables.reach(MESSAGE_VADDR, threads * PAGE_SIZE);
    let guest = process
        .vm
        .as_ref()
        .map_or(0, |vm| vm.memory.as_ref().map_or(0, |memory| guest_frames(memory.value, vm.num_cpus())));
    let device = process.vm.as_ref().filter(|vm| vm.pci.is_some()).and_then(|vm| vm.memory.as_ref());
    let device = device.map_or(0, |memory| device_frames(memory.value));
    let ends = description.guest_links().filter(|link| {
        let ends = [&link.guest.name.value, &link.driver.value];
        ends.contains(&&process.name.value)
    });
    let kept = if process.serves.is_some() { SERVED_LINK_FRAMES } else { 0 };
    let links: u64 = ends.map(|link| link_frames(&link) + kept).sum();
    frames + threads + tables.count() + guest + device + links
}

/// The guest's memory, the page tables through which its monitor sees it, and of each virtual CPU the nested tables; of the others
/// than the first, also the stack of their thread.
fn guest_frames(memory: u64, cpus: u64) -> u64 {
    // A table maps 2 MiB, a directory 1 GiB; each may begin and end inside one. Two pointer tables.
    let tables = memory.div_ceil(2 * MIB) + 1 + memory.div_ceil(GIB) + 1 + 1;
    pages(memory) + (1 + cpus) * tables + cpus * VM_FRAMES + (cpus - 1) * THREAD_FRAMES
}

/// The tables by which a guest's PCI device reaches its memory, in up to four levels, those by which its monitor reaches the device, and
/// the link to the bus.
fn device_frames(memory: u64) -> u64 {
    memory.div_ceil(2 * MIB) + 1 + memory.div_ceil(GIB) + 1 + 2 + 3 + BUS_LINK_FRAMES
}

/// The guest's copy of its firmware at the end of the first 4 GiB, with a directory and a table in the monitor's page tables and in
/// the nested ones of each virtual CPU.
fn firmware_frames(size: u64, cpus: u64) -> u64 {
    pages(size) + 2 * (1 + cpus)
}

/// Page-table pages of an address space: the root, and each table that maps something.
#[derive(Default)]
struct Tables(BTreeSet<(u32, u64)>);

impl Tables {
    fn reach(&mut self, vaddr: u64, size: u64) {
        if size == 0 {
            return;
        }
        for level in [21, 30, 39] {
            for index in vaddr >> level..=(vaddr + size - 1) >> level {
                self.0.insert((level, index));
            }
        }
    }

    fn count(&self) -> u64 {
        1 + self.0.len() as u64
    }
}

struct Planner<'a> {
    description: &'a Description,
    needs: Vec<u64>,
    shares: Vec<Option<Allotment>>,
}

impl Planner<'_> {
    /// The quota of process `index`; `depth` stops at circles, which are reported elsewhere.
    fn share(&mut self, index: usize, depth: usize) -> u64 {
        if let Some(share) = self.shares[index] {
            return share.quota;
        }
        if depth > self.description.processes.len() {
            return 0;
        }
        let process = &self.description.processes[index];
        let given = process.quota.as_ref().map(|quota| pages(quota.value));
        let quota = match given {
            Some(quota) => quota,
            None => {
                let children: u64 = children(self.description, process).map(|child| self.share(child, depth + 1)).sum();
                self.needs[index] + children + SPARE_FRAMES
            }
        };
        self.shares[index] = Some(Allotment { need: self.needs[index], quota });
        quota
    }
}

fn children<'a>(description: &'a Description, parent: &'a Process) -> impl Iterator<Item = usize> + 'a {
    let is_child = |process: &Process| process.parent.as_ref().is_some_and(|name| name.value == parent.name.value);
    description.processes.iter().enumerate().filter(move |(_, process)| is_child(process)).map(|(index, _)| index)
}

fn check_quota(description: &Description, process: &Process, shares: &[Allotment], index: usize, report: &mut Report) {
    let Some(quota) = &process.quota else { return };
    let share = shares[index];
    let children: u64 = children(description, process).map(|child| shares[child].quota).sum();
    let noun = process.noun();
    let name = &process.name.value;
    let size = |frames: u64| show_size(frames * PAGE_SIZE);
    if share.quota < share.need {
        let message =
            format!("{noun} `{name}` needs {} to start, but its quota is {}", size(share.need), size(share.quota));
        let remedy = format!("give at least {}, or leave `quota` out", size(share.need));
        let fault = Diagnostic::new(Code::QuotaTooSmall, message, remedy);
        report.push(fault.at(&description.source, &quota.span, "too small"));
    } else if share.quota < share.need + children {
        let message = format!(
            "the children of `{name}` have {} and it needs {} itself, but its quota is {}",
            size(children),
            size(share.need),
            size(share.quota)
        );
        let remedy = format!("give at least {}, or leave `quota` out", size(share.need + children));
        let fault = Diagnostic::new(Code::ChildrenQuota, message, remedy);
        report.push(fault.at(&description.source, &quota.span, "too small for its children"));
    }
}

fn image_size(files: &Files) -> u64 {
    let programs = files.programs.values().flat_map(|program| &program.segments);
    let segments: u64 = programs.map(|segment| pages(segment.contents.len() as u64)).sum();
    let contents: u64 = files.contents.values().map(|bytes| pages(bytes.len() as u64)).sum();
    (segments + contents) * PAGE_SIZE
}

fn check_machine(description: &Description, machine: &Machine, shares: &[Allotment], image: u64, report: &mut Report) {
    let dma = description.processes.iter().any(|process| process.dma);
    let Some(usable) = machine.usable_memory(dma) else { return };
    let promised = frames_of_roots(description, shares) * PAGE_SIZE;
    if promised + image + KERNEL_MEMORY <= usable {
        return;
    }
    let mib = |bytes: u64| bytes.div_ceil(MIB);
    let message = format!(
        "the processes may use {} MiB, image and kernel need {} MiB, but `{}` has {} MiB",
        mib(promised),
        mib(image + KERNEL_MEMORY),
        machine.name,
        mib(usable)
    );
    let remedy = "lower the quotas or the memory of virtual machines, or choose a larger machine";
    let roots = description.processes.iter().zip(shares).filter(|(process, _)| process.parent.is_none());
    let mut fault = Diagnostic::new(Code::MachineMemory, message, remedy);
    if let Some((largest, _)) = roots.max_by_key(|(_, share)| share.quota) {
        let vm_memory = largest.vm.as_ref().and_then(|vm| vm.memory.as_ref());
        let span = largest.quota.as_ref().or(vm_memory).map_or(&largest.name.span, |size| &size.span);
        fault = fault.at(&description.source, span, "the largest share");
    }
    if let Some(memory) = &machine.memory {
        fault = fault.at(&machine.source, &memory.span, "what the machine has");
    }
    report.push(fault);
}
