//! How long threads that were woken waited for a processor, and by which interrupt.

use crate::causes::Causes;
use crate::event::{Event, What};
use std::collections::BTreeMap;

/// Whom was waited for: a thread, and the interrupt that woke it if one did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiter {
    pub thread: u32,
    pub vector: Option<u32>,
}

/// Sorted waits of one waiter, in nanoseconds, and when the longest of them began.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Waits {
    sorted: Vec<u64>,
    pub longest_began: u64,
}

impl Waits {
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// The wait that so many percent of all do not exceed.
    pub fn percentile(&self, percent: usize) -> u64 {
        let last = self.sorted.len().saturating_sub(1);
        let at = (self.sorted.len() * percent).div_ceil(100).saturating_sub(1);
        self.sorted.get(at.min(last)).copied().unwrap_or_default()
    }

    pub fn longest(&self) -> u64 {
        self.sorted.last().copied().unwrap_or_default()
    }

    /// Waits that are longer than this.
    pub fn beyond(&self, bound: u64) -> usize {
        self.sorted.len() - self.sorted.partition_point(|wait| *wait <= bound)
    }

    /// By exponent: how many waits are below that power of two, and not below half of it. 0 is below the first.
    pub fn histogram(&self) -> BTreeMap<u32, usize> {
        let mut counts = BTreeMap::new();
        for wait in &self.sorted {
            *counts.entry(u64::BITS - wait.leading_zeros()).or_default() += 1;
        }
        counts
    }
}

/// Every wait between a wake-up, or the interrupt that caused it, and the switch to the thread. `events` are in the order of
/// their times. Threads to which the kernel hands the processor over directly were not woken and did not wait.
pub fn waits(events: &[Event]) -> BTreeMap<Waiter, Waits> {
    let mut causes = Causes::default();
    // Of each thread the wake-up it waits since.
    let mut woken: BTreeMap<u32, (Waiter, u64)> = BTreeMap::new();
    let mut all: BTreeMap<Waiter, Vec<(u64, u64)>> = BTreeMap::new();
    for event in events {
        match event.what {
            What::Wake { thread } => {
                let cause = causes.of(event);
                let since = cause.map_or(event.when, |(_, when)| when);
                let waiter = Waiter { thread, vector: cause.map(|(vector, _)| vector) };
                woken.entry(thread).or_insert((waiter, since));
            }
            What::Switch { thread } => {
                if let Some((waiter, since)) = woken.remove(&thread) {
                    all.entry(waiter).or_default().push((event.when - since, since));
                }
            }
            _ => {}
        }
        causes.see(event);
    }
    all.into_iter()
        .map(|(waiter, mut waits)| {
            waits.sort_unstable();
            let longest_began = waits.last().map_or(0, |(_, since)| *since);
            (waiter, Waits { sorted: waits.into_iter().map(|(wait, _)| wait).collect(), longest_began })
        })
        .collect()
}
