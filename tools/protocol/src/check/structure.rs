//! Edges that conflict, and what is never used or reached.

use super::Subject;
use crate::codes::Code;
use crate::findings::Findings;
use crate::flatten::{used_messages, Flat};
use crate::model::{Cookie, Protocol, StateId};
use diagnostics::Diagnostic;
use std::collections::{BTreeSet, HashSet};

pub fn too_large(protocol: &Protocol, flat: &Flat, report: &mut Findings) {
    if flat.is_cut_off {
        let parallel = (0..protocol.states.len()).find(|state| protocol.is_parallel(*state)).unwrap_or_default();
        let message = format!("the protocol has more than {} states", flat.leaves.len() - 1);
        let diagnostic = Diagnostic::new(Code::TooLarge, message, "merge or drop regions");
        report.push(diagnostic.at(&report.source, &protocol.states[parallel].span, "these regions"));
    }
}

/// One message, two edges.
pub fn conflicts(subject: &Subject, report: &mut Findings) {
    let protocol = subject.protocol;
    let mut told = HashSet::new();
    // In the order of discovery, so the first witness of a pair of edges is a shortest one.
    for (state, [first, second]) in &subject.flat.conflicts {
        if !told.insert((first, second)) {
            continue;
        }
        let (one, two) = (&protocol.edges[*first], &protocol.edges[*second]);
        let name = protocol.messages[one.message].label();
        let at = |source: StateId| format!("`{}`", protocol.states[source].name);
        let nested = protocol.is_within(one.source, two.source) || protocol.is_within(two.source, one.source);
        let (code, message, remedy) = if !nested {
            let message =
                format!("{name} is enabled in two regions at once, in {} and {}", at(one.source), at(two.source));
            (Code::TwoRegions, message, "let one region own the message")
        } else if one.source == two.source && one.target == two.target {
            (Code::Duplicate, format!("{name} takes the same edge of {} twice", at(one.source)), "drop one of them")
        } else if one.source == two.source {
            (Code::Nondeterminism, format!("{name} takes two edges of {}", at(one.source)), "drop one of them")
        } else {
            let message = format!("{name} takes an edge of {} and one of {}", at(one.source), at(two.source));
            (Code::Nondeterminism, message, "drop one, or write the outer one on the states that need it")
        };
        let diagnostic = Diagnostic::new(code, message, remedy).at(&report.source, &two.span, "this edge").at(
            &report.source,
            &one.span,
            "and this one",
        );
        report.push(diagnostic.after(subject.witness(*state)));
    }
}

/// Messages that no edge carries, requests that no message opens or ends.
pub fn unused(subject: &Subject, report: &mut Findings) {
    let protocol = subject.protocol;
    let used = used_messages(subject.flat);
    for (id, message) in protocol.messages.iter().enumerate().filter(|(id, _)| !used.contains(id)) {
        let edge = protocol.edges.iter().find(|edge| edge.message == id);
        let text = format!("the message `{}` is never used", message.name);
        let mut diagnostic = Diagnostic::new(Code::Unused, text, "write the edge that takes it, or drop it");
        diagnostic = diagnostic.at(&report.source, &message.span, "declared here");
        if let Some(edge) = edge {
            diagnostic = diagnostic.at(&report.source, &edge.span, "an edge that cannot be taken");
        }
        report.push(diagnostic);
    }
    for (id, request) in protocol.requests.iter().enumerate() {
        let does = |cookie| protocol.messages.iter().any(|message| message.cookie == Some((cookie, id)));
        let dropped = protocol.messages.iter().any(|message| message.drops.contains(&id));
        let (text, remedy) = match (does(Cookie::Opens), does(Cookie::Closes) || dropped) {
            (true, true) => continue,
            (false, false) => ("is never used", "drop it, or let messages open and close it"),
            (true, false) => ("is opened but never closed", "let a message close it"),
            (false, true) => ("is closed but never opened", "let a message open it"),
        };
        let text = format!("the request `{}` {text}", request.name);
        report.push(Diagnostic::new(Code::Payload, text, remedy).at(&report.source, &request.span, "declared here"));
    }
}

/// States that no run makes active. Inside an unreachable superstate, only the superstate is reported.
pub fn unreachable(subject: &Subject, report: &mut Findings) {
    let protocol = subject.protocol;
    let states = 0..subject.flat.automaton.states.len();
    let active: BTreeSet<StateId> = states.flat_map(|state| subject.flat.active(protocol, state)).collect();
    for (id, state) in protocol.states.iter().enumerate().skip(1) {
        if active.contains(&id) || state.parent.is_some_and(|parent| !active.contains(&parent)) {
            continue;
        }
        let leads_here = |edge: &&crate::model::Edge| edge.target == Some(id) && !protocol.is_within(edge.source, id);
        let edge = protocol.edges.iter().find(leads_here);
        let (remedy, place) = match edge {
            Some(edge) => (
                "the edge that leads here is never taken: its source is not reached, or another edge comes \
                            first",
                Some(&edge.span),
            ),
            None => ("write an edge that leads here, or drop the state", None),
        };
        let text = format!("the state `{}` is never reached", state.name);
        let mut diagnostic =
            Diagnostic::new(Code::Unreachable, text, remedy).at(&report.source, &state.span, "this state");
        if let Some(place) = place {
            diagnostic = diagnostic.at(&report.source, place, "an edge to it");
        }
        report.push(diagnostic);
    }
}
