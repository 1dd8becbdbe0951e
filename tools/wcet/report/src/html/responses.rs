//! The tables of responses to interrupts, and of the loops in them.

use std::fmt::Write;

use super::escape;
use super::tables::{close, open};
use crate::model::Report;
use crate::words::{self, grouped};

pub fn responses(out: &mut String, report: &Report) {
    if report.responses.is_none() {
        return;
    }
    let columns = [
        "vector",
        "interrupt",
        "handler waits in",
        "#cycles",
        "#until taken",
        "#service",
        "#handler",
        "waits for locks",
        "regions",
    ];
    open(out, "responses", "Responses", &columns);
    for (vectors, one) in words::responses(report) {
        let regions: Vec<&str> =
            one.closed.iter().chain([&one.service]).chain(&one.handler_regions).map(String::as_str).collect();
        let _ = writeln!(
            out,
            "<tr><td>{vectors}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td><code>{}</code></td></tr>",
            escape(&words::first_word(&one.name)),
            escape(one.handler.as_deref().unwrap_or("none waits")),
            grouped(one.cycles),
            grouped(one.closed_cycles),
            grouped(one.service_cycles),
            grouped(one.handler_cycles),
            words::lock_waits(one),
            escape(&regions.join(", then "))
        );
    }
    close(out);
}

pub fn loops(out: &mut String, report: &Report) {
    let Some(loops) = &report.response_loops else { return };
    let columns = ["loop", "in", "#at most", "#times on the worst path", "#cycles there", "of the region"];
    open(out, "response-loops", "Loops in responses", &columns);
    for one in loops {
        let class = if one.bound.is_none() { " class=\"open\"" } else { "" };
        let _ = writeln!(
            out,
            "<tr{class}><td><code>{}</code></td><td><code>{}</code></td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            escape(&one.address),
            escape(&one.function),
            one.bound.map_or_else(|| "none".into(), grouped),
            grouped(one.times),
            grouped(one.cycles),
            escape(&one.region)
        );
    }
    close(out);
}
