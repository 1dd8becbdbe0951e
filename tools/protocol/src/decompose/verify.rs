//! Checks a decomposition on products of the protocol with its finished subprotocols, independently of how these were made: a
//! wrong decomposition is found here, with the run that shows it.

use super::{Decomposition, Purpose, Subprotocol};
use crate::automaton::Automaton;
use std::collections::{BTreeSet, HashMap};

/// A condition that does not hold, and the shortest run after which it fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub message: String,
    pub witness: Vec<String>,
}

/// Every condition that fails, the first witness of each; none if the decomposition is right.
pub fn verify(protocol: &Automaton, decomposition: &Decomposition) -> Vec<Failure> {
    let mut failures = Vec::new();
    for subprotocol in &decomposition.subprotocols {
        failures.extend(within(protocol, subprotocol));
    }
    for purpose in Purpose::all(protocol) {
        failures.extend(served(protocol, decomposition, &purpose));
    }
    failures
}

/// The subprotocol allows what the protocol allows.
fn within(protocol: &Automaton, subprotocol: &Subprotocol) -> Option<Failure> {
    search(protocol, &[subprotocol], |state, own| {
        let refused = |message: &usize| {
            subprotocol
                .letter(*message)
                .is_some_and(|letter| subprotocol.automaton.states[own[0]].next[letter].is_none())
        };
        let message = protocol.enabled(state).find(refused)?;
        let (label, title) = (protocol.letters[message].label(), subprotocol.title(protocol));
        Some(format!("the subprotocol for {title} refuses {label}, which the protocol allows"))
    })
}

/// The purpose can be read off the subprotocols that serve it.
pub(super) fn served(protocol: &Automaton, decomposition: &Decomposition, purpose: &Purpose) -> Option<Failure> {
    let serving: Vec<&Subprotocol> =
        decomposition.subprotocols.iter().filter(|one| one.purposes.contains(purpose)).collect();
    let title = purpose.title(protocol);
    if serving.len() > 1 && !purpose.is_shared(protocol) {
        return Some(Failure { message: format!("{title} has more than one subprotocol"), witness: Vec::new() });
    }
    if let Some(missing) = purpose.required().iter().find(|own| serving.iter().any(|one| one.letter(**own).is_none())) {
        let missing = protocol.letters[*missing].label();
        let message = format!("the subprotocol for {title} does not have {missing} in its alphabet");
        return Some(Failure { message, witness: Vec::new() });
    }
    if serving.is_empty() && !purpose.is_free(protocol) {
        let message = format!("no subprotocol is there for {title}");
        return Some(Failure { message, witness: Vec::new() });
    }
    search(protocol, &serving, |state, own| {
        let seen = std::iter::zip(&serving, own).all(|(one, state)| shows(one, *state, purpose));
        let holds = purpose.holds(protocol, state);
        (seen != holds).then(|| match (purpose, seen) {
            (Purpose::Message(_), true) => format!("{title} is illegal, but every subprotocol allows it"),
            (Purpose::Message(_), false) => format!("{title} is legal, but a subprotocol refuses it"),
            (_, true) => format!("`{title}` does not hold, but the subprotocols say that it does"),
            (_, false) => format!("`{title}` holds, but the subprotocols say that it does not"),
        })
    })
}

/// What a subprotocol's state says of a purpose.
fn shows(subprotocol: &Subprotocol, state: usize, purpose: &Purpose) -> bool {
    let automaton = &subprotocol.automaton;
    let own = &automaton.states[state];
    match purpose {
        Purpose::Message(message) => subprotocol.letter(*message).is_some_and(|letter| own.next[letter].is_some()),
        Purpose::Timed(mark) => own.timed.contains(mark),
        Purpose::Fair(promise) => {
            let same =
                |own: &BTreeSet<usize>| own.iter().map(|one| subprotocol.alphabet[*one]).eq(promise.iter().copied());
            own.fair.iter().any(same)
        }
        Purpose::Final => own.is_final,
    }
}

/// Walks the product of the protocol and some subprotocols, breadth first, to the first state that `fault` finds.
fn search(
    protocol: &Automaton,
    parts: &[&Subprotocol],
    fault: impl Fn(usize, &[usize]) -> Option<String>,
) -> Option<Failure> {
    let mut states: Vec<(usize, Vec<usize>)> = vec![(0, vec![0; parts.len()])];
    let mut known: HashMap<(usize, Vec<usize>), usize> = HashMap::from([(states[0].clone(), 0)]);
    let mut last: Vec<Option<(usize, usize)>> = vec![None];
    let mut at = 0;
    while let Some((state, own)) = states.get(at).cloned() {
        if let Some(message) = fault(state, &own) {
            let mut run = Vec::new();
            let mut here = at;
            while let Some((before, letter)) = last[here] {
                run.push(letter);
                here = before;
            }
            run.reverse();
            return Some(Failure { message, witness: protocol.spell(&run) });
        }
        for (message, next) in protocol.states[state].next.iter().enumerate() {
            let Some(next) = next else { continue };
            let step = |(part, own): (&&Subprotocol, &usize)| match part.letter(message) {
                Some(letter) => part.automaton.states[*own].next[letter],
                None => Some(*own),
            };
            // `within` reports a part that refuses the message.
            let Some(after) = std::iter::zip(parts, &own).map(step).collect::<Option<Vec<usize>>>() else { continue };
            let key = (*next, after);
            if !known.contains_key(&key) {
                known.insert(key.clone(), states.len());
                states.push(key);
                last.push(Some((at, message)));
            }
        }
        at += 1;
    }
    None
}
