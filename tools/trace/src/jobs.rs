//! Jobs of threads: from a wake-up or a request until the thread waits again. What took longer than its deadline, and who had the processor.

use crate::causes::Causes;
use crate::event::{Event, What};
use crate::slices::{slices, Slice};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub thread: u32,
    /// When its work came: the request, the wake-up, or the interrupt that caused it.
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

/// What is known of one thread while events are gone through.
#[derive(Debug, Default)]
struct Progress {
    /// When its present job began.
    began: Option<u64>,
    /// It has had the processor in this job.
    has_run: bool,
    /// When it last left the processor.
    left: u64,
    /// Its last system call.
    call: Option<u32>,
}

impl Progress {
    /// Work has come at `now`, caused by what was at `since`. Returns when the last job began and ended. Work that comes twice
    /// before the thread runs, as a message and a wake-up, is one.
    fn begin(&mut self, since: u64, now: u64, is_running: bool) -> Option<(u64, u64)> {
        if self.began.is_some() && !self.has_run {
            return None;
        }
        self.has_run = is_running;
        // It may be woken before it has left.
        self.began.replace(since).map(|began| (began, if self.left >= began { self.left } else { now }))
    }
}

/// The jobs of every thread, in the order of their ends. A thread that wakes has waited, and so has one that waits for requests by
/// one of the system calls `receives` and gets a message: a job ends where its thread last left the processor before. A job after
/// which no work was recorded is not among them.
pub fn jobs(events: &[Event], receives: &[u32]) -> Vec<Job> {
    let mut all = Vec::new();
    let mut causes = Causes::default();
    let mut running: BTreeMap<u32, u32> = BTreeMap::new();
    let mut threads: BTreeMap<u32, Progress> = BTreeMap::new();
    for event in events {
        let came = match event.what {
            What::Wake { thread } => Some((thread, causes.of(event).map_or(event.when, |(_, when)| when))),
            What::Message { receiver } => {
                let call = threads.get(&receiver).and_then(|thread| thread.call);
                call.filter(|call| receives.contains(call)).map(|_| (receiver, event.when))
            }
            What::Switch { thread } => {
                if let Some(before) = running.insert(event.cpu, thread) {
                    threads.entry(before).or_default().left = event.when;
                }
                threads.entry(thread).or_default().has_run = true;
                None
            }
            What::Call { number } => {
                if let Some(&thread) = running.get(&event.cpu) {
                    threads.entry(thread).or_default().call = Some(number);
                }
                None
            }
            _ => None,
        };
        if let Some((thread, since)) = came {
            let is_running = running.values().any(|&other| other == thread);
            let last = threads.entry(thread).or_default().begin(since, event.when, is_running);
            all.extend(last.map(|(began, ended)| Job { thread, began, ended }));
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

/// How each of these threads kept its deadline, in nanoseconds; `receives` as for [`jobs`].
pub fn kept(events: &[Event], deadlines: &BTreeMap<u32, u64>, receives: &[u32]) -> BTreeMap<u32, Kept> {
    let slices = slices(events);
    let mut all: BTreeMap<u32, Kept> =
        deadlines.keys().map(|&thread| (thread, Kept { count: 0, longest: 0, missed: Vec::new() })).collect();
    for job in jobs(events, receives) {
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
