//! The report as one page of HTML: styles inside, no script, nothing fetched, light and dark as the reader's system is.
//!
//! The content security policy in the page forbids what the page does without, so that a browser would refuse any
//! outer resource, whatever a program's symbols or source lines contain; all of these are escaped besides.

mod calls;
mod path;
mod responses;
mod tables;

use std::fmt::Write;

use crate::model::{Bar, Report, Verdict};
use crate::words::{self, count, grouped};

const STYLE: &str = include_str!("style.css");

/// Bars of the waterfall; neighbours of small cost are drawn as one.
const BARS: usize = 40;

/// The page. Writing to a text cannot fail, so results of `write` are dropped.
pub fn html(report: &Report) -> String {
    let mut out = String::new();
    let title = format!("{} on {}", report.program.entry, report.machine.name);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(&title)
    );
    verdict(&mut out, report);
    contents(&mut out, report);
    tables::errors(&mut out, report);
    responses::responses(&mut out, report);
    responses::loops(&mut out, report);
    tables::regions(&mut out, report);
    tables::locks(&mut out, report);
    waterfall(&mut out, report);
    calls::calls(&mut out, report);
    path::path(&mut out, report);
    tables::loops(&mut out, report);
    tables::infeasible(&mut out, report);
    tables::constraints(&mut out, report);
    tables::observed(&mut out, report);
    tables::parameters(&mut out, report);
    tables::reproduce(&mut out, report);
    out.push_str("</body>\n</html>\n");
    out
}

/// `text` where HTML has text or an attribute in double quotes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Characters that HTML forbids, and those that turn the direction of the text around them.
            '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\x7f'..='\u{9f}' => out.push('\u{fffd}'),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

fn verdict(out: &mut String, report: &Report) {
    let (class, word) = match report.verdict {
        Verdict::Bounded => ("good", "Bounded"),
        Verdict::Late => ("bad", "Too late"),
        Verdict::Unbounded => ("bad", "No bound"),
        Verdict::Refused => ("bad", "Refused"),
    };
    let program = &report.program;
    let _ = writeln!(
        out,
        "<header>\n<h1><code>{}</code> of {} on {}</h1>\n<div class=\"verdict {class}\">\n<p><strong>{word}</strong> {}</p>",
        escape(&program.entry),
        escape(&program.file),
        escape(&report.machine.name),
        escape(&words::verdict(report))
    );
    if let Some(slack) = words::slack(report) {
        let _ = writeln!(out, "<p>{}</p>", escape(&slack));
    }
    if let Some(cycles) = report.worst_response_cycles {
        let _ = writeln!(out, "<p>Worst response to an interrupt: {} cycles</p>", grouped(cycles));
    }
    if let Some((wait, processors)) = report.lock_wait_cycles.zip(report.lock_processors) {
        let wait = grouped(wait);
        let _ = writeln!(out, "<p>Waits for locks among {processors} processors, to be added: {wait} cycles</p>");
    }
    if let Some(bytes) = report.stack_bytes {
        let _ = writeln!(out, "<p>Deepest stack: {} bytes</p>", grouped(bytes));
    }
    if let Some(reservation) = words::reservation(report) {
        let _ = writeln!(out, "<p>{}</p>", escape(&reservation));
    }
    out.push_str("</div>\n<section id=\"assumptions\"><h2>What it rests on</h2>\n");
    let _ = writeln!(out, "<p>The machine: {}.</p>\n<ul>", escape(&report.machine.about));
    for assumption in &report.assumptions {
        let (of, text) = (escape(&assumption.of), escape(&assumption.text));
        let _ = writeln!(out, "<li><span class=\"tag\">{of}</span> {text}</li>");
    }
    out.push_str("</ul>\n</section>\n</header>\n");
}

