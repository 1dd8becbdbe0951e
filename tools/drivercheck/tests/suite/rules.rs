//! Small drivers: one that is right in roundabout ways, and for each rule one that breaks it.

use crate::common::{check_text, driver, root, scratch};
use drivercheck::check::{run, Options, Report};
use drivercheck::counterexample::monitor::replays;
use drivercheck::counterexample::trace::Event;
use drivercheck::driver::Driver;
use std::collections::BTreeSet;

fn check(name: &str, options: &Options) -> (Driver, Report) {
    let driver = driver(name).unwrap();
    let report = run(&driver, options, &|_| {}).unwrap();
    for row in &report.rows {
        assert_ne!(row.verdict, "UNKNOWN", "{name}: {} {:?}", row.subprotocol, row.reason);
    }
    (driver, report)
}

/// The rules that are broken; each run replays on the monitor.
fn broken(name: &str, options: &Options) -> BTreeSet<u8> {
    let (driver, report) = check(name, options);
    let mut rules = BTreeSet::new();
    for row in &report.rows {
        if let Some(trace) = &row.trace {
            let answer = replays(&root(), &scratch(name), &driver, row.rule, trace).unwrap();
            assert!(answer, "{name}: the monitor does not agree with\n{trace}");
            rules.insert(row.rule);
        }
    }
    rules
}

/// Not the messages by which it goes on in the state.
#[test]
fn names_the_answers_that_are_not_sent() {
    let (_, report) = check("rule4", &Options { rules: vec![4], threads: 1, ..Options::default() });
    let finding = &report.rows.iter().find_map(|row| row.trace.as_ref()).unwrap().finding;
    let says =
        "rule 4: `door` stays in timed state Answering for ever: the answer that leaves it (`answer`) is not sent";
    assert_eq!(finding, says);
    let body = "while ((register_read32(4) & 1u) != 0u) {\n}\nEMIT(GAUGE_PLAIN);";
    let text = format!(
        "#include \"ashlar/driver.h\"\n#include \"gauge_protocol.h\"\nvoid driver(void)\n{{\nfor (;;) {{\n\
         AWAIT(GAUGE_ASK, GAUGE_SET);\n{body}\n}}\n}}\n"
    );
    let report = check_text("several", &text, &Options { rules: vec![4], threads: 1, ..Options::default() }).unwrap();
    let finding = &report.rows[0].trace.as_ref().unwrap().finding;
    assert!(finding.ends_with("the answer that leaves it (`told` or `refused` or `plain`) is not sent"), "{finding}");
}

#[test]
fn names_the_rule_that_is_broken() {
    let all: [(&str, &[u8]); 15] = [
        ("good", &[]),
        ("idle", &[]),
        ("rule1", &[1]),
        ("rule2", &[2]),
        ("rule3", &[3]),
        ("rule4", &[4]),
        ("rule5", &[5]),
        ("timed", &[]),
        ("timed_wrong", &[4]),
        ("long_poll", &[1]),
        ("pages", &[1]),
        ("asked_for_nothing", &[]),
        ("asked_twice", &[3]),
        ("ports", &[]),
        ("ports_wrong", &[1]),
    ];
    for (name, rules) in all {
        assert_eq!(broken(name, &Options::default()), BTreeSet::from_iter(rules.iter().copied()), "{name}");
    }
}

#[test]
fn says_the_same_without_its_means() {
    let less = [
        Options { decompose: false, ..Options::default() },
        Options { seed: false, ..Options::default() },
        Options { transform: false, ..Options::default() },
    ];
    for options in less {
        assert_eq!(broken("good", &options), BTreeSet::new());
        assert_eq!(broken("rule1", &options), BTreeSet::from([1]));
        assert_eq!(broken("rule4", &options), BTreeSet::from([4]));
    }
}

#[test]
fn a_trace_tells_lines_messages_and_states() {
    let (_, report) = check("rule5", &Options::default());
    let trace = report.rows.iter().find_map(|row| row.trace.as_ref()).unwrap().to_string();
    for part in ["tries = 3", "?knock | Closed -> Answering", "| return", "rule 5"] {
        assert!(trace.contains(part), "`{part}` is not in\n{trace}");
    }
}

/// A register access stands where the driver makes it, not where the framework's function announces it.
#[test]
fn a_trace_names_the_drivers_own_line() {
    let text = "#include \"ashlar/driver.h\"\n#include \"ashlar/pci_registers.h\"\n#include \"pci_protocol.h\"\n\
                void driver(void)\n{\n    for (;;) {\n        read32(0);\n\
                if (AWAIT(PCI_ON, PCI_OFF) == PCI_OFF) {\nEMIT(PCI_DONE);\n}\n}\n}\n";
    let report = check_text("early", text, &Options::default()).unwrap();
    let row = report.rows.iter().find(|row| row.rule == 1 && row.verdict == "VIOLATED").unwrap();
    let trace = row.trace.as_ref().unwrap().to_string();
    assert!(trace.contains("early.c:7 | !access | Off -> not enabled"), "{trace}");
    assert!(!trace.contains("pci_registers.h"), "{trace}");
}

/// Where a later loop cannot turn because of how often an earlier one did, the earlier one gets another plan: without that
/// all plans of the later one are tried in vain, and the summaries are made finer in 40 refinements.
#[test]
fn finds_the_loop_that_stands_in_the_way() {
    assert_eq!(broken("whole_period", &Options::default()), BTreeSet::from([1]));
    let (_, report) = check("whole_period", &Options { rules: vec![1], ..Options::default() });
    for row in report.rows.iter().filter(|row| row.verdict == "VIOLATED") {
        assert!(row.refinements <= 5, "{}: {} refinements", row.subprotocol, row.refinements);
    }
}

/// A million rounds of which each is like the one before stand in a trace as some, with their number.
#[test]
fn a_trace_counts_rounds() {
    let (_, report) = check("long_poll", &Options::default());
    let trace = report.rows.iter().find_map(|row| row.trace.as_ref()).unwrap();
    let count = |event: &Event| if let Event::Again(last, times) = event { *last as u64 * times } else { 1 };
    assert!(trace.events.iter().map(count).sum::<u64>() >= 1_000_000);
    assert!(trace.events.len() < 10_000 && trace.to_string().contains("(round the loop, more than 9999"));
}

#[test]
fn refuses_all_at_once() {
    let Err(error) = driver("refused").unwrap().model() else { panic!("accepted") };
    let text = error.to_string();
    for part in ["calls itself", "through a pointer", "; it does not send it"] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

#[test]
fn coverage_shows_what_is_never_taken() {
    let (driver, report) = check("rule3", &Options { coverage: true, ..Options::default() });
    let untouched = drivercheck::report::picture::untouched(&driver, &report);
    assert_eq!(untouched, ["door: ?leave in Closed", "door: !touch in Answering", "door: !left in Leaving"]);
}
