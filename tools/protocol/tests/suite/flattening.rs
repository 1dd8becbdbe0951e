//! The automaton of a random hierarchy does what an interpreter of the hierarchy does. The interpreter keeps a tree of
//! active states and knows nothing of configurations, scopes or sets of leaves.

use diagnostics::Source;
use protocol::findings::Findings;
use protocol::flatten::{flatten, Flat};
use protocol::minimise::minimise;
use protocol::model::{Edge, Protocol, StateId};
use std::path::Path;
use std::sync::Arc;
use testing::Random;

const MESSAGES: usize = 5;

/// A random protocol as text: states within states, some parallel.
fn random_text(random: &mut Random) -> String {
    let mut text = String::from("protocol random\n");
    for message in 0..MESSAGES {
        text.push_str(&format!("{} m{message}\n", if message % 2 == 0 { "in" } else { "out" }));
    }
    let mut count = 0;
    let mut states = Vec::new();
    let children = 2 + random.below(2);
    write_states(random, &mut text, 0, children, &mut count, &mut states);
    // Edges name states that may come later, so they are filled in at the end.
    while let Some(at) = text.find('@') {
        let mut name = || states[random.below(states.len())].clone();
        let (target, guard) = (name(), name());
        let guard =
            if random.one_in(5) { format!(" {} {guard}", ["when", "unless"][random.below(2)]) } else { String::new() };
        text.replace_range(at..=at, &format!("{target}{guard}"));
    }
    text
}

fn write_states(
    random: &mut Random,
    text: &mut String,
    depth: usize,
    number: usize,
    count: &mut usize,
    all: &mut Vec<String>,
) {
    for index in 0..number {
        *count += 1;
        let name = format!("S{count}");
        let marks = [" timed", " fair", " final"].map(|mark| if random.one_in(3) { mark } else { "" }).concat();
        let initial = if index == 0 { " initial" } else { "" };
        text.push_str(&format!("{}state {name}{initial}{marks}\n", "  ".repeat(depth)));
        all.push(name);
        for _ in 0..random.below(3) {
            let message = random.below(MESSAGES);
            let sign = if message % 2 == 0 { '?' } else { '!' };
            let target = if random.one_in(6) { "" } else { " -> @" };
            text.push_str(&format!("{}{sign}m{message}{target}\n", "  ".repeat(depth + 1)));
        }
        match random.below(5) {
            0 if depth < 5 => {
                let inside = 1 + random.below(3);
                write_states(random, text, depth + 1, inside, count, all);
            }
            1 if depth < 4 => {
                for _ in 0..2 {
                    *count += 1;
                    text.push_str(&format!("{}region R{count}\n", "  ".repeat(depth + 1)));
                    let inside = 1 + random.below(2);
                    write_states(random, text, depth + 2, inside, count, all);
                }
            }
            _ => {}
        }
    }
}

/// What is active inside a state: nothing more, one child, or all regions.
#[derive(Debug, Clone, PartialEq)]
struct Active {
    state: StateId,
    inside: Vec<Active>,
}

/// Enters a state; on the way to `target` if that is inside.
fn enter(protocol: &Protocol, state: StateId, target: Option<StateId>) -> Active {
    let own = &protocol.states[state];
    let towards = |child: &StateId| target.is_some_and(|target| protocol.is_within(target, *child));
    let inside = if protocol.is_parallel(state) {
        own.children.iter().map(|region| enter(protocol, *region, target.filter(|_| towards(region)))).collect()
    } else {
        let child = own.children.iter().copied().find(towards);
        let child = child.map(|child| (child, target)).or(own.initial.map(|child| (child, None)));
        child.map(|(child, target)| enter(protocol, child, target)).into_iter().collect()
    };
    Active { state, inside }
}

/// Takes an edge: goes down as long as one active child holds source and target strictly inside, and replaces what is
/// active there.
fn take(protocol: &Protocol, active: &Active, source: StateId, target: StateId) -> Active {
    let holds = |child: &Active| {
        let is_inside = |state: StateId| protocol.is_within(state, child.state) && state != child.state;
        let source_inside = is_inside(source) || (source == child.state && protocol.states[source].is_region);
        // A parallel state is left as a whole unless one of its regions holds both.
        let splits = protocol.is_parallel(child.state)
            && !child.inside.iter().any(|region| {
                protocol.is_within(source, region.state)
                    && protocol.is_within(target, region.state)
                    && target != region.state
            });
        source_inside && is_inside(target) && !splits
    };
    match active.inside.iter().position(holds) {
        Some(index) => {
            let mut after = active.clone();
            after.inside[index] = take(protocol, &active.inside[index], source, target);
            after
        }
        None => enter(protocol, active.state, Some(target)),
    }
}

