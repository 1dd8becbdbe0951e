//! The proof obligations of a driver: by rule, for each subprotocol, each AWAIT, each need.

use crate::lower::Asked;
use crate::program::{Claim, Op, Program};
use crate::rules::component::{Component, Protocols};
use crate::rules::liveness::Demand;
use crate::rules::safety::Goal;
use protocol::decompose::Purpose;
use protocol::model::Field;
use std::collections::BTreeSet;

pub enum Task {
    Safety(Goal, Vec<Component>),
    Liveness(Demand, Vec<Component>),
    Claim(Claim),
}

/// Checks on one model of the program.
pub struct Group {
    pub asked: Asked,
    pub checks: Vec<Check>,
}

/// Rule 7 for each message with a field that has a range.
fn payloads(protocols: &Protocols) -> Option<Group> {
    let mut checks = Vec::new();
    for (protocol, checked) in protocols.all.iter().enumerate() {
        let own = &checked.protocol;
        for (id, message) in own.messages.iter().enumerate().filter(|(_, message)| !message.incoming) {
            if message.fields.iter().any(Field::is_bounded) {
                checks.push(Check {
                    protocol: own.name.clone(),
                    subprotocol: format!("payload of {}", message.name),
                    rule: 7,
                    task: Task::Claim(Claim::Payload((protocol, id))),
                });
            }
        }
    }
    (!checks.is_empty()).then_some(Group { asked: Asked::Payloads, checks })
}

/// Rule 1 for the turn of a client, where a protocol has several.
fn turns(program: &Program, protocols: &Protocols) -> Option<Group> {
    let protocol = program.client.map(|_| program.of_client.0)?;
    let check = Check {
        protocol: protocols.all[protocol].protocol.name.clone(),
        subprotocol: "turn of a client".into(),
        rule: 1,
        task: Task::Claim(Claim::Turn(protocol)),
    };
    Some(Group { asked: Asked::Turns, checks: vec![check] })
}

/// Rule 6 for each kind of request, rule 7 for each message, rule 1 for the turns of clients.
pub fn claims(program: &Program, protocols: &Protocols) -> Vec<Group> {
    let mut all: Vec<Group> = payloads(protocols).into_iter().chain(turns(program, protocols)).collect();
    for (protocol, checked) in protocols.all.iter().enumerate() {
        let own = &checked.protocol;
        for (request, one) in own.requests.iter().enumerate() {
            let check = Check {
                protocol: own.name.clone(),
                subprotocol: format!("each {}", one.name),
                rule: 6,
                task: Task::Claim(Claim::Requests(protocol, request)),
            };
            all.push(Group { asked: Asked::Requests(protocol, request), checks: vec![check] });
        }
    }
    all
}

pub struct Check {
    pub protocol: String,
    pub subprotocol: String,
    pub rule: u8,
    pub task: Task,
}

pub fn checks(program: &Program, protocols: &Protocols) -> Vec<Check> {
    let mut all = Vec::new();
    for (protocol, decomposition) in protocols.parts.iter().enumerate() {
        let automaton = protocols.automaton(protocol);
        for (part, sub) in decomposition.subprotocols.iter().enumerate() {
            let component = || vec![protocols.component(protocol, part)];
            let mut add = |rule, task| {
                all.push(Check {
                    protocol: protocols.all[protocol].protocol.name.clone(),
                    subprotocol: protocols.title(protocol, part),
                    rule,
                    task,
                });
            };
            if sub.guards().any(|message| !automaton.letters[message].incoming) {
                add(1, Task::Safety(Goal::Emit, component()));
            }
            for message in sub.guards().filter(|message| automaton.letters[*message].incoming) {
                add(2, Task::Liveness(Demand::Await((protocol, message)), component()));
            }
            for purpose in &sub.purposes {
                if let Purpose::Timed(mark) = purpose {
                    add(4, Task::Liveness(Demand::Leave(protocol, *mark), component()));
                }
            }
            if sub.purposes.contains(&Purpose::Final) {
                add(5, Task::Safety(Goal::Final, component()));
            }
        }
        needs(protocols, protocol, &mut all);
    }
    let reached: BTreeSet<usize> = program
        .edges
        .iter()
        .flat_map(|edge| &edge.steps)
        .filter_map(|step| match step.op {
            Op::Await(site) => Some(site),
            _ => None,
        })
        .collect();
    for site in reached {
        let place = &program.awaits[site].place;
        let spoken: BTreeSet<usize> = program.awaits[site].messages.iter().map(|(protocol, _)| *protocol).collect();
        let names: Vec<&str> = spoken.iter().map(|one| protocols.all[*one].protocol.name.as_str()).collect();
        all.push(Check {
            protocol: names.join("+"),
            subprotocol: format!("AWAIT {place}"),
            rule: 3,
            task: Task::Safety(Goal::Wait(site), Vec::new()),
        });
    }
    all
}

/// What states of a protocol need of other protocols: part of rule 1.
fn needs(protocols: &Protocols, protocol: usize, all: &mut Vec<Check>) {
    let checked = &protocols.all[protocol];
    for (id, state) in checked.protocol.states.iter().enumerate() {
        for need in &state.needs {
            let Some(other) = protocols.all.iter().position(|one| one.protocol.name == need.protocol) else { continue };
            let Some(wanted) = protocols.all[other].protocol.state(&need.state) else { continue };
            // Outputs that enter the state.
            let mut messages = BTreeSet::new();
            let flat = &checked.flat;
            for (from, one) in flat.automaton.states.iter().enumerate() {
                for (message, to) in one.next.iter().enumerate() {
                    let enters = to.is_some_and(|to| {
                        flat.active(&checked.protocol, to).contains(&id)
                            && !flat.active(&checked.protocol, from).contains(&id)
                    });
                    if enters && !flat.automaton.letters[message].incoming {
                        messages.insert((protocol, message));
                    }
                }
            }
            // The other protocol, final where it is in the state.
            let mut component = protocols.whole(other);
            let flat = &protocols.all[other].flat;
            component.mark(|state| flat.active(&protocols.all[other].protocol, state).contains(&wanted));
            let text = format!("{} {}", need.protocol, need.state);
            all.push(Check {
                protocol: checked.protocol.name.clone(),
                subprotocol: format!("{} needs {text}", state.name),
                rule: 1,
                task: Task::Safety(Goal::Needs(messages.into_iter().collect(), text), vec![component]),
            });
        }
    }
}
