//! A process's address space: its segments in memory and in the image.

use super::ids::Ids;
use super::payload::Payload;
use super::resolved::{Grant, Process as ResolvedProcess, Ref, Segment, Thread};
use super::World;
use crate::description::{Name, Process};
use crate::environment::Environment;
use crate::file::path_of;
use crate::layout::*;
use crate::memory::{self, mapped_files, pages, Allotment};
use crate::threads::FIRST_THREAD;

/// Process `index` of the description, with its parts.
pub(super) fn process(
    world: &World,
    index: u32,
    allotment: Allotment,
    page: &Environment,
    segments: Vec<Segment>,
    grants: Vec<Grant>,
) -> ResolvedProcess {
    let ids = world.ids;
    let process = &ids.description.processes[index as usize];
    let program = process.program.as_ref().and_then(|name| world.files.programs.get(&name.value));
    let reference = |id: Option<u32>, name: &Name| Some(Ref { id: id?, name: name.value.clone() });
    ResolvedProcess {
        id: index,
        name: process.name.value.clone(),
        program: process.program.as_ref().map(|name| name.value.clone()),
        parent: process.parent.as_ref().and_then(|name| reference(ids.process(name), name)),
        starts_at_boot: process.starts_at_boot(),
        quota_frames: allotment.quota as u32,
        need_frames: allotment.need,
        entry: program.map_or(0, |program| program.entry),
        stack_top: if process.loaded_by_parent { 0 } else { STACK_TOP },
        argument: ENV_VADDR,
        fault_endpoint: process.fault_endpoint.as_ref().and_then(|name| reference(ids.endpoint(name), name)),
        threads: threads(ids, index, process),
        segments,
        grants,
        environment: page.text().lines().map(str::to_string).collect(),
    }
}

fn threads(ids: &Ids, index: u32, process: &Process) -> Vec<Thread> {
    let first = ids.first_thread(index);
    let main = (FIRST_THREAD, process.priority);
    let others = process.threads.iter().map(|thread| (thread.name.value.as_str(), thread.priority));
    std::iter::once(main)
        .chain(others)
        .zip(process.thread_times())
        .zip(first..)
        .map(|(((name, priority), (cpu, time)), id)| {
            let reservation = time.reservation();
            Thread {
                id,
                name: name.to_string(),
                cpu: cpu.value as u32,
                priority: priority as u32,
                period_ns: reservation.map_or(0, |reservation| reservation.period),
                budget_ns: reservation.map_or(0, |reservation| reservation.budget),
            }
        })
        .collect()
}

/// The segments of `process`: program, stack, environment page, files, trace. What they hold goes into `payload`.
pub(super) fn segments(world: &World, process: &Process, page: &Environment, payload: &mut Payload) -> Vec<Segment> {
    let mut out = Vec::new();
    if let Some(name) = &process.program {
        out.extend(program(world, &name.value, payload));
    }
    if !process.loaded_by_parent {
        let size = pages(process.stack) * PAGE_SIZE;
        out.push(Segment {
            what: "stack of the first thread".into(),
            vaddr: STACK_TOP - size,
            memory_size: size,
            image_offset: 0,
            image_size: 0,
            prot: PROT_READ | PROT_WRITE,
            copied: true,
            trace: false,
        });
    }
    let mut page_bytes = page.text().as_bytes().to_vec();
    page_bytes.push(0);
    let what = format!("environment of {}", process.name.value);
    out.push(read_only(what, ENV_VADDR, &page_bytes, payload));
    let description = world.ids.description;
    for file in mapped_files(description, process, world.files, world.assets) {
        let path = path_of(description, world.assets, file.file);
        let bytes = path.as_ref().and_then(|path| world.files.contents.get(path)).filter(|bytes| !bytes.is_empty());
        if let Some(bytes) = bytes {
            out.push(read_only(format!("file {}", file.file), file.vaddr, bytes, payload));
        }
    }
    if process.trace {
        out.push(trace(memory::trace_size(description)));
    }
    out
}

fn program(world: &World, name: &str, payload: &mut Payload) -> Vec<Segment> {
    let segments = world.files.programs.get(name).map_or(&[] as &[_], |program| &program.segments);
    let place = |(index, segment): (usize, &crate::file::Segment)| {
        let what = format!("program {name}, segment {index}");
        let contents = &segment.contents;
        let image_offset = if contents.is_empty() { 0 } else { payload.place(&what, contents) };
        Segment {
            what,
            vaddr: segment.vaddr,
            memory_size: segment.memory_size,
            image_offset,
            image_size: contents.len() as u64,
            prot: segment.prot,
            copied: segment.copied,
            trace: false,
        }
    };
    segments.iter().enumerate().map(place).collect()
}

/// What the kernel records.
fn trace(size: u64) -> Segment {
    Segment {
        what: "trace".into(),
        vaddr: TRACE_VADDR,
        memory_size: size,
        image_offset: 0,
        image_size: 0,
        prot: PROT_READ,
        copied: false,
        trace: true,
    }
}

/// The image's own frames, mapped read-only.
fn read_only(what: String, vaddr: u64, bytes: &[u8], payload: &mut Payload) -> Segment {
    Segment {
        vaddr,
        memory_size: pages(bytes.len() as u64) * PAGE_SIZE,
        image_offset: payload.place(&what, bytes),
        image_size: bytes.len() as u64,
        prot: PROT_READ,
        copied: false,
        trace: false,
        what,
    }
}
