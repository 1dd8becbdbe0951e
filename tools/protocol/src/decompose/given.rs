//! A decomposition on alphabets that a person gives, to see whether they are enough and, with `verify`, what is missing.

use super::{subprotocol, Decomposition, Purpose};
use crate::automaton::Automaton;
use crate::minimise::minimise;
use crate::model::MessageId;
use std::collections::BTreeSet;

/// An alphabet written as `probe,probe_ok`.
pub fn alphabet(protocol: &Automaton, text: &str) -> Result<BTreeSet<MessageId>, String> {
    let message = |name: &str| {
        let name = name.trim().trim_start_matches(['?', '!']);
        let known: Vec<&str> = protocol.letters.iter().map(|letter| letter.name.as_str()).collect();
        let found = known.iter().position(|known| *known == name);
        found.ok_or_else(|| {
            format!("there is no message `{name}`; {}", diagnostics::suggest::remedy(name, "message", &known))
        })
    };
    text.split(',').map(message).collect()
}

/// Every alphabet serves what it can: shared purposes all that have the letters, others the first that shows them.
pub fn given(protocol: &Automaton, alphabets: &[BTreeSet<MessageId>]) -> Decomposition {
    let protocol = &minimise(protocol);
    let mut served: Vec<Vec<Purpose>> = vec![Vec::new(); alphabets.len()];
    let mut free = Vec::new();
    for purpose in Purpose::all(protocol) {
        if purpose.is_free(protocol) {
            if let Purpose::Message(message) = purpose {
                free.push(message);
            }
            continue;
        }
        let able: Vec<usize> =
            (0..alphabets.len()).filter(|index| purpose.required().is_subset(&alphabets[*index])).collect();
        if purpose.is_shared(protocol) {
            able.into_iter().for_each(|index| served[index].push(purpose.clone()));
            continue;
        }
        let shows = |index: &&usize| {
            let part = subprotocol(protocol, &alphabets[**index], std::slice::from_ref(&purpose));
            let decomposition = Decomposition { subprotocols: vec![part], free: Vec::new() };
            super::verify::served(protocol, &decomposition, &purpose).is_none()
        };
        if let Some(index) = able.iter().find(shows).or(able.first()) {
            served[*index].push(purpose);
        }
    }
    let parts = std::iter::zip(alphabets, served).filter(|(_, purposes)| !purposes.is_empty());
    let subprotocols = parts.map(|(alphabet, purposes)| subprotocol(protocol, alphabet, &purposes)).collect();
    Decomposition { subprotocols, free }
}
