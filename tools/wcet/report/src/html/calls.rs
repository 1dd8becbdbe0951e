//! The call tree of the worst path, and what each function costs.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::escape;
use crate::model::Report;
use crate::summary::chain;
use crate::words::grouped;

/// Calls deeper than this are counted with their caller.
const DEPTH: usize = 60;

#[derive(Default)]
struct Costs {
    own: u64,
    total: u64,
    children: Vec<usize>,
}

pub fn calls(out: &mut String, report: &Report) {
    if report.functions.is_empty() {
        return;
    }
    out.push_str("<section id=\"calls\"><h2>Calls</h2>\n");
    table(out, report);
    let (roots, costs) = costs(report);
    out.push_str("<h3>By calling context</h3>\n<div class=\"tree\">\n");
    roots.into_iter().for_each(|root| branch(out, report, &costs, root, 0));
    out.push_str("</div>\n</section>\n");
}

fn table(out: &mut String, report: &Report) {
    out.push_str(
        "<table>\n<thead><tr><th>function</th><th class=\"number\">self</th><th class=\"number\">total</th>\
         <th class=\"number\">first block runs</th><th>source</th><th>calls</th></tr></thead>\n<tbody>\n",
    );
    for function in &report.functions {
        let callees: Vec<String> = function
            .callees
            .iter()
            .map(|callee| format!("<code>{}</code> {}", escape(&callee.function), grouped(callee.cycles)))
            .collect();
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code></td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td>{}</td><td>{}</td></tr>",
            escape(&function.function),
            grouped(function.self_cycles),
            grouped(function.total_cycles),
            grouped(function.entered),
            escape(function.source.as_deref().unwrap_or_default()),
            callees.join(", ")
        );
    }
    out.push_str("</tbody></table>\n");
}

fn costs(report: &Report) -> (Vec<usize>, BTreeMap<usize, Costs>) {
    let mut costs: BTreeMap<usize, Costs> = BTreeMap::new();
    let mut roots = Vec::new();
    for step in &report.path {
        let mut chain = chain(report, step.context);
        chain.truncate(DEPTH);
        for (depth, context) in chain.iter().enumerate() {
            let known = costs.contains_key(context);
            let entry = costs.entry(*context).or_default();
            entry.total = entry.total.saturating_add(step.cycles);
            if depth + 1 == chain.len() {
                entry.own = entry.own.saturating_add(step.cycles);
            }
            if known {
                continue;
            }
            match depth.checked_sub(1).and_then(|above| costs.get_mut(&chain[above])) {
                Some(caller) => caller.children.push(*context),
                None => roots.push(*context),
            }
        }
    }
    (roots, costs)
}

fn branch(out: &mut String, report: &Report, costs: &BTreeMap<usize, Costs>, context: usize, depth: usize) {
    let Some(cost) = costs.get(&context) else { return };
    let name = report.contexts.get(context).map_or("", |context| context.function.as_str());
    let site = report.contexts.get(context).and_then(|context| context.call_site.as_deref());
    let site = site.map(|site| format!(" <span class=\"faint\">from {}</span>", escape(site))).unwrap_or_default();
    let label =
        format!("<code>{}</code>{site} total {}, self {}", escape(name), grouped(cost.total), grouped(cost.own));
    if cost.children.is_empty() {
        let _ = writeln!(out, "<div class=\"leaf\">{label}</div>");
        return;
    }
    let open = if depth < 2 { " open=\"open\"" } else { "" };
    let _ = writeln!(out, "<details{open}><summary>{label}</summary>");
    let mut children = cost.children.clone();
    children.sort_by_key(|child| std::cmp::Reverse(costs.get(child).map_or(0, |cost| cost.total)));
    children.into_iter().for_each(|child| branch(out, report, costs, child, depth + 1));
    out.push_str("</details>\n");
}
