//! Trace events as Chrome defined them, which Perfetto, speedscope and others open. One row for each CPU with the threads that
//! run there, and one for each thread with the times at which it runs.

use crate::event::{Event, What};
use crate::names::Names;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::ops::Range;

/// Process numbers of the two groups of rows.
const CPUS: u32 = 1;
const THREADS: u32 = 2;

/// The whole trace. `events` are in the order of their times.
pub fn trace(events: &[Event], names: &Names, cpus: u32, lost: u64) -> Value {
    let mut out = rows(names, cpus);
    let mut running: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
    let mut entered: BTreeMap<u32, u64> = BTreeMap::new();
    for event in events {
        if let What::Switch { thread } = event.what {
            if let Some((before, since)) = running.insert(event.cpu, (thread, event.when)) {
                ran(&mut out, names, event.cpu, before, since..event.when);
            }
        } else if let What::GuestEntry { .. } = event.what {
            entered.insert(event.cpu, event.when);
        } else if let (What::GuestExit { reason }, Some(since)) = (event.what, entered.remove(&event.cpu)) {
            let mut guest = slice(CPUS, event.cpu, "guest", &(since..event.when));
            guest["args"] = json!({ "exit": names.exit(reason) });
            out.push(guest);
        } else if let Some(name) = moment(&event.what, names) {
            out.push(json!({
                "name": name, "ph": "i", "s": "t", "pid": CPUS, "tid": event.cpu, "ts": microseconds(event.when),
            }));
        }
    }
    let end = events.last().map_or(0, |event| event.when);
    for (cpu, (thread, since)) in running {
        ran(&mut out, names, cpu, thread, since..end);
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

/// A thread has run. Nothing is drawn for idle threads.
fn ran(out: &mut Vec<Value>, names: &Names, cpu: u32, thread: u32, time: Range<u64>) {
    if let Some(name) = names.thread(thread) {
        out.push(slice(CPUS, cpu, name, &time));
        out.push(slice(THREADS, thread, &format!("CPU {cpu}"), &time));
    }
}

fn slice(pid: u32, tid: u32, name: &str, time: &Range<u64>) -> Value {
    // Viewers add the two, in floating point: a nanosecond less keeps neighbours apart.
    let (ts, dur) = (microseconds(time.start), microseconds((time.end - time.start).saturating_sub(1)));
    json!({ "name": name, "ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur })
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
