//! A client of a driver, checked against the mirrored protocol: right as it stands, and wrong in ways that each break a rule.

use crate::common::{driver_of, root, scratch};
use drivercheck::check::{run, Options};
use drivercheck::counterexample::monitor::replays;
use drivercheck::driver::{Driver, DriverError};
use std::collections::BTreeSet;

/// The client with a piece of its text replaced.
fn client(name: &str, from: &str, to: &str) -> Result<Driver, DriverError> {
    let text = std::fs::read_to_string(root().join("user/services/disk_watch/disk_watch.c")).unwrap();
    assert!(text.contains(from), "{name}: the client has no {from:?}");
    let directory = scratch(name);
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("disk_watch.c");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    driver_of(name, vec![path])
}

/// The rules that are broken; each run replays on the monitor.
fn broken(name: &str, from: &str, to: &str) -> BTreeSet<u8> {
    let driver = client(name, from, to).unwrap();
    let report = run(&driver, &Options::default(), &|_| {}).unwrap();
    let mut rules = BTreeSet::new();
    for row in &report.rows {
        assert_ne!(row.verdict, "UNKNOWN", "{name}: {} {:?}", row.subprotocol, row.reason);
        if let Some(trace) = &row.trace {
            // A replay has cookies of its own, which are all below the limit.
            let does_replay = replays(&root(), &scratch(name), &driver, row.rule, trace).unwrap();
            assert_eq!(does_replay, name != "cookie_too_large", "{name}: {trace}");
            rules.insert(row.rule);
        }
    }
    rules
}

#[test]
fn a_client_is_proved() {
    assert_eq!(broken("right", "", ""), BTreeSet::new());
}

#[test]
fn faults_of_a_client_are_found() {
    let all: [(&str, &str, &str, u8); 9] = [
        // The command is sent before the disk was configured.
        ("read_too_early", "        return IDENTIFIED;\n", "        return ACTIVE;\n", 1),
        // The driver was started anew, and has forgotten that its port was started.
        ("driver_thought_the_same", "    return UNLINKED;\n", "    AWAIT(DRIVER_UP);\n    return UNKNOWN;\n", 1),
        // It may cross `unplugged`.
        (
            "stop_that_crosses",
            "        rest();\n        return UNKNOWN;\n",
            "        EMIT(SATA_STOP);\n        return UNKNOWN;\n",
            1,
        ),
        // A disk that is taken out while it is identified.
        (
            "deaf_to_unplugging",
            "SATA_IDENTIFY_FAIL, SATA_UNPLUGGED, DRIVER_LOST)",
            "SATA_IDENTIFY_FAIL, DRIVER_LOST)",
            3,
        ),
        ("deaf_to_the_drivers_end", "AWAIT(SATA_PLUGGED, DRIVER_LOST)", "AWAIT(SATA_PLUGGED)", 3),
        // It owes `unplugged_ok`.
        ("never_lets_go", "    EMIT(SATA_UNPLUGGED_OK);\n", "    for (;;) {\n        rest();\n    }\n", 4),
        // The same cookie for two commands.
        (
            "cookie_twice",
            "    EMIT(SATA_READ, 0, &body);\n",
            "    EMIT(SATA_READ, 0, &body);\n    EMIT(SATA_READ, 0, &body);\n",
            6,
        ),
        ("cookie_too_large", "    EMIT(SATA_READ, 0, &body);\n", "    EMIT(SATA_READ, 32, &body);\n", 6),
        ("nothing_to_read", "{0, 1, SECTOR, 0}", "{0, 0, SECTOR, 0}", 7),
    ];
    for (name, from, to, rule) in all {
        let rules = broken(name, from, to);
        assert!(rules.contains(&rule), "{name}: {rules:?}");
    }
}

#[test]
fn the_table_of_a_client_is_understood_or_refused() {
    let served = "driver_protocols[] = {&timer_protocol, 0}";
    for (name, from, to, says) in [
        ("both", served, "driver_protocols[] = {&timer_protocol, &sata_protocol, 0}", "in `driver_protocols` and"),
        ("form", "{&sata_protocol, 0}", "{1 ? &sata_protocol : 0, 0}", "must be a list of the form"),
        ("end", "{&sata_protocol, 0}", "{&sata_protocol}", "must be a list of the form"),
    ] {
        let error = client(name, from, to).err().unwrap_or_else(|| panic!("{name} is taken")).to_string();
        assert!(error.contains(says), "{name}: {error}");
    }
}