fn contents(out: &mut String, report: &Report) {
    let sections = [
        ("errors", "Errors", !report.errors.is_empty()),
        ("responses", "Responses", report.responses.is_some()),
        ("response-loops", "Loops in responses", report.response_loops.is_some()),
        ("regions", "Regions", report.regions.is_some()),
        ("locks", "Locks", report.locks.is_some()),
        ("waterfall", "Where the time goes", !report.waterfall.is_empty()),
        ("calls", "Calls", !report.functions.is_empty()),
        ("path", "Worst path", !report.path.is_empty()),
        ("loops", "Loops", !report.loops.is_empty()),
        ("infeasible", "Infeasible paths", !report.infeasible.is_empty()),
        ("constraints", "Constraints", !report.constraints.is_empty()),
        ("observed", "Observed", !report.observed.is_empty()),
        ("parameters", "Machine", !report.machine.numbers.is_empty()),
        ("reproduce", "Reproduce", true),
    ];
    out.push_str("<nav>");
    for (anchor, title, _) in sections.into_iter().filter(|(_, _, present)| *present) {
        let _ = write!(out, "<a href=\"#{anchor}\">{title}</a> ");
    }
    out.push_str("</nav>\n");
}

fn waterfall(out: &mut String, report: &Report) {
    if report.waterfall.is_empty() {
        return;
    }
    let total = report.waterfall.iter().map(|bar| bar.cycles).sum::<u64>().max(1) as f64;
    out.push_str("<section id=\"waterfall\"><h2>Where the time goes</h2>\n<p>The worst path from left to right, cut at calls.</p>\n<table class=\"waterfall\">\n");
    out.push_str("<thead><tr><th>part</th><th class=\"number\">cycles</th><th class=\"number\">%</th><th></th></tr></thead>\n<tbody>\n");
    for bar in merged(&report.waterfall, BARS) {
        let (left, width) = (bar.start as f64 / total * 100.0, bar.cycles as f64 / total * 100.0);
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code></td><td class=\"number\">{}</td><td class=\"number\">{width:.1}</td>\
             <td class=\"track\"><span style=\"margin-left:{left:.2}%;width:{width:.2}%\"></span></td></tr>",
            escape(&bar.function),
            grouped(bar.cycles)
        );
    }
    out.push_str("</tbody></table>\n</section>\n");
}

/// At most about `limit` bars: runs of small neighbours become one.
pub fn merged(bars: &[Bar], limit: usize) -> Vec<Bar> {
    if bars.len() <= limit {
        return bars.to_vec();
    }
    let mut sizes: Vec<u64> = bars.iter().map(|bar| bar.cycles).collect();
    sizes.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
    let least = sizes[limit / 2];
    let mut out: Vec<Bar> = Vec::new();
    let mut run = 0;
    for bar in bars {
        let large = bar.cycles > least;
        match out.last_mut() {
            Some(last) if run > 0 && !large => {
                run += 1;
                last.cycles = last.cycles.saturating_add(bar.cycles);
                last.function = format!("{} between", count(run, "part"));
            }
            _ => {
                run = usize::from(!large);
                out.push(bar.clone());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_program_becomes_markup() {
        assert_eq!(
            escape("<a href=\"x\" on='y'>&\0\u{202e}"),
            "&lt;a href=&quot;x&quot; on=&#39;y&#39;&gt;&amp;\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn merging_bars_keeps_the_sum() {
        let bar = |cycles| Bar { function: "f".into(), cycles, ..Bar::default() };
        let bars: Vec<Bar> = (0..100).map(|number| bar(if number % 10 == 0 { 1000 } else { number })).collect();
        let fewer = merged(&bars, 30);
        assert!(fewer.len() <= 31, "{}", fewer.len());
        assert_eq!(fewer.iter().map(|bar| bar.cycles).sum::<u64>(), bars.iter().map(|bar| bar.cycles).sum::<u64>());
        assert!(fewer.iter().any(|bar| bar.function == "9 parts between"));
        assert_eq!(merged(&bars, 100), bars);
    }
}
