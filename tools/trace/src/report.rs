//! What was recorded as one page of HTML: styles inside, no script, nothing fetched, light and dark as the reader's system is.

use crate::event::Event;
use crate::histogram::histogram;
use crate::jobs::{kept, Job, Kept};
use crate::latency::{Waiter, Waits};
use crate::names::Names;
use crate::slices::slices;
use crate::timeline::{colour, escape, milliseconds, timeline, View};
use std::collections::BTreeMap;
use std::fmt::Write;

const STYLE: &str = include_str!("report.css");
/// Missed deadlines that get a picture of their own.
const PICTURES: usize = 10;

/// By thread: the time that it had.
type Others = BTreeMap<u32, u64>;

/// What the page is about.
#[derive(Debug)]
pub struct Recorded<'a> {
    pub system: &'a str,
    /// In the order of their times.
    pub events: &'a [Event],
    pub lost: u64,
    pub names: &'a Names,
    pub cpus: u32,
    /// By thread, in nanoseconds, and how they were kept.
    pub deadlines: &'a BTreeMap<u32, u64>,
    pub kept: &'a BTreeMap<u32, Kept>,
    /// By thread: what a job may take.
    pub bounds: &'a BTreeMap<u32, u64>,
    pub waits: &'a BTreeMap<Waiter, Waits>,
    /// By thread: what a wait may take.
    pub wait_bounds: &'a BTreeMap<u32, u64>,
    /// What a nanosecond of the trace is: `ns`, or `instructions` where they are counted.
    pub unit: &'a str,
}

/// The page. Writing to a text cannot fail, so results of `write` are dropped.
pub fn html(recorded: &Recorded<'_>) -> String {
    let slices = slices(recorded.events);
    let start = recorded.events.first().map_or(0, |event| event.when);
    let end = recorded.events.last().map_or(0, |event| event.when);
    let missed: Vec<(&Job, &Others, u64)> = recorded
        .kept
        .iter()
        .flat_map(|(thread, kept)| kept.missed.iter().map(|(job, others)| (job, others, recorded.deadlines[thread])))
        .collect();
    let moments: Vec<u64> = missed.iter().map(|(job, _, deadline)| job.began + deadline).collect();
    let view = View { slices: &slices, names: recorded.names, cpus: recorded.cpus, time: start..end, missed: &moments };
    let system = escape(recorded.system);
    let mut out = String::new();
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{system}: what ran when</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{system}: what ran when</h1>\n"
    );
    let _ = writeln!(
        out,
        "<p>{} events, {} lost, from {} to {} after boot. Tables are in {}.</p>",
        recorded.events.len(),
        recorded.lost,
        milliseconds(start),
        milliseconds(end),
        recorded.unit
    );
    out.push_str(&timeline(&view));
    key(&mut out, recorded.names);
    deadlines(&mut out, recorded);
    for (job, others, deadline) in missed.iter().take(PICTURES) {
        let _ = writeln!(
            out,
            "<h3 id=\"missed-{}\">{} misses its deadline at {}</h3>",
            job.began,
            escape(recorded.names.thread(job.thread).unwrap_or_default()),
            milliseconds(job.began + deadline)
        );
        let _ = writeln!(out, "<p>The job {}</p>", told(job, others, recorded.names));
        let margin = job.took() / 4;
        out.push_str(&timeline(&View { time: job.began.saturating_sub(margin)..job.ended + margin, ..view.clone() }));
    }
    waiting(&mut out, recorded);
    out.push_str("</body>\n</html>\n");
    out
}

/// Which colour is which thread.
fn key(out: &mut String, names: &Names) {
    out.push_str("<ul class=\"key\">\n");
    for (thread, name) in names.threads() {
        let _ = writeln!(
            out,
            "<li><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect class=\"c{}\" width=\"1\" height=\"1\"/></svg>{}</li>",
            colour(names, thread),
            escape(name)
        );
    }
    out.push_str("</ul>\n");
}

