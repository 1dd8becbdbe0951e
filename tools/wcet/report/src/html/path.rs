//! The worst path: source and disassembly side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::escape;
use crate::model::{Block, Report};
use crate::words::{count, grouped};

/// Steps that are shown; JSON has all.
const STEPS: usize = 5000;

pub fn path(out: &mut String, report: &Report) {
    if report.path.is_empty() {
        return;
    }
    let blocks: BTreeMap<&str, &Block> = report.code.iter().map(|block| (block.address.as_str(), block)).collect();
    let mut shown: BTreeSet<&str> = BTreeSet::new();
    out.push_str(
        "<section id=\"path\"><h2>Worst path</h2>\n<table class=\"path\">\n\
         <thead><tr><th class=\"number\">at cycle</th><th class=\"number\">cycles</th><th class=\"number\">times</th>\
         <th>where</th><th>source</th><th>instructions</th></tr></thead>\n<tbody>\n",
    );
    let mut start = 0_u64;
    for step in report.path.iter().take(STEPS) {
        let (source, code) = match blocks.get(step.address.as_str()) {
            Some(_) if !shown.insert(&step.address) => {
                let link = format!("<a href=\"#b{}\">as before</a>", escape(&step.address));
                (escape(step.source.as_deref().unwrap_or_default()), link)
            }
            Some(block) => listing(block),
            None => (escape(step.source.as_deref().unwrap_or_default()), String::new()),
        };
        let first = match step.first_misses {
            0 => String::new(),
            misses => format!("<br/><span class=\"faint\">{} for first misses</span>", grouped(misses)),
        };
        let anchor = if code.starts_with("<a") { String::new() } else { format!(" id=\"b{}\"", escape(&step.address)) };
        let _ = writeln!(
            out,
            "<tr{anchor}><td class=\"number\">{}</td><td class=\"number\">{}{first}</td><td class=\"number\">{}</td>\
             <td><code>{}</code><br/><span class=\"faint\">{}</span></td><td class=\"source\">{source}</td><td>{code}</td></tr>",
            grouped(start),
            grouped(step.cycles),
            grouped(step.count),
            escape(&step.function),
            escape(&step.address)
        );
        start = start.saturating_add(step.cycles);
    }
    out.push_str("</tbody></table>\n");
    if report.path.len() > STEPS {
        let _ = writeln!(out, "<p>{} follow; the JSON form has all.</p>", count(report.path.len() - STEPS, "step"));
    }
    out.push_str("</section>\n");
}

/// Source lines and instructions of a block.
fn listing(block: &Block) -> (String, String) {
    let (mut source, mut code) = (String::new(), String::from("<pre>"));
    for instruction in &block.instructions {
        let _ = writeln!(
            code,
            "<span class=\"faint\">{}</span>  {}",
            escape(&instruction.address),
            escape(&instruction.text)
        );
        if let Some(place) = &instruction.source {
            let name = place.rsplit('/').next().unwrap_or(place);
            let text = instruction.source_text.as_deref().unwrap_or_default();
            let (name, place, text) = (escape(name), escape(place), escape(text.trim()));
            let _ =
                write!(source, "<div title=\"{place}\"><span class=\"faint\">{name}</span> <code>{text}</code></div>");
        }
    }
    code.push_str("</pre>");
    (source, code)
}
