//! The report for a person at a terminal: the verdict first, then what it rests on.

use std::fmt::Write;

use crate::model::{Loop, Report, Verdict};
use crate::words::{self, count, grouped};

/// Functions, bars and regions shown; the other forms have all.
const SHOWN: usize = 10;

/// The report in lines of text. Writing to a text cannot fail, so results of `writeln` are dropped.
pub fn human(report: &Report) -> String {
    let mut out = String::new();
    let (program, machine) = (&report.program, &report.machine);
    let _ = writeln!(out, "{} on {}: {}", program.entry, machine.name, words::verdict(report));
    if let Some(slack) = words::slack(report) {
        let _ = writeln!(out, "{slack}");
    }
    if report.wcet_cycles.is_some() && !report.analysis.complete {
        let _ = writeln!(
            out,
            "paths were not refined to the end, for want of time or of a solver: the bound holds, a lower one may too"
        );
    }
    errors(&mut out, report);
    if let Some(explanation) = &report.explanation {
        let _ = write!(out, "\n{}", crate::explain(explanation));
        return out;
    }
    constraints(&mut out, report);
    regions(&mut out, report);
    responses(&mut out, report);
    locks(&mut out, report);
    if report.verdict != Verdict::Refused {
        waterfall(&mut out, report);
        functions(&mut out, report);
        loops(&mut out, &report.loops);
        let _ = writeln!(out, "\n{} of edges excluded", count(report.infeasible.len(), "infeasible set"));
    }
    observed(&mut out, report);
    if !report.assumptions.is_empty() {
        let _ = writeln!(out, "\nThe bound rests on");
        for assumption in &report.assumptions {
            let _ = writeln!(out, "  {:8} {}", assumption.of, assumption.text);
        }
    }
    out
}

/// The loops alone, or what stands in the way of finding them.
pub fn human_loops(report: &Report) -> String {
    let mut out = String::new();
    if report.verdict == Verdict::Refused {
        errors(&mut out, report);
    } else {
        loops(&mut out, &report.loops);
    }
    out.trim_start().to_string()
}

fn errors(out: &mut String, report: &Report) {
    for error in &report.errors {
        let place = [&error.address, &error.symbol, &error.source].into_iter().flatten().cloned().collect::<Vec<_>>();
        let place = if place.is_empty() { String::new() } else { format!("{}: ", place.join(" ")) };
        let _ = writeln!(out, "error[{}] {place}{}\n  help: {}", error.code, error.message, error.remedy);
    }
}

fn loops(out: &mut String, loops: &[Loop]) {
    if loops.is_empty() {
        let _ = writeln!(out, "\nno loops");
        return;
    }
    let bounded = loops.iter().filter(|found| found.bound.is_some()).count();
    let _ = writeln!(out, "\n{}, {bounded} bounded", count(loops.len(), "loop"));
    for found in loops {
        let evidence = found.evidence.map(words::evidence).unwrap_or("no bound");
        let source = found.source.as_deref().unwrap_or_default();
        let place = format!("{} {}", found.address, found.function);
        let _ = writeln!(out, "  {place:40} {:>12}  {evidence:13} {source}", words::bound(found));
        for text in [&found.detail, &found.reason].into_iter().flatten() {
            let _ = writeln!(out, "      {text}");
        }
        if let Some(fact) = &found.least_fact {
            let _ = writeln!(out, "      it would take: {fact}");
        }
    }
}

fn constraints(out: &mut String, report: &Report) {
    for constraint in &report.constraints {
        let verdict = if constraint.validated { "holds" } else { "is not shown to hold" };
        let _ = writeln!(out, "constraint `{}` {verdict}", constraint.text);
        if let Some(run) = &constraint.counterexample {
            let _ = writeln!(out, "  against it: {run}");
        }
    }
}

