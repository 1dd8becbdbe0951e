//! Syntax tree to protocol: names resolved, duplicates and unknown names found.

mod payload;

use crate::codes::Code;
use crate::findings::Findings;
use crate::model::{Edge, Message, Need, Protocol, Request, State, StateId};
use crate::parse::syntax::{EdgeSyntax, StateSyntax, Syntax};
use diagnostics::{suggest, Diagnostic, Source, Span, Spanned};
use std::collections::HashMap;
use std::sync::Arc;

/// More cookies than this would make a driver's monitor large.
const MAX_OPEN: u64 = 4096;

/// The greatest number of a protocol: a domain has a port for each, `DOMAIN_PORTS` less the one of its events.
pub const MAX_NUMBER: u8 = 15;

/// The most messages of a protocol: an AWAIT's set has 64 bits for each port, two of which say that the link is lost or up.
const MAX_MESSAGES: usize = 62;
/// A bit for each in a word of the monitor's tables.
const MAX_REQUESTS: usize = 32;

/// The protocol that `syntax` describes. Every fault goes to `report`; what is faulty is left out.
pub fn resolve(source: &Arc<Source>, syntax: &Syntax, report: &mut Findings) -> Protocol {
    let name = syntax.name.as_ref().map(|name| name.value.clone()).unwrap_or_default();
    let mut protocol = Protocol {
        source: source.clone(),
        name,
        number: number(syntax, report),
        doc: syntax.doc.clone(),
        messages: Vec::new(),
        requests: requests(syntax, report),
        states: vec![State::default()],
        edges: Vec::new(),
    };
    messages(syntax, &mut protocol, report);
    let ids = states(syntax, &mut protocol, report);
    initials(syntax, &ids, &mut protocol, report);
    for edge in &syntax.edges {
        protocol.edges.extend(resolve_edge(edge, &ids, &protocol, report));
    }
    protocol
}

fn number(syntax: &Syntax, report: &mut Findings) -> u8 {
    let Some(number) = &syntax.number else { return 0 };
    match u8::try_from(number.value) {
        Ok(value @ 1..=MAX_NUMBER) => value,
        _ => {
            let remedy = format!(
                "give a number from 1 to {MAX_NUMBER} that no other protocol of its drivers has: a domain has a port for each"
            );
            let message = format!("the protocol's number is {}, and not one of 1 to {MAX_NUMBER}", number.value);
            report.push(Diagnostic::new(Code::Syntax, message, remedy).at(&report.source, &number.span, "this number"));
            0
        }
    }
}

/// Reports a second declaration; true if it is the first.
pub(crate) fn is_first(
    seen: &mut HashMap<String, Span>,
    name: &Spanned<String>,
    what: &str,
    report: &mut Findings,
) -> bool {
    if let Some(first) = seen.get(&name.value) {
        let message = format!("the {what} `{}` is declared twice", name.value);
        let diagnostic = Diagnostic::new(Code::Duplicate, message, "keep one, or give the other another name");
        report.push(diagnostic.at(&report.source, &name.span, "declared again").at(
            &report.source,
            first,
            "first here",
        ));
        return false;
    }
    seen.insert(name.value.clone(), name.span.clone());
    true
}

fn requests(syntax: &Syntax, report: &mut Findings) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut seen = HashMap::new();
    for request in &syntax.requests {
        if !is_first(&mut seen, &request.name, "request", report) {
            continue;
        }
        let mut limit = request.limit.value;
        if limit == 0 || limit > MAX_OPEN {
            let message = format!("at most {limit} open requests make no sense");
            let remedy = format!("give a limit from 1 to {MAX_OPEN}");
            report.push(Diagnostic::new(Code::Payload, message, remedy).at(
                &report.source,
                &request.limit.span,
                "this limit",
            ));
            limit = 1;
        }
        if requests.len() == MAX_REQUESTS {
            let message = format!("more than {MAX_REQUESTS} requests");
            let diagnostic = Diagnostic::new(Code::TooLarge, message, "let messages share requests");
            report.push(diagnostic.at(&report.source, &request.name.span, "the first too many"));
            break;
        }
        let (name, span) = (request.name.value.clone(), request.name.span.clone());
        requests.push(Request { name, limit, doc: request.doc.clone(), span });
    }
    requests
}

