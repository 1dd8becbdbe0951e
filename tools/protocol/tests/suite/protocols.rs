//! The protocols of the tree: without fault, decomposed in seconds into subprotocols of few states.

use crate::common;
use protocol::decompose::{choose, verify};
use protocol::sizes::sizes;
use std::time::{Duration, Instant};

#[test]
fn the_protocols_decompose_into_small_subprotocols_in_seconds() {
    for path in common::protocols() {
        let checked = common::load(&path);
        let begin = Instant::now();
        let decomposition = choose(&checked.flat.automaton);
        let time = begin.elapsed();
        // Unoptimised, on a busy machine; optimised it is about a second for the largest.
        assert!(time < Duration::from_secs(120), "{}: {time:?}", path.display());
        assert_eq!(verify::verify(&checked.flat.automaton, &decomposition), []);
        let sizes = sizes(&checked, &decomposition);
        assert!(sizes.largest_subprotocol.states <= 4, "{sizes:?}");
    }
}

#[test]
fn every_device_protocol_is_named_as_in_the_paper() {
    let mut names: Vec<String> = common::protocols().iter().map(|path| common::load(path).protocol.name).collect();
    names.sort();
    assert_eq!(names, ["audio", "ethernet", "pci", "sata", "timer"]);
}

/// What a driver of a device that is pulled out goes through, in the words of the protocols.
#[test]
fn a_device_can_be_lost_at_any_moment() {
    let checked = common::load(&common::root().join("protocols/pci.proto"));
    let automaton = &checked.flat.automaton;
    let unplug = checked.protocol.message("unplug").expect("it is declared");
    let bound = checked.protocol.state("Bound").expect("it is declared");
    for state in 0..automaton.states.len() {
        let is_bound = checked.flat.active(&checked.protocol, state).contains(&bound);
        assert!(!is_bound || automaton.states[state].next[unplug].is_some(), "{}", automaton.states[state].name);
    }
    // In the other protocols the driver says so, where no client waits for another answer.
    for (file, says) in [("sata", "unplugged"), ("audio", "gone"), ("ethernet", "gone")] {
        let checked = common::load(&common::root().join(format!("protocols/{file}.proto")));
        let automaton = &checked.flat.automaton;
        let message = checked.protocol.message(says).expect("it is declared");
        assert!(automaton.states.iter().filter(|state| state.next[message].is_some()).count() >= 4, "{file}");
    }
}

/// Inputs that an output may forbid while they are on their way: these have been looked at and are harmless.
#[test]
fn no_message_crosses_unseen() {
    let harmless = [
        // A late interrupt is found on the next `irq_on`, and is then a spurious one.
        "pci !irq_off ?irq",
        // The client sends nothing after its `close`.
        "ethernet !close_ok ?transmit",
        "ethernet !close_ok ?receive_buffer",
        "audio !close_ok ?filled",
        "audio !close_ok ?set_volume",
        // It waits in its mailbox until the port is empty, where it is welcome.
        "sata !unplugged ?stop",
    ];
    for path in common::protocols() {
        let checked = common::load(&path);
        for one in protocol::crossing::crossings(&checked.flat.automaton) {
            let pair = format!("{} {} {}", checked.protocol.name, one.output, one.input);
            assert!(harmless.contains(&pair.as_str()), "{pair}\n{one}");
        }
    }
}

/// The reference page shows the language by an example and states the sizes.
#[test]
fn the_reference_page_is_true() {
    let path = common::root().join("docs/src/reference/protocols.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let example = page.split("```").nth(1).expect("it has an example");
    if let Err(report) = protocol::check_text(&path, example) {
        panic!("{report}");
    }
    for path in common::protocols() {
        let checked = common::load(&path);
        let sizes = sizes(&checked, &choose(&checked.flat.automaton));
        let row = format!(
            "| `{}` | {} | {}/{} | {}/{} | {} | {} |",
            sizes.protocol,
            sizes.messages,
            sizes.written.states,
            sizes.written.transitions,
            sizes.automaton.states,
            sizes.automaton.transitions,
            sizes.subprotocols,
            sizes.largest_subprotocol.states,
        );
        assert!(page.contains(&row), "the page does not have {row}");
    }
}
