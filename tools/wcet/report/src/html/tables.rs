//! The tables of the page: errors, regions, loops, what was found out about paths, parameters.

use std::fmt::Write;

use super::escape;
use crate::model::{Branch, Loop, Report};
use crate::words::{self, duration, grouped};

/// Opens a section with a table of these columns; those that begin with `#` hold numbers.
pub(super) fn open(out: &mut String, anchor: &str, title: &str, columns: &[&str]) {
    let _ = write!(out, "<section id=\"{anchor}\"><h2>{title}</h2>\n<table>\n<thead><tr>");
    for column in columns {
        let _ = match column.strip_prefix('#') {
            Some(name) => write!(out, "<th class=\"number\">{name}</th>"),
            None => write!(out, "<th>{column}</th>"),
        };
    }
    out.push_str("</tr></thead>\n<tbody>\n");
}

pub(super) fn close(out: &mut String) {
    out.push_str("</tbody></table>\n</section>\n");
}

fn text(field: &Option<String>) -> String {
    escape(field.as_deref().unwrap_or_default())
}

pub fn errors(out: &mut String, report: &Report) {
    if report.errors.is_empty() {
        return;
    }
    open(out, "errors", "Errors", &["code", "where", "what", "remedy"]);
    for error in &report.errors {
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code></td><td><code>{}</code> {}<br/><span class=\"faint\">{}</span></td><td>{}</td><td>{}</td></tr>",
            escape(&error.code),
            text(&error.address),
            text(&error.symbol),
            text(&error.source),
            escape(&error.message),
            escape(&error.remedy)
        );
    }
    close(out);
}

pub fn regions(out: &mut String, report: &Report) {
    let Some(regions) = &report.regions else { return };
    let columns = ["region", "kind", "#cycles", "#waits for locks", "#stack bytes", "dominated by"];
    open(out, "regions", "Regions", &columns);
    for region in regions {
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code></td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            escape(&region.name),
            escape(&region.kind),
            region.wcet_cycles.map_or_else(|| "no bound".into(), grouped),
            region.lock_wait_cycles.map(grouped).unwrap_or_default(),
            region.stack_bytes.map(grouped).unwrap_or_default(),
            text(&region.dominated_by)
        );
    }
    close(out);
}

pub fn locks(out: &mut String, report: &Report) {
    let Some((locks, processors)) = report.locks.as_ref().zip(report.lock_processors) else { return };
    let wait = format!("#wait for one among {processors} processors");
    let columns = ["lock", "taken for longest at", "#section", "#with waits in it", &wait, "also waits in"];
    open(out, "locks", "Locks", &columns);
    for lock in locks {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td><code>{}</code></td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            escape(&words::lock(lock)),
            escape(&lock.place),
            grouped(lock.section_cycles),
            grouped(lock.held_cycles),
            grouped(lock.wait_cycles),
            escape(&lock.waits.join(", "))
        );
    }
    close(out);
}

pub fn loops(out: &mut String, report: &Report) {
    if report.loops.is_empty() {
        return;
    }
    open(out, "loops", "Loops", &["function", "header", "source", "#bound", "evidence", "why"]);
    for found in &report.loops {
        let evidence = found.evidence.map_or("none", words::evidence);
        let class = if found.bound.is_none() { " class=\"open\"" } else { "" };
        let _ = writeln!(
            out,
            "<tr{class}><td><code>{}</code></td><td><code>{}</code></td><td>{}</td><td class=\"number\">{}</td><td>{evidence}</td><td>{}</td></tr>",
            escape(&found.function),
            escape(&found.address),
            text(&found.source),
            words::bound(found),
            why(found)
        );
    }
    close(out);
}

fn why(found: &Loop) -> String {
    let mut out = text(&found.detail);
    if let Some(reason) = &found.reason {
        let _ = write!(out, "{}", escape(reason));
    }
    if let Some(fact) = &found.least_fact {
        let _ = write!(out, "<br/>It would take: {}", escape(fact));
    }
    if !found.contexts.is_empty() {
        out.push_str("<details><summary>by context</summary>");
        for context in &found.contexts {
            let bound = context.bound.map_or_else(|| "none".into(), grouped);
            let _ = write!(out, "<div>{bound}: <code>{}</code></div>", escape(&context.calls.join(" > ")));
        }
        out.push_str("</details>");
    }
    out
}

pub fn infeasible(out: &mut String, report: &Report) {
    if report.infeasible.is_empty() {
        return;
    }
    open(out, "infeasible", "Infeasible paths", &["edges that exclude each other", "within", "#bound then"]);
    for set in &report.infeasible {
        let edges: Vec<String> = set.edges.iter().map(edge).collect();
        let bound = set.wcet_cycles.map(grouped).unwrap_or_default();
        let scope = escape(&set.scope);
        let _ = writeln!(out, "<tr><td>{}</td><td>{scope}</td><td class=\"number\">{bound}</td></tr>", edges.join(""));
    }
    close(out);
}

