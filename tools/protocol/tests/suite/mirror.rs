//! A client that keeps to the mirrored protocol, and a driver that keeps to the protocol itself, with messages on their way between
//! them: in every interleaving each takes what the other has sent. One request is followed, which both count as open or not.

use crate::common;
use protocol::mirror::{mirror, MirrorError};
use protocol::model::Cookie;
use protocol::Checked;
use std::collections::HashSet;

fn load(name: &str) -> Checked {
    common::load(&common::root().join(format!("protocols/{name}.proto")))
}

/// Messages on their way, in each direction, at most.
const MOST: usize = 3;

/// Of one side: its state, and whether the request is open.
type Side = (usize, bool);
/// Driver, client, on the way to the driver, to the client.
type Whole = (Side, Side, Vec<usize>, Vec<usize>);

/// A side after a message, or nothing if it cannot be.
fn step(of: &Checked, (state, is_open): Side, id: usize) -> Option<Side> {
    let next = of.flat.automaton.states[state].next[id]?;
    let message = &of.protocol.messages[id];
    if !message.drained.is_empty() && is_open {
        return None;
    }
    match message.cookie {
        _ if !message.drops.is_empty() => Some((next, false)),
        None => Some((next, is_open)),
        Some((Cookie::Opens, _)) => (!is_open).then_some((next, true)),
        Some((Cookie::Closes, _)) => is_open.then_some((next, false)),
        Some((Cookie::Names, _)) => is_open.then_some((next, true)),
    }
}

/// The protocol with one kind of request, the one that is followed; of the other kinds cookies are left out.
fn with_one_request(checked: &Checked, request: usize) -> Checked {
    let mut one = checked.clone();
    for message in &mut one.protocol.messages {
        message.cookie = message.cookie.filter(|(_, own)| *own == request);
        message.drained.retain(|own| *own == request);
        message.drops.retain(|own| *own == request);
    }
    one
}

/// The runs of both, from the moment when the link is up. The first run that goes wrong, in words.
fn compose(driver: &Checked, client: &Checked) -> Result<usize, String> {
    let driver_up = client.flat.automaton.letters.iter().position(|one| one.name == "driver_up").unwrap();
    let start = client.flat.automaton.states[0].next[driver_up].unwrap();
    let name = |of: &Checked, side: Side| of.flat.automaton.states[side.0].name.clone();
    let first: Whole = ((0, false), (start, false), Vec::new(), Vec::new());
    let mut seen = HashSet::from([first.clone()]);
    let mut work = vec![first];
    while let Some((q, k, to_driver, to_client)) = work.pop() {
        let mut after: Vec<Whole> = Vec::new();
        for id in 0..driver.protocol.messages.len() {
            let incoming = driver.protocol.messages[id].incoming;
            if let (true, Some(next)) = (incoming && to_driver.len() < MOST, step(client, k, id)) {
                after.push((q, next, [&to_driver[..], &[id]].concat(), to_client.clone()));
            }
            if let (true, Some(next)) = (!incoming && to_client.len() < MOST, step(driver, q, id)) {
                after.push((next, k, to_driver.clone(), [&to_client[..], &[id]].concat()));
            }
        }
        let wrong = |who: &str, id: usize| {
            let message = &driver.protocol.messages[id].name;
            format!(
                "{who} gets {message}: driver in {} {}, client in {} {}",
                name(driver, q),
                q.1,
                name(client, k),
                k.1
            )
        };
        if let Some((id, rest)) = to_driver.split_first() {
            let next = step(driver, q, *id).ok_or_else(|| wrong("the driver", *id))?;
            after.push((next, k, rest.to_vec(), to_client.clone()));
        }
        if let Some((id, rest)) = to_client.split_first() {
            let next = step(client, k, *id).ok_or_else(|| wrong("the client", *id))?;
            after.push((q, next, to_driver.clone(), rest.to_vec()));
        }
        // A request that was on its way when the driver dropped all may be open there alone.
        let agree = name(driver, q) == name(client, k) && (q.1 || !k.1);
        if to_driver.is_empty() && to_client.is_empty() && !agree {
            return Err(format!("driver in {} {}, client in {} {}", name(driver, q), q.1, name(client, k), k.1));
        }
        work.extend(after.into_iter().filter(|one| seen.insert(one.clone())));
    }
    Ok(seen.len())
}

fn compose_all(driver: &Checked, client: &Checked) -> Result<usize, String> {
    // Without requests there is one run of states alone.
    let all = 0..driver.protocol.requests.len().max(1);
    all.map(|request| compose(&with_one_request(driver, request), &with_one_request(client, request))).sum()
}

#[test]
fn mirrored_clients_and_drivers_understand_each_other() {
    for name in ["sata", "ethernet", "audio"] {
        let checked = load(name);
        let mirrored = mirror(&checked).unwrap();
        let count = compose_all(&checked, &mirrored.checked).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(count > 1000, "{name}: only {count} states");
    }
}

/// With the directions swapped and nothing else, they do not: the test above can fail.
#[test]
fn swapping_directions_is_not_enough() {
    for name in ["sata", "ethernet", "audio"] {
        let checked = load(name);
        let mut plain = mirror(&checked).unwrap().checked;
        let unlinked = plain.flat.automaton.states[0].clone();
        plain.flat.automaton.states = checked.flat.automaton.states.clone();
        for state in &mut plain.flat.automaton.states {
            state.next.iter_mut().for_each(|to| *to = to.map(|to| to + 1));
        }
        plain.flat.automaton.states.insert(0, unlinked);
        assert!(compose_all(&checked, &plain).is_err(), "{name}");
    }
}

#[test]
fn what_a_client_must_not_send() {
    let withheld = mirror(&load("sata")).unwrap().withheld;
    let said: HashSet<String> = withheld.iter().map(|one| format!("{} !{}", one.message, one.because)).collect();
    let expected = ["stop !unplugged", "stop !plugged", "read !unplugged", "write !unplugged"];
    assert!(expected.iter().all(|one| said.contains(*one)), "{said:?}");
    assert!(said.iter().all(|one| !one.starts_with("unplugged_ok") && !one.starts_with("abort")), "{said:?}");
    let states = withheld.iter().filter(|one| one.message == "read").map(|one| one.state.as_str());
    assert_eq!(states.collect::<Vec<_>>(), ["Detached"]);
}

#[test]
fn a_driver_of_the_bus_has_no_client_to_mirror() {
    assert_eq!(mirror(&load("pci")).unwrap_err(), MirrorError::Local("pci".into(), "access".into()));
}

/// What the client owes it must send; answers are owed to it, and nothing that may come of itself.
#[test]
fn obligations_change_sides() {
    let mirrored = mirror(&load("sata")).unwrap().checked;
    let automaton = &mirrored.flat.automaton;
    let timed = automaton.states.iter().filter(|state| !state.timed.is_empty());
    assert_eq!(timed.map(|state| state.name.as_str()).collect::<Vec<_>>(), ["Detached"]);
    let owed = mirrored.protocol.messages.iter().filter(|one| one.is_owed);
    let owed: HashSet<&str> = owed.map(|one| one.name.as_str()).collect();
    assert!(["start_ok", "reset_ok", "reset_fail", "identify_ok", "flush_ok"].iter().all(|one| owed.contains(one)));
    for free in ["plugged", "unplugged", "done", "failed", "frozen", "driver_lost", "driver_up", "unplugged_ok"] {
        assert!(!owed.contains(free), "{free}");
    }
}