fn messages(syntax: &Syntax, protocol: &mut Protocol, report: &mut Findings) {
    if let Some(message) = syntax.messages.get(MAX_MESSAGES) {
        let text = format!("the protocol has {} messages, the most are {MAX_MESSAGES}", syntax.messages.len());
        let remedy = "split it into two protocols, or give one message a field that tells what is asked";
        let diagnostic = Diagnostic::new(Code::Syntax, text, remedy);
        report.push(diagnostic.at(&report.source, &message.name.span, "one too many"));
    }
    let mut seen = HashMap::new();
    for message in &syntax.messages {
        if !is_first(&mut seen, &message.name, "message", report) {
            continue;
        }
        let mut resolved = Message {
            name: message.name.value.clone(),
            incoming: message.incoming,
            doc: message.doc.clone(),
            fields: payload::fields(message, report),
            cookie: None,
            drained: Vec::new(),
            drops: Vec::new(),
            is_local: message.is_local,
            is_owed: message.is_owed,
            number: None,
            span: message.name.span.clone(),
        };
        payload::rules(message, &protocol.requests, &mut resolved, report);
        if message.is_local && message.incoming {
            let text = format!("`{}` comes from outside, so it is not local", message.name.value);
            let remedy = "declare it `out`, or drop `local`";
            report.push(Diagnostic::new(Code::Payload, text, remedy).at(
                &report.source,
                &message.name.span,
                "this message",
            ));
        }
        if message.is_owed && !message.incoming {
            let text = format!("`{}` is sent by the driver, so no one owes it to the driver", message.name.value);
            let remedy = "declare it `in`, or drop `owed`";
            report.push(Diagnostic::new(Code::Payload, text, remedy).at(
                &report.source,
                &message.name.span,
                "this message",
            ));
        }
        protocol.messages.push(resolved);
    }
}

/// Fills in the states; gives the state of each declaration, the first one of the name for a second.
fn states(syntax: &Syntax, protocol: &mut Protocol, report: &mut Findings) -> Vec<usize> {
    let mut seen = HashMap::new();
    let mut ids: Vec<usize> = Vec::new();
    for state in &syntax.states {
        is_first(&mut seen, &state.name, "state", report);
        let id = protocol.states.len();
        let parent = state.parent.map_or(0, |parent| ids[parent]);
        protocol.states.push(resolve_state(state, parent));
        protocol.states[parent].children.push(id);
        ids.push(id);
    }
    for id in 0..protocol.states.len() {
        let (regions, plain): (Vec<usize>, Vec<usize>) =
            protocol.states[id].children.iter().partition(|child| protocol.states[**child].is_region);
        if let (Some(region), Some(plain)) = (regions.first(), plain.first()) {
            let message = "regions and states side by side";
            let remedy = "put the states into a region, too";
            let (region, plain) = (&protocol.states[*region].span, &protocol.states[*plain].span);
            let diagnostic = Diagnostic::new(Code::Syntax, message, remedy);
            report.push(diagnostic.at(&report.source, region, "a region").at(
                &report.source,
                plain,
                "a state beside it",
            ));
            // Keep to one kind, so that what follows can rely on it.
            protocol.states[id].children = regions;
        }
    }
    ids
}

fn resolve_state(state: &StateSyntax, parent: usize) -> State {
    let need = |(protocol, state): &(Spanned<String>, Spanned<String>)| {
        let span = protocol.span.start..state.span.end;
        Need { protocol: protocol.value.clone(), state: state.value.clone(), span }
    };
    State {
        name: state.name.value.clone(),
        is_region: state.is_region,
        parent: Some(parent),
        children: Vec::new(),
        initial: None,
        timed: state.timed.is_some(),
        fair: state.fair.is_some(),
        is_final: state.is_final.is_some(),
        needs: state.needs.iter().map(need).collect(),
        doc: state.doc.clone(),
        span: state.name.span.clone(),
    }
}

