//! States that the driver cannot leave, end in, or wait in.

use super::Subject;
use crate::codes::Code;
use crate::findings::Findings;
use crate::flatten::promise;
use diagnostics::Diagnostic;
use std::collections::{BTreeSet, HashSet};

/// Fair states in which no message comes.
pub fn silent(subject: &Subject, report: &mut Findings) {
    let automaton = &subject.flat.automaton;
    for (id, state) in automaton.states.iter().enumerate() {
        if state.fair.contains(&BTreeSet::new()) {
            let protocol = subject.protocol;
            let is_silent = |one: &&usize| {
                protocol.states[**one].fair && promise(protocol, **one, &subject.flat.edges[id]).is_empty()
            };
            let active = subject.flat.active(protocol, id);
            let own = active.iter().find(is_silent).map_or(subject.leaf(id), |own| &protocol.states[*own]);
            let text = format!("`{}` is fair, but in `{}` it takes no message that could come", own.name, state.name);
            let diagnostic = Diagnostic::new(Code::FairSilent, text, "drop `fair`, or add the message that comes");
            report.push(diagnostic.at(&report.source, &own.span, "this state").after(subject.witness(id)));
            return;
        }
    }
}

/// Dead ends, states without a way to a final one, final states that are timed. Each written state is reported once.
pub fn ends(subject: &Subject, report: &mut Findings) {
    let automaton = &subject.flat.automaton;
    // Where only dead ends can be reached, the dead ends are reported, not the states before them.
    let is_dead = |id: usize| automaton.enabled(id).next().is_none();
    let goal: Vec<bool> = (0..automaton.states.len()).map(|id| automaton.states[id].is_final || is_dead(id)).collect();
    let can_end = automaton.can_reach(&goal, |_, _| true);
    let mut told = HashSet::new();
    for (id, state) in automaton.states.iter().enumerate() {
        let (code, text, remedy) = if is_dead(id) && !state.is_final {
            let text = format!("nothing leaves `{}`, and it is not final", state.name);
            (Code::DeadEnd, text, "add the edge that leaves it, or mark it `final`")
        } else if !can_end[id] {
            let text = format!("from `{}` no final state can be reached", state.name);
            (Code::NoEnd, text, "add the way to the end, or mark a state `final`")
        } else if state.is_final && !state.timed.is_empty() {
            let text = format!("`{}` is final and timed", state.name);
            (Code::TimedFinal, text, "drop one of the two marks: the driver owes an answer, or it may return")
        } else {
            continue;
        };
        let leaf = subject.leaf(id);
        if told.insert((code, leaf.span.clone())) {
            report.push(
                Diagnostic::new(code, text, remedy)
                    .at(&report.source, &leaf.span, "this state")
                    .after(subject.witness(id)),
            );
        }
        if code == Code::NoEnd {
            // The states after it cannot end either; the nearest one to the start is enough.
            break;
        }
    }
}

/// Timed states that the driver cannot leave by an output, whatever else happens in them.
pub fn timed(subject: &Subject, report: &mut Findings) {
    let automaton = &subject.flat.automaton;
    for (mark, name) in automaton.timed.iter().enumerate() {
        let inside: Vec<bool> = automaton.states.iter().map(|state| state.timed.contains(&mark)).collect();
        let leaves =
            |(id, state): (usize, &crate::automaton::State)| {
                inside[id]
                    && state.next.iter().enumerate().any(|(letter, next)| {
                        !automaton.letters[letter].incoming && next.is_some_and(|next| !inside[next])
                    })
            };
        let goal: Vec<bool> = automaton.states.iter().enumerate().map(leaves).collect();
        let stays = |from: usize, letter: usize| {
            inside[from] && automaton.states[from].next[letter].is_some_and(|to| inside[to])
        };
        let can = automaton.can_reach(&goal, stays);
        if let Some(stuck) = (0..can.len()).find(|state| inside[*state] && !can[*state]) {
            let text = format!("no output leaves the timed state `{name}`");
            let span = subject.protocol.state(name).map(|state| subject.protocol.states[state].span.clone());
            let diagnostic = Diagnostic::new(Code::TimedStuck, text, "add the answer that is owed, as an edge `!…`");
            report.push(
                diagnostic.at(&report.source, &span.unwrap_or_default(), "this state").after(subject.witness(stuck)),
            );
        }
    }
}