fn regions(out: &mut String, report: &Report) {
    if let Some(cycles) = report.worst_response_cycles {
        let _ = writeln!(out, "worst response to an interrupt: {} cycles", grouped(cycles));
    }
    let stated = report.assumptions.iter().filter(|assumption| assumption.of == "stated").count();
    if report.regions.is_some() && stated > 0 {
        let _ =
            writeln!(out, "this rests on {} that nothing here shows, listed at the end", count(stated, "statement"));
    }
    if let Some((wait, processors)) = report.lock_wait_cycles.zip(report.lock_processors) {
        let wait = grouped(wait);
        let _ = writeln!(out, "waits for locks among {processors} processors, to be added: {wait} cycles");
    }
    if let Some(bytes) = report.stack_bytes {
        let _ = writeln!(out, "deepest stack: {} bytes", grouped(bytes));
    }
    let Some(regions) = &report.regions else { return };
    let _ = writeln!(out, "\n{}, longest first", count(regions.len(), "region"));
    for region in regions.iter().take(SHOWN) {
        let cycles = region.wcet_cycles.map_or_else(|| "no bound".into(), grouped);
        let dominated = region.dominated_by.as_deref().unwrap_or_default();
        let _ = writeln!(out, "  {cycles:>12}  {:16} {}  {dominated}", region.kind, region.name);
    }
}

fn responses(out: &mut String, report: &Report) {
    if report.responses.is_some() {
        let _ = writeln!(out, "\n    response       service       handler  vectors, and where the handler waits");
    }
    for (vectors, one) in words::responses(report) {
        let (all, service, handler) = (grouped(one.cycles), grouped(one.service_cycles), grouped(one.handler_cycles));
        let who = one.handler.as_deref().unwrap_or("none waits");
        let waits = words::lock_waits(one);
        let waits = if waits.is_empty() { waits } else { format!("; waits for locks: {waits}") };
        let name = words::first_word(&one.name);
        let _ = writeln!(out, "{all:>12}  {service:>12}  {handler:>12}  {vectors} {name}: {who}{waits}");
    }
    let Some(loops) = &report.response_loops else { return };
    let _ = writeln!(out, "\n{} in the regions of responses, those with most cycles first", count(loops.len(), "loop"));
    for one in loops.iter().take(2 * SHOWN) {
        let bound = one.bound.map_or_else(|| "none".into(), grouped);
        let place = format!("{} {}", one.address, one.function);
        let _ = writeln!(out, "  {place:40} {bound:>8}  {:>12} cycles", grouped(one.cycles));
    }
}

fn locks(out: &mut String, report: &Report) {
    let Some((locks, processors)) = report.locks.as_ref().zip(report.lock_processors) else { return };
    let _ = writeln!(out, "\n{}, waits among {processors} processors", count(locks.len(), "lock kind"));
    let _ = writeln!(out, "  {:>12} {:>16} {:>18}  lock", "section", "with waits in it", "wait for one");
    for lock in locks {
        let (section, held, wait) =
            (grouped(lock.section_cycles), grouped(lock.held_cycles), grouped(lock.wait_cycles));
        let name = words::lock(lock);
        let _ = writeln!(out, "  {section:>12} {held:>16} {wait:>18}  {name:24} {}", lock.place);
    }
}

fn waterfall(out: &mut String, report: &Report) {
    if report.waterfall.is_empty() {
        return;
    }
    let total = report.wcet_cycles.unwrap_or(0).max(1);
    let _ = writeln!(out, "\nThe worst path, from call to call");
    for bar in crate::html::merged(&report.waterfall, 2 * SHOWN) {
        let marks = "#".repeat((bar.cycles as f64 / total as f64 * 40.0).round() as usize);
        let _ = writeln!(out, "  {:>12}  {:32} {marks}", grouped(bar.cycles), bar.function);
    }
}

fn functions(out: &mut String, report: &Report) {
    if report.functions.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n        self         total  function");
    for function in report.functions.iter().take(SHOWN) {
        let (own, total) = (grouped(function.self_cycles), grouped(function.total_cycles));
        let _ = writeln!(out, "{own:>12}  {total:>12}  {}", function.function);
    }
}

fn observed(out: &mut String, report: &Report) {
    if report.observed.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n    observed         bound  ratio");
    for row in &report.observed {
        let (seen, bound) = (grouped(row.cycles), grouped(row.bound_cycles));
        let ratio = row.bound_cycles as f64 / row.cycles.max(1) as f64;
        let _ = writeln!(out, "{seen:>12}  {bound:>12}  {ratio:5.2}  {}", row.name);
    }
}
