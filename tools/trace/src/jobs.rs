//! Jobs of threads: from a wake-up until the thread waits again. What took longer than its deadline, and who had the processor.

use crate::causes::Causes;
use crate::event::{Event, What};
use crate::slices::{slices, Slice};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub thread: u32,
    /// When its work came: the wake-up, or the interrupt that caused it.
    pub began: u64,
    /// When the thread left the processor to wait again.
    pub ended: u64,
}

impl Job {
    pub fn took(&self) -> u64 {
        self.ended - self.began
    }

    /// Who else had the thread's processor meanwhile, and for how long. `slices` are those of the same events.
    pub fn others(&self, slices: &[Slice]) -> BTreeMap<u32, u64> {
        let mut times = BTreeMap::new();
        let home = slices.iter().find(|slice| slice.thread == self.thread).map(|slice| slice.cpu);
        for slice in slices.iter().filter(|slice| Some(slice.cpu) == home && slice.thread != self.thread) {
            let time = slice.end.min(self.ended).saturating_sub(slice.start.max(self.began));
            if time > 0 {
                *times.entry(slice.thread).or_default() += time;
            }
        }
        times
    }
}

/// The jobs of every thread, in the order of their ends. A thread that wakes has waited, so a job ends where its thread last
/// left the processor before the next wake-up; a job after which no wake-up was recorded is not among them.
pub fn jobs(events: &[Event]) -> Vec<Job> {
    let mut all = Vec::new();
    let mut causes = Causes::default();
    let mut running: BTreeMap<u32, u32> = BTreeMap::new();
    let mut began: BTreeMap<u32, u64> = BTreeMap::new();
    let mut left: BTreeMap<u32, u64> = BTreeMap::new();
    for event in events {
        match event.what {
            What::Switch { thread } => {
                if let Some(before) = running.insert(event.cpu, thread) {
                    left.insert(before, event.when);
                }
            }
            What::Wake { thread } => {
                let since = causes.of(event).map_or(event.when, |(_, when)| when);
                if let Some(began) = began.insert(thread, since) {
                    // It may wake before it has left.
                    let ended = left.get(&thread).copied().filter(|left| *left >= began).unwrap_or(event.when);
                    all.push(Job { thread, began, ended });
                }
            }
            _ => {}
        }
        causes.see(event);
    }
    all
}

/// What is known of a thread's jobs and its deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub count: usize,
    pub longest: u64,
    /// The jobs that took longer than the deadline, each with the times that others had.
    pub missed: Vec<(Job, BTreeMap<u32, u64>)>,
}

/// How each of these threads kept its deadline, in nanoseconds.
pub fn kept(events: &[Event], deadlines: &BTreeMap<u32, u64>) -> BTreeMap<u32, Kept> {
    let slices = slices(events);
    let mut all: BTreeMap<u32, Kept> =
        deadlines.keys().map(|&thread| (thread, Kept { count: 0, longest: 0, missed: Vec::new() })).collect();
    for job in jobs(events) {
        let (Some(kept), Some(&deadline)) = (all.get_mut(&job.thread), deadlines.get(&job.thread)) else { continue };
        kept.count += 1;
        kept.longest = kept.longest.max(job.took());
        if job.took() > deadline {
            let others = job.others(&slices);
            kept.missed.push((job, others));
        }
    }
    all
}