fn deadlines(out: &mut String, recorded: &Recorded<'_>) {
    if recorded.kept.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Deadlines</h2>\n<p>A job lasts from a request, a wake-up, or the interrupt that causes it, until its thread waits again.</p>\n\
         <table>\n<tr><th>thread</th><th>deadline</th><th>jobs</th><th>longest</th><th>missed</th><th>bound</th></tr>\n",
    );
    for (thread, kept) in recorded.kept {
        let bad = bad(!kept.missed.is_empty());
        let bound = recorded.bounds.get(thread).copied();
        let beyond = self::bad(bound.is_some_and(|bound| kept.longest > bound));
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td{bad}>{}</td><td{beyond}>{}</td></tr>",
            escape(recorded.names.thread(*thread).unwrap_or_default()),
            recorded.deadlines[thread],
            kept.count,
            kept.longest,
            kept.missed.len(),
            shown(bound)
        );
    }
    out.push_str("</table>\n");
    for (thread, within) in kept(recorded.events, recorded.bounds, &recorded.names.receives()) {
        let name = escape(recorded.names.thread(thread).unwrap_or_default());
        for (job, others) in within.missed.iter().take(PICTURES) {
            let told = told(job, others, recorded.names);
            let _ = writeln!(out, "<p class=\"bad\">A job of {name} took longer than its bound: it {told}</p>");
        }
    }
}

/// When a job was, and which other threads had its processor meanwhile.
fn told(job: &Job, others: &Others, names: &Names) -> String {
    let other = |(thread, time): (&u32, &u64)| {
        format!("{} {}", escape(names.thread(*thread).unwrap_or("idle")), milliseconds(*time))
    };
    let others: Vec<String> = others.iter().map(other).collect();
    let others = if others.is_empty() { "no other thread".to_string() } else { others.join(", ") };
    format!("began at {} and took {}; the processor had {others}.", milliseconds(job.began), milliseconds(job.took()))
}

fn waiting(out: &mut String, recorded: &Recorded<'_>) {
    out.push_str(
        "<h2>Waits for a processor</h2>\n<table>\n<tr><th>thread</th><th class=\"text\">woken by</th><th>count</th>\
         <th>median</th><th>99 %</th><th>longest</th><th>bound</th><th class=\"text\">how often, from 64 to 2<sup>31</sup></th></tr>\n",
    );
    for (waiter, waits) in recorded.waits {
        let Some(name) = recorded.names.thread(waiter.thread) else { continue };
        let cause = waiter
            .vector
            .map_or("a thread".to_string(), |vector| format!("interrupt {}", recorded.names.interrupt(vector)));
        let bound = recorded.wait_bounds.get(&waiter.thread).copied();
        let beyond = bad(bound.is_some_and(|bound| waits.beyond(bound) > 0));
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td{beyond}>{}</td><td class=\"text\">{}</td></tr>",
            escape(name),
            escape(&cause),
            waits.count(),
            waits.percentile(50),
            waits.percentile(99),
            waits.longest(),
            shown(bound),
            histogram(&waits.histogram(), bound)
        );
    }
    out.push_str("</table>\n");
    for (waiter, waits) in recorded.waits {
        let bound = recorded.wait_bounds.get(&waiter.thread).copied();
        let (Some(name), Some(bound)) = (recorded.names.thread(waiter.thread), bound) else { continue };
        if waits.beyond(bound) > 0 {
            let _ = writeln!(
                out,
                "<p class=\"bad\">{} waited longer than its bound, {} times: the longest began at {} and took {}.</p>",
                escape(name),
                waits.beyond(bound),
                milliseconds(waits.longest_began),
                milliseconds(waits.longest())
            );
        }
    }
}

fn bad(is_bad: bool) -> &'static str {
    if is_bad {
        " class=\"bad\""
    } else {
        ""
    }
}

fn shown(bound: Option<u64>) -> String {
    bound.map_or("none".to_string(), |bound| bound.to_string())
}
