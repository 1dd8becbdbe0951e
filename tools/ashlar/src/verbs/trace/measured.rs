//! Jobs and waits, as they are reported.

use super::bounds::Bounds;
use super::unit;
use crate::results::{BucketResult, DeadlineResult, MissedResult, WaitResult};
use builder::Built;
use recording::Recording;
use std::collections::BTreeMap;
use trace::event::in_order;
use trace::jobs::{kept, Job, Kept};
use trace::latency::{waits, Waiter, Waits};
use trace::report::{html, Recorded};
use trace::{Event, Names};

/// Of each thread so many jobs that took too long are told one by one.
const SHOWN: usize = 5;

/// What was recorded of a run, and what is measured of it.
pub struct Measured {
    /// In the order of their times.
    pub events: Vec<Event>,
    pub lost: u64,
    /// By number of the thread, as the others are.
    pub deadlines: BTreeMap<u32, u64>,
    pub kept: BTreeMap<u32, Kept>,
    pub waits: BTreeMap<Waiter, Waits>,
}

impl Measured {
    /// Of all that was read and not taken yet.
    pub fn of(recording: &mut Recording, built: &Built, names: &Names) -> Measured {
        let (events, lost) = (in_order(recording.take()), recording.lost());
        let deadlines = deadlines(built, names);
        let kept = kept(&events, &deadlines, &names.receives());
        let waits = waits(&events);
        Measured { events, lost, deadlines, kept, waits }
    }

    /// The page of HTML.
    pub fn page(&self, built: &Built, names: &Names, cpus: u32, bounds: &Bounds, icount: bool) -> String {
        html(&Recorded {
            system: &built.system.name,
            events: &self.events,
            lost: self.lost,
            names,
            cpus,
            deadlines: &self.deadlines,
            kept: &self.kept,
            bounds: &bounds.jobs,
            waits: &self.waits,
            wait_bounds: &bounds.waits,
            unit: unit(icount),
        })
    }
}

/// By number of the thread, in nanoseconds: the deadlines of threads with reservations.
fn deadlines(built: &Built, names: &Names) -> BTreeMap<u32, u64> {
    let all = built.system.threads();
    let of = |name: &str| {
        let thread = all.iter().find(|thread| thread.name == name)?;
        thread.deadline.or(thread.period)
    };
    names.threads().filter_map(|(thread, name)| Some((thread, of(name)?))).collect()
}

/// `deadlines` and `bounds` are by thread, as is `on_time`, which says how the deadlines were kept.
pub fn deadline_results(
    events: &[Event],
    on_time: &BTreeMap<u32, Kept>,
    deadlines: &BTreeMap<u32, u64>,
    bounds: &BTreeMap<u32, u64>,
    names: &Names,
) -> Vec<DeadlineResult> {
    let within = kept(events, bounds, &names.receives());
    let first = |kept: &Kept| -> Vec<MissedResult> {
        kept.missed.iter().take(SHOWN).map(|(job, others)| missed(job, others, names)).collect()
    };
    on_time
        .iter()
        .map(|(thread, kept)| DeadlineResult {
            thread: name(names, *thread),
            deadline: deadlines[thread],
            jobs: kept.count as u64,
            longest: kept.longest,
            missed: kept.missed.len() as u64,
            first: first(kept),
            bound: bounds.get(thread).copied(),
            beyond: within.get(thread).map_or(0, |within| within.missed.len() as u64),
            first_beyond: within.get(thread).map(first).unwrap_or_default(),
        })
        .collect()
}

/// Waits of threads that have a name; `bounds` is by thread.
pub fn wait_results(waits: &BTreeMap<Waiter, Waits>, bounds: &BTreeMap<u32, u64>, names: &Names) -> Vec<WaitResult> {
    let of = |waiter: &Waiter, waits: &Waits| {
        let bound = bounds.get(&waiter.thread).copied();
        Some(WaitResult {
            thread: names.thread(waiter.thread)?.to_string(),
            interrupt: waiter.vector.map(|vector| names.interrupt(vector)),
            count: waits.count() as u64,
            median: waits.percentile(50),
            percent_99: waits.percentile(99),
            longest: waits.longest(),
            longest_began: waits.longest_began,
            histogram: waits.histogram().into_iter().map(bucket).collect(),
            bound,
            beyond: bound.map_or(0, |bound| waits.beyond(bound) as u64),
        })
    };
    waits.iter().filter_map(|(waiter, waits)| of(waiter, waits)).collect()
}

fn bucket((exponent, count): (u32, usize)) -> BucketResult {
    BucketResult { below: 1u64.checked_shl(exponent).unwrap_or(u64::MAX), count: count as u64 }
}

fn missed(job: &Job, others: &BTreeMap<u32, u64>, names: &Names) -> MissedResult {
    MissedResult {
        began: job.began,
        took: job.took(),
        others: others.iter().map(|(&thread, &time)| (name(names, thread), time)).collect(),
    }
}

fn name(names: &Names, thread: u32) -> String {
    names.thread(thread).unwrap_or("idle").to_string()
}
