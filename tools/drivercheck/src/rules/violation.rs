//! What is said of a run that breaks a rule.

use crate::counterexample::trace::name;
use crate::program::{Await, Claim, Message, Op, Step, Wrong};
use crate::rules::component::Protocols;
use protocol::model::Cookie;

/// What is wrong where a claim does not hold.
pub fn broken(protocols: &Protocols, claim: Claim, wrong: Wrong, steps: &[&Step]) -> String {
    let last = steps.iter().rev().find_map(|step| match step.op {
        Op::Emit(message) => Some(format!("`{}` is sent", name(protocols, message))),
        Op::Return => Some("the driver returns".to_string()),
        _ => None,
    });
    let last = last.unwrap_or_default();
    let opens = steps.iter().rev().find_map(|step| match step.op {
        Op::Emit((protocol, message)) => protocols.all[protocol].protocol.messages[message].cookie,
        _ => None,
    });
    let opens = opens.is_some_and(|(role, _)| role == Cookie::Opens);
    let request = match claim {
        Claim::Requests(protocol, request) => &protocols.all[protocol].protocol.requests[request].name,
        Claim::Payload(message) => return unfit(protocols, message, wrong),
        Claim::Turn(protocol) => {
            let name = &protocols.all[protocol].protocol.name;
            return format!("rule 1: a client of `{name}` is meant here, but none has its turn");
        }
    };
    match wrong {
        Wrong::Open | Wrong::Elsewhere => {
            format!("rule 6: {last} while a `{request}` is open: it was not completed")
        }
        // A client's message that opens one.
        _ if opens => {
            format!("rule 6: {last} with the cookie of a `{request}` that is open already, or one past the limit")
        }
        _ => format!("rule 6: {last} with the cookie of a `{request}` that is not open"),
    }
}

/// What is wrong with a message's payload.
fn unfit(protocols: &Protocols, message: Message, wrong: Wrong) -> String {
    let own = &protocols.all[message.0].protocol;
    let name = name(protocols, message);
    match wrong {
        Wrong::Range(field) => {
            let field = &own.messages[message.1].fields[field];
            let range = format!("{} to {}", field.least, field.most);
            format!("rule 7: `{name}` is sent with a `{}` that is not {range}", field.name)
        }
        _ => {
            let form = format!("struct {}_{}", own.name, own.messages[message.1].name);
            format!("rule 7: `{name}` is sent without a `{form}`")
        }
    }
}

/// Why an AWAIT may never end: no message is promised, or none is owed and something speaks against waiting for ever.
pub fn blocked(protocols: &Protocols, states: &[usize], wait: &Await, rests: bool) -> String {
    let state_of = |one: usize, state: usize| &protocols.automaton(one).states[state];
    let named =
        |(one, state): (usize, &usize)| format!("{}: {}", protocols.all[one].protocol.name, state_of(one, *state).name);
    let names = states.iter().enumerate().map(named).collect::<Vec<_>>().join(", ");
    if !rests {
        return format!("rule 3: this AWAIT may never end; no protocol promises one of its messages ({names})");
    }
    let mut against = Vec::new();
    for (one, &state) in states.iter().enumerate() {
        let timed = state_of(one, state).timed.iter().map(|mark| &protocols.automaton(one).timed[*mark]);
        against.extend(timed.map(|timed| {
            format!("{} is in timed state {timed}, which an answer must leave", protocols.all[one].protocol.name)
        }));
        let missed = protocols.automaton(one).inputs(state).into_iter().map(|input| (one, input));
        let missed = missed.filter(|message| !wait.messages.contains(message));
        against.extend(missed.map(|message| format!("`{}` is enabled and not waited for", name(protocols, message))));
    }
    format!("rule 3: this AWAIT may never end, as none of its messages is owed, but {} ({names})", against.join(", "))
}
