//! Trace events as Chrome defined them, which Perfetto, speedscope and others open. One row for each CPU with the threads that
//! run there, and one for each thread with the times at which it runs.

use crate::event::{Event, What};
use crate::jobs::Job;
use crate::names::Names;
use crate::slices::{slices, Slice};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::ops::Range;

/// Process numbers of the two groups of rows.
const CPUS: u32 = 1;
const THREADS: u32 = 2;

/// The whole trace. `events` are in the order of their times, `missed` are jobs and their deadlines in nanoseconds.
pub fn trace(events: &[Event], names: &Names, cpus: u32, lost: u64, missed: &[(&Job, u64)]) -> Value {
    let mut out = rows(names, cpus);
    for Slice { cpu, thread, start, end } in slices(events) {
        // Nothing is drawn for idle threads.
        if let Some(name) = names.thread(thread) {
            out.push(slice(CPUS, cpu, name, start..end));
            out.push(slice(THREADS, thread, &format!("CPU {cpu}"), start..end));
        }
    }
    let mut entered: BTreeMap<u32, u64> = BTreeMap::new();
    for event in events {
        if let What::GuestEntry { .. } = event.what {
            entered.insert(event.cpu, event.when);
        } else if let (What::GuestExit { reason }, Some(since)) = (event.what, entered.remove(&event.cpu)) {
            let mut guest = slice(CPUS, event.cpu, "guest", since..event.when);
            guest["args"] = json!({ "exit": names.exit(reason) });
            out.push(guest);
        } else if let Some(name) = moment(&event.what, names) {
            out.push(mark(CPUS, event.cpu, &name, event.when));
        }
    }
    for (job, deadline) in missed {
        out.push(mark(THREADS, job.thread, "deadline missed", job.began + deadline));
    }
    json!({ "traceEvents": out, "displayTimeUnit": "ns", "otherData": { "lost": lost } })
}

/// Names of the rows.
fn rows(names: &Names, cpus: u32) -> Vec<Value> {
    let group =
        |pid: u32, name: &str| json!({ "name": "process_name", "ph": "M", "pid": pid, "args": { "name": name } });
    let row = |pid: u32, tid: u32, name: &str| json!({ "name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": { "name": name } });
    let mut out = vec![group(CPUS, "processors"), group(THREADS, "threads")];
    out.extend((0..cpus).map(|cpu| row(CPUS, cpu, &format!("CPU {cpu}"))));
    out.extend(names.threads().map(|(thread, name)| row(THREADS, thread, name)));
    out
}

fn slice(pid: u32, tid: u32, name: &str, time: Range<u64>) -> Value {
    // Viewers add the two, in floating point: a nanosecond less keeps neighbours apart.
    let (ts, dur) = (microseconds(time.start), microseconds((time.end - time.start).saturating_sub(1)));
    json!({ "name": name, "ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur })
}

fn mark(pid: u32, tid: u32, name: &str, when: u64) -> Value {
    json!({ "name": name, "ph": "i", "s": "t", "pid": pid, "tid": tid, "ts": microseconds(when) })
}

/// How an event without duration is called.
fn moment(what: &What, names: &Names) -> Option<String> {
    let thread = |thread: u32| names.thread(thread).map_or_else(|| format!("thread {thread}"), String::from);
    Some(match *what {
        What::Switch { .. } | What::GuestEntry { .. } => return None,
        What::Wake { thread: woken } => format!("{} wakes", thread(woken)),
        What::Call { number } => format!("call {}", names.call(number)),
        What::Message { receiver } => format!("message to {}", thread(receiver)),
        What::Interrupt { vector } => format!("interrupt {}", names.interrupt(vector)),
        What::GuestExit { reason } => format!("guest exit: {}", names.exit(reason)),
        What::Spent { thread: spent } => format!("budget of {} ends", thread(spent)),
        What::Period { thread: released } => format!("period of {} begins", thread(released)),
        What::Fault { vector } => format!("fault {vector}"),
    })
}

/// Times are in microseconds there, with fractions.
fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
