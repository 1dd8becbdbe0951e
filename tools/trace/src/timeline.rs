//! A picture of who has each processor when, as SVG inside HTML.

use crate::names::Names;
use crate::slices::Slice;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

/// Columns of the picture; in each stands the thread that had most of its time.
const COLUMNS: u64 = 1000;
const LEFT: u64 = 70;
const ROW: u64 = 34;
const BAR: u64 = 26;
const TICKS: u64 = 5;
/// Threads whose colours differ; further ones repeat them.
pub const COLOURS: usize = 8;

/// What the picture is of.
#[derive(Debug, Clone)]
pub struct View<'a> {
    pub slices: &'a [Slice],
    pub names: &'a Names,
    pub cpus: u32,
    /// In nanoseconds since boot.
    pub time: Range<u64>,
    /// Moments at which a deadline was missed.
    pub missed: &'a [u64],
}

/// One column of one CPU: the thread that had most of it, and how many percent of it threads had in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Column {
    thread: u32,
    busy: u64,
}

/// The picture. Writing to a text cannot fail, so results of `write` are dropped.
pub fn timeline(view: &View<'_>) -> String {
    let length = (view.time.end - view.time.start).max(1);
    let width = LEFT + COLUMNS + 10;
    let height = ROW * u64::from(view.cpus) + 28;
    let mut out = String::new();
    let _ =
        write!(out, "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"who has each processor when\">");
    for cpu in 0..view.cpus {
        let top = ROW * u64::from(cpu);
        let _ = write!(out, "<text class=\"label\" x=\"0\" y=\"{}\">CPU {cpu}</text>", top + 18);
        let _ = write!(out, "<rect class=\"idle\" x=\"{LEFT}\" y=\"{top}\" width=\"{COLUMNS}\" height=\"{BAR}\"/>");
        bars(&mut out, view, &columns(view, cpu, length), top, length);
    }
    let bottom = ROW * u64::from(view.cpus);
    for tick in 0..=TICKS {
        let x = LEFT + COLUMNS * tick / TICKS;
        let at = view.time.start + length * tick / TICKS;
        let anchor = if tick == TICKS { "end" } else { "middle" };
        let _ = write!(out, "<line class=\"tick\" x1=\"{x}\" y1=\"0\" x2=\"{x}\" y2=\"{bottom}\"/>");
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{x}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            bottom + 18,
            milliseconds(at)
        );
    }
    for &moment in view.missed.iter().filter(|moment| view.time.contains(moment)) {
        let x = LEFT + (moment - view.time.start) * COLUMNS / length;
        let _ = write!(
            out,
            "<line class=\"missed\" x1=\"{x}\" y1=\"0\" x2=\"{x}\" y2=\"{bottom}\"><title>deadline missed at {}</title></line>",
            milliseconds(moment)
        );
    }
    out.push_str("</svg>\n");
    out
}

/// Neighbours that look the same are one bar.
fn bars(out: &mut String, view: &View<'_>, columns: &[Option<Column>], top: u64, length: u64) {
    let mut at = 0;
    while at < columns.len() {
        let alike = columns[at..].iter().take_while(|column| **column == columns[at]).count();
        if let Some((Column { thread, busy }, name)) =
            columns[at].and_then(|one| Some((one, view.names.thread(one.thread)?)))
        {
            let tall = (BAR * busy).div_ceil(100);
            let moment = |column: usize| milliseconds(view.time.start + length * column as u64 / COLUMNS);
            let _ = write!(
                out,
                "<rect class=\"c{}\" x=\"{}\" y=\"{}\" width=\"{alike}\" height=\"{tall}\"><title>{}, {} to {}</title></rect>",
                colour(view.names, thread),
                LEFT + at as u64,
                top + BAR - tall,
                escape(name),
                moment(at),
                moment(at + alike)
            );
        }
        at += alike;
    }
}

fn columns(view: &View<'_>, cpu: u32, length: u64) -> Vec<Option<Column>> {
    let mut times: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); COLUMNS as usize];
    let edge = |column: u64| view.time.start + (u128::from(length) * u128::from(column) / u128::from(COLUMNS)) as u64;
    let column_of = |when: u64| (u128::from(when - view.time.start) * u128::from(COLUMNS) / u128::from(length)) as u64;
    for slice in view.slices.iter().filter(|slice| slice.cpu == cpu && view.names.thread(slice.thread).is_some()) {
        let (start, end) = (slice.start.max(view.time.start), slice.end.min(view.time.end));
        if start >= end {
            continue;
        }
        for column in column_of(start)..=column_of(end).min(COLUMNS - 1) {
            let time = end.min(edge(column + 1)).saturating_sub(start.max(edge(column)));
            *times[column as usize].entry(slice.thread).or_default() += time;
        }
    }
    let whole = (length / COLUMNS).max(1);
    times
        .iter()
        .map(|threads| {
            let (&thread, _) = threads.iter().max_by_key(|(_, time)| **time).filter(|(_, time)| **time > 0)?;
            // Tenths, so that neighbours are often alike.
            let busy = (threads.values().sum::<u64>() * 10).div_ceil(whole).clamp(1, 10) * 10;
            Some(Column { thread, busy })
        })
        .collect()
}

/// The number of a thread's colour.
pub fn colour(names: &Names, thread: u32) -> usize {
    names.threads().position(|(number, _)| number == thread).unwrap_or(0) % COLOURS
}

pub fn milliseconds(ns: u64) -> String {
    format!("{}.{:03} ms", ns / 1_000_000, ns / 1000 % 1000)
}

/// `text` where HTML has text.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