fn edge(edge: &Branch) -> String {
    format!(
        "<div><code>{}</code> {} → {} <span class=\"faint\">{}</span></div>",
        escape(&edge.function),
        escape(&edge.from),
        escape(&edge.to),
        text(&edge.source)
    )
}

pub fn constraints(out: &mut String, report: &Report) {
    if report.constraints.is_empty() {
        return;
    }
    open(out, "constraints", "Constraints", &["as stated", "holds", "against it"]);
    for constraint in &report.constraints {
        let holds = if constraint.validated { "yes" } else { "not shown" };
        let (stated, run) = (escape(&constraint.text), text(&constraint.counterexample));
        let _ = writeln!(out, "<tr><td><code>{stated}</code></td><td>{holds}</td><td>{run}</td></tr>");
    }
    close(out);
}

pub fn observed(out: &mut String, report: &Report) {
    if report.observed.is_empty() {
        return;
    }
    open(out, "observed", "Computed against observed", &["region", "#passages", "#longest", "#bound", "#ratio"]);
    for row in &report.observed {
        let ratio = row.bound_cycles as f64 / row.cycles.max(1) as f64;
        let class = if row.cycles > row.bound_cycles { " class=\"open\"" } else { "" };
        let _ = writeln!(
            out,
            "<tr{class}><td><code>{}</code></td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{ratio:.2}</td></tr>",
            escape(&row.name),
            grouped(row.passages),
            grouped(row.cycles),
            grouped(row.bound_cycles)
        );
    }
    close(out);
}

pub fn parameters(out: &mut String, report: &Report) {
    if report.machine.numbers.is_empty() {
        return;
    }
    open(out, "parameters", "The machine's numbers", &["parameter", "value", "source"]);
    for number in &report.machine.numbers {
        let value = match &number.instead_of {
            Some(before) => {
                format!("{} <span class=\"faint\">instead of {}</span>", escape(&number.value), escape(before))
            }
            None => escape(&number.value),
        };
        let (place, source) = (escape(&number.place), escape(&number.source));
        let _ = writeln!(out, "<tr><td><code>{place}</code></td><td>{value}</td><td>{source}</td></tr>");
    }
    out.push_str("</tbody></table>\n<ul>\n");
    for source in &report.machine.sources {
        let _ = writeln!(out, "<li><code>{}</code>: {}</li>", escape(&source.name), escape(&source.title));
    }
    out.push_str("</ul>\n</section>\n");
}

pub fn reproduce(out: &mut String, report: &Report) {
    open(out, "reproduce", "Reproduce", &["what", "value"]);
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(out, "<tr><td>{name}</td><td><code>{}</code></td></tr>", escape(value));
    };
    let (program, analysis) = (&report.program, &report.analysis);
    row("command", &analysis.command.join(" "));
    row("executable", &format!("{}, {} bytes", program.file, grouped(program.bytes)));
    row("its SHA-256", &program.sha256);
    row("machine file", &report.machine.name);
    row("its SHA-256", &report.machine.sha256);
    row("analyser", &analysis.version);
    row("form of this report", &report.version.to_string());
    for number in report.machine.numbers.iter().filter(|number| number.instead_of.is_some()) {
        row("changed parameter", &format!("{} = {}", number.place, number.value));
    }
    let reached = format!(
        "{} functions, {} instructions, {} blocks in contexts",
        program.reached_functions, program.reached_instructions, program.nodes
    );
    row("analysed", &reached);
    out.push_str("</tbody></table>\n<table>\n<thead><tr><th>stage</th><th class=\"number\">time</th><th>result</th></tr></thead>\n<tbody>\n");
    for phase in &analysis.phases {
        let (name, time, result) = (escape(&phase.name), duration(phase.seconds), escape(&phase.result));
        let _ = writeln!(out, "<tr><td>{name}</td><td class=\"number\">{time}</td><td>{result}</td></tr>");
    }
    out.push_str("</tbody></table>\n");
    if analysis.refinement.len() > 1 {
        out.push_str("<h3>Bounds on the way</h3>\n<table>\n<thead><tr><th class=\"number\">after</th><th class=\"number\">cycles</th><th class=\"number\">infeasible sets</th></tr></thead>\n<tbody>\n");
        for step in &analysis.refinement {
            let (after, cycles) = (duration(step.seconds), grouped(step.wcet_cycles));
            let _ = writeln!(
                out,
                "<tr><td class=\"number\">{after}</td><td class=\"number\">{cycles}</td><td class=\"number\">{}</td></tr>",
                step.infeasible
            );
        }
        out.push_str("</tbody></table>\n");
    }
    out.push_str("</section>\n");
}
