//! A server of several clients: right as it stands, and wrong in ways that each break a rule for one of the clients.

use crate::common::{driver_of, drivers, root, scratch};
use drivercheck::check::{run, Options};
use drivercheck::counterexample::monitor::replays;
use drivercheck::driver::{Driver, DriverError};
use std::collections::BTreeSet;

/// The server with a piece of its text replaced.
fn server(name: &str, from: &str, to: &str) -> Result<Driver, DriverError> {
    let text = std::fs::read_to_string(drivers().join("several.c")).unwrap();
    assert!(text.contains(from), "{name}: the server has no {from:?}");
    let directory = scratch(name);
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("several.c");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    driver_of(name, vec![path])
}

/// The rules that are not proved; each run of a violation replays on the monitor. One that rests on another client's state, which
/// the model does not follow, is UNKNOWN.
fn broken(name: &str, from: &str, to: &str) -> BTreeSet<u8> {
    let driver = server(name, from, to).unwrap();
    let report = run(&driver, &Options::default(), &|_| {}).unwrap();
    let mut rules = BTreeSet::new();
    for row in report.rows.iter().filter(|row| row.verdict != "PROVED") {
        println!("{name}: rule {} is {}", row.rule, row.verdict);
        rules.insert(row.rule);
        if let (Some(trace), "VIOLATED") = (&row.trace, row.verdict) {
            assert!(replays(&root(), &scratch(name), &driver, row.rule, trace).unwrap(), "{name}: {trace}");
        }
    }
    rules
}

#[test]
fn a_server_is_proved() {
    assert_eq!(broken("right", "", ""), BTreeSet::new());
}

#[test]
fn other_forms_are_proved() {
    let all = [
        ("turn_to_itself", "    EMIT(JOBS_LEFT);\n", "    TURN_TO(CLIENT());\n    EMIT(JOBS_LEFT);\n"),
        (
            "by_number",
            "receive(&client[CLIENT()], mailbox);",
            "uint32_t number = CLIENT();\n            TURN_TO(0);\n            TURN_TO(number);\n            \
             receive(&client[number], mailbox);",
        ),
        ("a_part_of_the_clients", "i < CLIENTS", "i < 2u"),
        ("once_more", "TURN_TO(i);\n", "TURN_TO(i);\n            TURN_TO(i);\n"),
    ];
    for (name, from, to) in all {
        assert_eq!(broken(name, from, to), BTreeSet::new(), "{name}");
    }
}

#[test]
fn faults_towards_one_client_are_found() {
    let all: [(&str, &str, &str, &[u8]); 9] = [
        // The job is told to the client that sent the last message.
        ("turn_not_given", "            TURN_TO(i);\n", "", &[6]),
        ("turn_of_the_first", "TURN_TO(i);", "TURN_TO(0);", &[6]),
        ("turn_of_the_next", "TURN_TO(i);", "TURN_TO((i + 1u) % CLIENTS);", &[6]),
        ("answer_to_another", "    EMIT(JOBS_LEFT);\n", "    TURN_TO(0);\n    EMIT(JOBS_LEFT);\n", &[1, 4]),
        ("kept_for_another", "&client[CLIENT()]", "&client[(CLIENT() + 1u) % CLIENTS]", &[6]),
        ("kept_for_the_first", "&client[CLIENT()]", "&client[0]", &[6]),
        ("jobs_forgotten", "left = c->came - c->done;", "left = 0;", &[6]),
        ("one_forgotten", "left = c->came - c->done;", "left = c->came - c->done - (c->came != c->done);", &[6]),
        // Other clients have jobs.
        ("ends_with_one", "    EMIT(JOBS_LEFT);\n", "    EMIT(JOBS_LEFT);\n    __builtin_trap();\n", &[6]),
    ];
    for (name, from, to, rules) in all {
        let found = broken(name, from, to);
        assert!(!found.is_empty() && rules.iter().all(|rule| found.contains(rule)), "{name}: {found:?}");
        println!("{name}: {found:?}");
    }
}

/// What rests on another client's element is doubtful, unless the server goes wrong with one client alone, too.
#[test]
fn one_client_alone_shows_a_fault() {
    let driver = driver_of("waits_for_another", vec![drivers().join("waits_for_another.c")]).unwrap();
    let report = run(&driver, &Options { rules: vec![4], ..Options::default() }, &|_| {}).unwrap();
    let found: Vec<&str> = report.rows.iter().map(|row| row.verdict).filter(|verdict| *verdict != "PROVED").collect();
    assert_eq!(found, ["VIOLATED"]);
}

/// A client is meant where none has its turn: by what is sent, by its number, by its memory.
#[test]
fn a_turn_that_no_client_has_is_found() {
    let receive = "            receive(&client[CLIENT()], mailbox);\n";
    let forms = [
        (
            "memory_of_turn",
            receive,
            "            receive(&client[CLIENT()], mailbox);\n            (void)dma_physical(JOBS_NUMBER, 0);\n",
        ),
        (
            "memory_of_other_protocols",
            "        serve_all();\n",
            "        serve_all();\n        (void)dma_memory(0, 0);\n",
        ),
    ];
    for (name, from, to) in forms {
        assert_eq!(broken(name, from, to), BTreeSet::new(), "{name}");
    }
    let faults = [
        (
            "memory_of_none",
            "        serve_all();\n",
            "        (void)dma_physical(JOBS_NUMBER, 0);\n        serve_all();\n",
        ),
        ("size_of_none", "        serve_all();\n", "        (void)dma_size(JOBS_NUMBER);\n        serve_all();\n"),
        (
            "number_of_none",
            "        serve_all();\n",
            "        client[CLIENT()].done = client[CLIENT()].done;\n        serve_all();\n",
        ),
    ];
    for (name, from, to) in faults {
        assert_eq!(broken(name, from, to), BTreeSet::from([1]), "{name}");
    }
}

/// The server is refused, with these words.
#[test]
fn what_cannot_be_followed_is_refused() {
    let all = [
        ("one_client", "ashlar/clients.h", "ashlar/driver.h", "includes `ashlar/clients.h` before"),
        ("unsaid", "const struct driver_clients driver_clients", "const struct driver_clients clients", "say how many"),
        ("of_none", "{JOBS_NUMBER, CLIENTS, 0}", "{JOBS_NUMBER, 0, 0}", "COUNT a constant from 1"),
        ("unknown", "{JOBS_NUMBER, CLIENTS, 0}", "{15, CLIENTS, 0}", "which the driver does not serve"),
        (
            "area",
            "    EMIT(JOBS_LEFT);\n",
            "    (void)dma_size(CLIENT());\n    EMIT(JOBS_LEFT);\n",
            "must be a constant",
        ),
        ("too_early", "#include \"ashlar/clients.h\"", EARLY, "includes `ashlar/clients.h` before"),
    ];
    for (name, from, to, words) in all {
        let error = match server(name, from, to) {
            Ok(driver) => driver.model().err().unwrap_or_else(|| panic!("{name} is not refused")).to_string(),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(words), "{name}: {error}");
    }
}

const EARLY: &str = "#include \"ashlar/clients.h\"\n#undef EMIT_COOKIE\n\
                     #define EMIT_COOKIE(mailbox, cookie) driver_emit((mailbox), (cookie))";
