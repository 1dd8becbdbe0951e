//! The page of the manual: what the protocol is for, its messages, states, sizes and subprotocols.

use super::chart::{consequence, marks, rows};
use crate::decompose::Decomposition;
use crate::model::{Cookie, Field, Message, Protocol, StateId};
use crate::sizes::{Size, Sizes};
use crate::Checked;
use std::fmt::Write;

pub fn page(checked: &Checked, decomposition: &Decomposition, sizes: &Sizes, banner: &str) -> String {
    let protocol = &checked.protocol;
    let name = &protocol.name;
    let mut out = format!("<!-- {} -->\n# Protocol `{name}`\n\n", banner.replace("--", "- -"));
    let _ = writeln!(out, "{}\n\n![Statechart of {name}]({name}.svg)\n", protocol.doc);
    for (incoming, title) in [(true, "Messages to the driver"), (false, "Messages from the driver")] {
        let _ = writeln!(out, "## {title}\n\n| message | payload | requests | |\n|---|---|---|---|");
        for message in protocol.messages.iter().filter(|message| message.incoming == incoming) {
            let payload: Vec<String> = message.fields.iter().map(field).collect();
            let local = match (message.is_local, message.is_owed) {
                (true, _) => "(an act of the driver) ",
                (_, true) => "(owed) ",
                _ => "",
            };
            let (label, requests) = (message.label(), requests(protocol, message));
            let doc = cell(&message.doc);
            let _ = writeln!(out, "| `{label}` | {} | {requests} | {local}{doc} |", payload.join("<br>"));
        }
        out.push('\n');
    }
    if !protocol.requests.is_empty() {
        out.push_str("Requests, and how many may be open at a time: ");
        let limits: Vec<String> = protocol.requests.iter().map(|one| format!("`{}` {}", one.name, one.limit)).collect();
        let _ = writeln!(out, "{}.\n", limits.join(", "));
    }
    out.push_str("## States\n\n");
    for &child in &protocol.states[0].children {
        state(&mut out, protocol, child, 0);
    }
    size_table(&mut out, sizes);
    subprotocols(&mut out, checked, decomposition);
    out
}

/// A comment as one cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

fn field(field: &Field) -> String {
    let array = field.count.map(|count| format!("[{count}]")).unwrap_or_default();
    let range = if field.is_bounded() { format!(" {}..{}", field.least, field.most) } else { String::new() };
    let doc = if field.doc.is_empty() { String::new() } else { format!(": {}", cell(&field.doc)) };
    format!("`{} u{}{array}{range}`{doc}", field.name, field.bits)
}

fn requests(protocol: &Protocol, message: &Message) -> String {
    let mut parts = Vec::new();
    if let Some((cookie, request)) = message.cookie {
        let verb = match cookie {
            Cookie::Opens => "opens",
            Cookie::Closes => "closes",
            Cookie::Names => "names",
        };
        parts.push(format!("{verb} `{}`", protocol.requests[request].name));
    }
    parts.extend(message.drained.iter().map(|one| format!("no `{}` open", protocol.requests[*one].name)));
    parts.extend(message.drops.iter().map(|one| format!("ends all `{}`", protocol.requests[*one].name)));
    parts.join(", ")
}

/// A state and what stands in it, as a nested list.
fn state(out: &mut String, protocol: &Protocol, id: StateId, depth: usize) {
    let indent = "  ".repeat(depth);
    let own = &protocol.states[id];
    let marks = marks(protocol, id).join(", ");
    let kind = if own.is_region { "region " } else { "" };
    let marks = if marks.is_empty() { String::new() } else { format!(" ({marks})") };
    let doc = if own.doc.is_empty() { String::new() } else { format!(": {}", own.doc.replace('\n', " ")) };
    let _ = writeln!(out, "{indent}- {kind}**{}**{marks}{doc}", own.name);
    for row in rows(protocol, id) {
        let label = |edge: &usize| format!("`{}`", protocol.messages[protocol.edges[*edge].message].label());
        let labels: Vec<String> = row.edges.iter().map(label).collect();
        let _ = writeln!(out, "{indent}  - {} {}", labels.join(" "), consequence(protocol, &row));
    }
    for &child in &own.children {
        state(out, protocol, child, depth + 1);
    }
}

fn size_table(out: &mut String, sizes: &Sizes) {
    out.push_str("\n## Sizes\n\n| | states | transitions | |\n|---|---|---|---|\n");
    let mut row = |name: &str, size: Size, says: &str| {
        let _ = writeln!(out, "| {name} | {} | {} | {says} |", size.states, size.transitions);
    };
    row("written", sizes.written, "leaves of the hierarchy; edges, one for each message on them");
    row("automaton", sizes.automaton, "combinations of leaves that can be reached; states and messages they enable");
    row("minimal", sizes.minimal, "equivalent states merged");
    row("largest subprotocol", sizes.largest_subprotocol, "");
    row("all subprotocols", sizes.all_subprotocols, "");
    let _ = writeln!(out, "\n{} messages, {} subprotocols.", sizes.messages, sizes.subprotocols);
    if let Some([states, transitions, parts]) = sizes.paper {
        let _ = writeln!(
            out,
            "The protocol of the same name in Amani et al. (2012) has {states} states, {transitions} transitions and \
             {parts} subprotocols.",
        );
    }
}

fn subprotocols(out: &mut String, checked: &Checked, decomposition: &Decomposition) {
    let automaton = &checked.flat.automaton;
    out.push_str("\n## Subprotocols\n\nA driver that keeps to each of these keeps to the protocol.\n\n");
    out.push_str("| | there for | alphabet | states | transitions |\n|---|---|---|---|---|\n");
    for (index, part) in decomposition.subprotocols.iter().enumerate() {
        let letters: Vec<String> =
            part.automaton.letters.iter().map(|letter| format!("`{}`", letter.label())).collect();
        let (states, transitions) = (part.automaton.states.len(), part.automaton.transitions());
        let (title, letters) = (part.title(automaton), letters.join(" "));
        let _ = writeln!(out, "| {} | {title} | {letters} | {states} | {transitions} |", index + 1);
    }
}