/// Finds the initial child of every superstate, region and the protocol.
fn initials(syntax: &Syntax, ids: &[usize], protocol: &mut Protocol, report: &mut Findings) {
    let marks: HashMap<usize, Span> = std::iter::zip(ids, &syntax.states)
        .filter_map(|(id, state)| state.initial.clone().map(|span| (*id, span)))
        .collect();
    for id in 0..protocol.states.len() {
        let state = &protocol.states[id];
        if protocol.is_parallel(id) || (state.children.is_empty() && id > 0 && !state.is_region) {
            continue;
        }
        let initial: Vec<usize> = state.children.iter().copied().filter(|child| marks.contains_key(child)).collect();
        let name = if id == 0 { "the protocol".to_string() } else { format!("`{}`", state.name) };
        if initial.is_empty() {
            let remedy = match state.children.first() {
                Some(first) => format!("write `initial` after one, such as `{}`", protocol.states[*first].name),
                None => "declare a state in it, marked `initial`".to_string(),
            };
            let message = format!("{name} has no initial state");
            report.push(Diagnostic::new(Code::Initial, message, remedy).at(&report.source, &state.span, "in here"));
        }
        if let [first, second, ..] = initial[..] {
            let message = format!("{name} has more than one initial state");
            let diagnostic = Diagnostic::new(Code::Initial, message, "keep `initial` on one of them");
            report.push(diagnostic.at(&report.source, &marks[&second], "again").at(
                &report.source,
                &marks[&first],
                "first here",
            ));
        }
        let chosen = initial.first().or(state.children.first()).copied();
        protocol.states[id].initial = chosen;
    }
}

fn resolve_edge(edge: &EdgeSyntax, ids: &[usize], protocol: &Protocol, report: &mut Findings) -> Option<Edge> {
    let message = protocol.message(&edge.message.value);
    match message.map(|message| &protocol.messages[message]) {
        None => {
            let known: Vec<&str> = protocol.messages.iter().map(|message| message.name.as_str()).collect();
            let remedy = suggest::remedy(&edge.message.value, "message", &known);
            let text = format!("there is no message `{}`", edge.message.value);
            report.push(Diagnostic::new(Code::UnknownName, text, remedy).at(
                &report.source,
                &edge.message.span,
                "unknown message",
            ));
        }
        Some(declared) if declared.incoming != edge.incoming => {
            let (kind, sign) = if declared.incoming { ("in", '?') } else { ("out", '!') };
            let text = format!("`{}` is declared `{kind}`", declared.name);
            let remedy = format!("write `{sign}{}`, or change its declaration", declared.name);
            let diagnostic = Diagnostic::new(Code::WrongDirection, text, remedy);
            report.push(diagnostic.at(&report.source, &edge.message.span, "the other way").at(
                &report.source,
                &declared.span,
                "declared here",
            ));
        }
        Some(_) => {}
    }
    let target = edge.target.as_ref().map(|name| named_state(name, protocol, report));
    let mut guards = [Vec::new(), Vec::new()];
    for (is_when, name) in &edge.guards {
        guards[usize::from(!is_when)].extend(named_state(name, protocol, report));
    }
    let [when, unless] = guards;
    let target = match target {
        Some(found) => Some(found?),
        None => None,
    };
    let (source, message) = (ids[edge.source], message?);
    if let Some(target) = target {
        let split = protocol.outwards(source).find(|outer| protocol.is_within(target, *outer))?;
        if protocol.is_parallel(split) && split != source && split != target {
            let text = "this edge leads from one region into another one beside it";
            let remedy = "stay in the region, or write the edge on the superstate";
            report.push(Diagnostic::new(Code::Crossing, text, remedy).at(&report.source, &edge.span, "this edge"));
        }
    }
    Some(Edge { source, message, target, when, unless, doc: edge.doc.clone(), span: edge.span.clone() })
}

fn named_state(name: &Spanned<String>, protocol: &Protocol, report: &mut Findings) -> Option<StateId> {
    let found = protocol.state(&name.value).filter(|state| !protocol.states[*state].is_region);
    if found.is_none() {
        let states = protocol.states.iter().skip(1).filter(|state| !state.is_region);
        let known: Vec<&str> = states.map(|state| state.name.as_str()).collect();
        let text = format!("there is no state `{}`", name.value);
        let remedy = suggest::remedy(&name.value, "state", &known);
        report.push(Diagnostic::new(Code::UnknownName, text, remedy).at(&report.source, &name.span, "unknown state"));
    }
    found
}
