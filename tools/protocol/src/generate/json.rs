//! The automaton and its subprotocols as JSON, for the checker and other programs.
//!
//! Messages, states and so on are named by their index in their list. `transitions` of the automaton name the edges of
//! the file they come from. In a subprotocol, a message that is not in its alphabet leaves its state alone.

use crate::automaton::Automaton;
use crate::decompose::{Decomposition, Purpose, Subprotocol};
use crate::model::{Message, Protocol};
use crate::Checked;
use serde_json::{json, Value};
use std::collections::BTreeSet;

pub fn text(checked: &Checked, decomposition: &Decomposition, banner: &str) -> String {
    // Maps keep their order, so the banner comes first.
    let mut text = format!("{{\n\"generated\": {},\n", json!(banner));
    let value = value(checked, decomposition);
    let members: Vec<String> = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{}: {}", json!(key), lines(value)))
        .collect();
    text.push_str(&members.join(",\n"));
    text.push_str("\n}\n");
    text
}

/// A list with one element a line, so that differences can be read.
fn lines(value: &Value) -> String {
    match value.as_array().filter(|list| list.iter().any(Value::is_object)) {
        Some(list) => format!("[\n{}\n]", list.iter().map(Value::to_string).collect::<Vec<_>>().join(",\n")),
        None => value.to_string(),
    }
}

pub fn value(checked: &Checked, decomposition: &Decomposition) -> Value {
    let (protocol, flat) = (&checked.protocol, &checked.flat);
    let transitions: Vec<Value> = transitions(&flat.automaton)
        .map(|(from, letter, to)| json!({"from": from, "message": letter, "to": to, "edge": flat.edges[from][letter]}))
        .collect();
    let states: Vec<Value> = flat
        .automaton
        .states
        .iter()
        .enumerate()
        .map(|(id, state)| {
            let active: Vec<usize> = flat.active(protocol, id).into_iter().filter(|state| *state > 0).collect();
            json!({
                "name": state.name,
                "active": active,
                "timed": state.timed,
                "fair": promises(&state.fair),
                "final": state.is_final,
            })
        })
        .collect();
    let parts: Vec<Value> = decomposition.subprotocols.iter().map(|part| subprotocol(part, &flat.automaton)).collect();
    json!({
        "protocol": protocol.name,
        "number": protocol.number,
        "doc": protocol.doc,
        "requests": protocol.requests.iter().map(|one| json!({"name": one.name, "limit": one.limit})).collect::<Vec<_>>(),
        "messages": protocol.messages.iter().map(message).collect::<Vec<_>>(),
        "timed": flat.automaton.timed,
        "states": states,
        "transitions": transitions,
        "chart": chart(protocol),
        "edges": edges(protocol),
        "free": decomposition.free,
        "subprotocols": parts,
    })
}

fn promises(fair: &BTreeSet<BTreeSet<usize>>) -> Value {
    json!(fair)
}

fn transitions(automaton: &Automaton) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
    automaton.states.iter().enumerate().flat_map(|(from, state)| {
        state.next.iter().enumerate().filter_map(move |(letter, to)| to.map(|to| (from, letter, to)))
    })
}

fn message(message: &Message) -> Value {
    json!({
        "name": message.name,
        "incoming": message.incoming,
        "local": message.is_local,
        "owed": message.is_owed,
        "doc": message.doc,
        "fields": message.fields,
        "cookie": message.cookie.map(|(cookie, request)| json!({"does": cookie, "request": request})),
        "drained": message.drained,
        "drops": message.drops,
    })
}

/// The hierarchy as it is written; state 0 stands for the protocol.
fn chart(protocol: &Protocol) -> Vec<Value> {
    let state = |state: &crate::model::State| {
        let (line, _) = protocol.source.point(state.span.start);
        let needs = state.needs.iter().map(|need| json!({"protocol": need.protocol, "state": need.state}));
        json!({
            "name": state.name,
            "region": state.is_region,
            "parent": state.parent,
            "initial": state.initial,
            "needs": needs.collect::<Vec<_>>(),
            "line": line,
        })
    };
    protocol.states.iter().map(state).collect()
}

fn edges(protocol: &Protocol) -> Vec<Value> {
    let edge = |edge: &crate::model::Edge| {
        let (line, _) = protocol.source.point(edge.span.start);
        json!({
            "source": edge.source,
            "message": edge.message,
            "target": edge.target,
            "when": edge.when,
            "unless": edge.unless,
            "line": line,
        })
    };
    protocol.edges.iter().map(edge).collect()
}

fn subprotocol(part: &Subprotocol, protocol: &Automaton) -> Value {
    let message = |letter: usize| part.alphabet[letter];
    let promise = |promise: &BTreeSet<usize>| promise.iter().map(|letter| message(*letter)).collect::<Vec<_>>();
    let states: Vec<Value> = part
        .automaton
        .states
        .iter()
        .map(|state| {
            let fair: Vec<_> = state.fair.iter().map(promise).collect();
            json!({"timed": state.timed, "fair": fair, "final": state.is_final})
        })
        .collect();
    let transitions: Vec<Value> = transitions(&part.automaton)
        .map(|(from, letter, to)| json!({"from": from, "message": message(letter), "to": to}))
        .collect();
    let timed = part.purposes.iter().filter_map(|purpose| match purpose {
        Purpose::Timed(mark) => Some(mark),
        _ => None,
    });
    json!({
        "title": part.title(protocol),
        "alphabet": part.alphabet,
        "guards": part.guards().collect::<Vec<_>>(),
        "timed": timed.collect::<Vec<_>>(),
        "fair": part.purposes.iter().any(|purpose| matches!(purpose, Purpose::Fair(_))),
        "final": part.purposes.contains(&Purpose::Final),
        "states": states,
        "transitions": transitions,
    })
}