fn is_active(active: &Active, state: StateId) -> bool {
    active.state == state || active.inside.iter().any(|inside| is_active(inside, state))
}

fn leaves(active: &Active, names: &mut Vec<StateId>) {
    if active.inside.is_empty() {
        names.push(active.state);
    }
    active.inside.iter().for_each(|inside| leaves(inside, names));
}

/// The first edge that takes a message, as the automaton takes it where there is more than one.
fn edge_for<'a>(protocol: &'a Protocol, active: &Active, message: usize) -> Option<&'a Edge> {
    protocol.edges.iter().find(|edge| {
        edge.message == message
            && is_active(active, edge.source)
            && edge.when.iter().all(|guard| is_active(active, *guard))
            && !edge.unless.iter().any(|guard| is_active(active, *guard))
    })
}

fn all_leaves_final(protocol: &Protocol, active: &Active, around: bool) -> bool {
    let is_final = around || protocol.states[active.state].is_final;
    match active.inside.is_empty() {
        true => is_final,
        false => active.inside.iter().all(|inside| all_leaves_final(protocol, inside, is_final)),
    }
}

fn compare(protocol: &Protocol, flat: &Flat, random: &mut Random, text: &str) -> usize {
    let automaton = &flat.automaton;
    let minimal = minimise(automaton);
    let mut steps = 0;
    for _ in 0..12 {
        let (mut state, mut small, mut active) = (0, 0, enter(protocol, 0, None));
        for _ in 0..25 {
            let mut own = Vec::new();
            leaves(&active, &mut own);
            own.sort_unstable();
            assert_eq!(own, flat.leaves[state], "\n{text}");
            assert_eq!(all_leaves_final(protocol, &active, false), automaton.states[state].is_final, "\n{text}");
            for (mark, name) in automaton.timed.iter().enumerate() {
                let written = protocol.state(name).expect("it has a name");
                assert_eq!(automaton.states[state].timed.contains(&mark), is_active(&active, written), "\n{text}");
            }
            let is_fair = (0..protocol.states.len()).any(|id| protocol.states[id].fair && is_active(&active, id));
            assert_eq!(!automaton.states[state].fair.is_empty(), is_fair, "\n{text}");
            let message = random.below(MESSAGES);
            let edge = edge_for(protocol, &active, message);
            assert_eq!(edge.is_some(), automaton.states[state].next[message].is_some(), "\n{text}");
            assert_eq!(edge.is_some(), minimal.states[small].next[message].is_some(), "\n{text}");
            let (Some(edge), Some(next)) = (edge, automaton.states[state].next[message]) else { continue };
            if let Some(target) = edge.target {
                active = take(protocol, &active, edge.source, target);
            }
            state = next;
            small = minimal.states[small].next[message].expect("just compared");
            steps += 1;
        }
    }
    steps
}

#[test]
fn random_hierarchies_do_what_their_automata_do() {
    let mut random = Random(0x0ddb_1a5e_5bad_5eed);
    let (mut steps, mut parallel) = (0, 0);
    for _ in 0..600 {
        let text = random_text(&mut random);
        let source = Arc::new(Source::new(Path::new("random.proto"), text.clone()));
        let mut report = Findings::new(&source);
        let syntax = protocol::parse::parse(&source, &mut report);
        let protocol = protocol::resolve::resolve(&source, &syntax, &mut report);
        // Edges between regions are refused; everything else must be understood.
        if !report.is_clean() {
            let report = report.into_report();
            assert!(report.diagnostics.iter().all(|one| one.code.name() == "ASH-P018"), "{report}");
            continue;
        }
        let flat = flatten(&protocol);
        if flat.is_cut_off {
            continue;
        }
        parallel += usize::from(flat.leaves.iter().any(|leaves| leaves.len() > 1));
        steps += compare(&protocol, &flat, &mut random, &text);
    }
    assert!(steps > 10_000 && parallel > 60, "{steps} steps, {parallel} parallel");
}
