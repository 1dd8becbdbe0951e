//! The times between switches.

use crate::event::{Event, What};
use std::collections::BTreeMap;

/// A thread has had a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    pub cpu: u32,
    pub thread: u32,
    pub start: u64,
    pub end: u64,
}

/// All slices in the order of their ends; those that are not over end with the last event. `events` are in the order of their
/// times.
pub fn slices(events: &[Event]) -> Vec<Slice> {
    let mut all = Vec::new();
    let mut running: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
    for event in events {
        if let What::Switch { thread } = event.what {
            if let Some((thread, start)) = running.insert(event.cpu, (thread, event.when)) {
                all.push(Slice { cpu: event.cpu, thread, start, end: event.when });
            }
        }
    }
    let end = events.last().map_or(0, |event| event.when);
    all.extend(running.into_iter().map(|(cpu, (thread, start))| Slice { cpu, thread, start, end }));
    all
}
