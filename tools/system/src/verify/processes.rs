//! Processes with their threads and segments, as kernel/start/table_processes.c checks them.

use super::{rules, Damage, Tables};
use crate::layout::*;
use crate::table::record::{Header, Process, Segment};
use crate::table::{PROCESS_AUTOSTART, SEGMENT_COPY, SEGMENT_IMAGE};

pub(super) fn check(tables: &Tables, header: &Header, damages: &mut Vec<Damage>) {
    rules("process", &tables.processes, damages, |index, process| {
        let mut all = process_rules(tables, process);
        all.push((parents_end(tables, process), "its parents do not lead to a first process"));
        all.push((starts_after_parent(tables, process), "it starts at boot, but its parent does not"));
        all.push((quota_holds_children(tables, index), "its children's quotas exceed its own"));
        all.push((segments_apart(tables, process), "its segments overlap each other or its message pages"));
        all
    });
    rules("thread", &tables.threads, damages, |index, thread| {
        let counted = tables.processes.get(thread.process as usize).is_some_and(|process| {
            let first = process.first_thread as usize;
            (first..first.saturating_add(process.num_threads as usize)).contains(&index)
        });
        vec![
            (counted && thread.id == NUM_CPU + index as u32, "it is not the thread its process counts"),
            (tables.has_cpu(thread.cpu), "its CPU does not exist"),
            (thread.priority < NUM_PRIORITY - 1, "its priority is out of range"),
        ]
    });
    rules("segment", &tables.segments, damages, |_, segment| segment_rules(segment, header));
}

fn process_rules(tables: &Tables, process: &Process) -> Vec<(bool, &'static str)> {
    let within =
        |first: u32, count: u32, length: usize| first.checked_add(count).is_some_and(|end| end as usize <= length);
    let parts = process.num_threads > 0
        && within(process.first_thread, process.num_threads, tables.threads.len())
        && within(process.first_segment, process.num_segments, tables.segments.len())
        && within(process.first_grant, process.num_grants, tables.grants.len());
    let handler = process.fault_endpoint == NONE || (process.fault_endpoint as usize) < tables.endpoints.len();
    let budget = process.budget_ns <= process.period_ns
        && process.period_ns <= SCHED_PERIOD_MAX_NS
        && (process.period_ns == 0 || process.budget_ns > 0);
    vec![
        (process.name[31] == 0, "its name has no end"),
        (parts, "its threads, segments or grants lie outside their section"),
        (handler, "its fault handler's endpoint does not exist"),
        (process.flags & !PROCESS_AUTOSTART == 0, "unknown flags"),
        (process.entry < USER_END && process.stack_top <= USER_END, "entry or stack are no user addresses"),
        (budget, "its budget does not fit its period"),
    ]
}

fn parents_end(tables: &Tables, process: &Process) -> bool {
    let mut ancestor = process.parent;
    for _ in 0..tables.processes.len() {
        match tables.processes.get(ancestor as usize) {
            Some(parent) => ancestor = parent.parent,
            None => break,
        }
    }
    ancestor == NONE
}

fn starts_after_parent(tables: &Tables, process: &Process) -> bool {
    let at_boot = |process: &Process| process.flags & PROCESS_AUTOSTART != 0;
    let parent = tables.processes.get(process.parent as usize);
    !at_boot(process) || parent.is_none_or(at_boot)
}

fn quota_holds_children(tables: &Tables, index: usize) -> bool {
    let children = tables.processes.iter().filter(|process| process.parent as usize == index);
    children.map(|child| u64::from(child.quota)).sum::<u64>() <= u64::from(tables.processes[index].quota)
}

fn segments_apart(tables: &Tables, process: &Process) -> bool {
    let first = process.first_segment as usize;
    let range = first..first.saturating_add(process.num_segments as usize);
    let Some(segments) = tables.segments.get(range) else { return true };
    let messages = (MESSAGE_VADDR, u64::from(process.num_threads) * PAGE_SIZE);
    let mut areas: Vec<(u64, u64)> = segments.iter().map(|segment| (segment.vaddr, segment.memory_size)).collect();
    areas.push(messages);
    areas.sort_unstable();
    areas.windows(2).all(|pair| pair[0].0.saturating_add(pair[0].1) <= pair[1].0)
}

fn segment_rules(segment: &Segment, header: &Header) -> Vec<(bool, &'static str)> {
    let page = |value: u64| value % PAGE_SIZE == 0;
    let end = segment.vaddr.checked_add(segment.memory_size);
    let place = page(segment.vaddr)
        && page(segment.memory_size)
        && segment.memory_size > 0
        && segment.vaddr >= USER_BASE
        && end.is_some_and(|end| end <= USER_END);
    let image_end = segment.image_offset.checked_add(segment.image_size);
    let contents = page(segment.image_offset)
        && segment.image_size <= segment.memory_size
        && (segment.image_size == 0 || segment.image_offset >= header.payload_offset)
        && image_end.is_some_and(|end| end <= header.image_size);
    let writable = segment.prot & PROT_WRITE != 0;
    let executable = segment.prot & PROT_EXEC != 0;
    let known = segment.prot & !(PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
    let kind = match segment.kind {
        SEGMENT_COPY => true,
        SEGMENT_IMAGE => !writable && segment.image_size.next_multiple_of(PAGE_SIZE) == segment.memory_size,
        _ => false,
    };
    vec![
        (place, "it is not made of pages of user space"),
        (contents, "its contents lie outside the payload"),
        (known && segment.prot != 0 && !(writable && executable), "its protection cannot be given"),
        (kind, "the image's own pages cannot be written or extended"),
    ]
}
