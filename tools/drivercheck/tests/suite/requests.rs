//! Rule 6: each request is completed once, with its cookie. Small drivers that keep cookies in several ways.

use crate::common::{driver_of, drivers, root, scratch};
use drivercheck::check::{run, Options};
use drivercheck::counterexample::monitor::replays;
use drivercheck::driver::{read, Source};

/// Name, declarations, what is done with an order, what is done when the client leaves, and what the finding says: nothing
/// where the driver is right.
const DRIVERS: &[(&str, &str, &str, &str, &str)] = &[
    ("at once", "", "EMIT(JOBS_DONE, COOKIE());", "", ""),
    ("twice", "", "EMIT(JOBS_DONE, COOKIE()); EMIT(JOBS_DONE, COOKIE());", "", "that is not open"),
    ("never", "", "", "", "it was not completed"),
    ("unasked", "", "EMIT(JOBS_DONE, COOKIE());", "EMIT(JOBS_DONE, 1);", "that is not open"),
    ("returns", "", "return;", "", "the driver returns while a `job` is open"),
    ("another cookie", "", "EMIT(JOBS_DONE, COOKIE() ^ 1u);", "", "that is not open"),
    ("out of range", "", "EMIT(JOBS_DONE, COOKIE() + 4u);", "", "that is not open"),
    ("the one before", "static uint64_t old;", "EMIT(JOBS_DONE, old); old = COOKIE();", "", "that is not open"),
    ("kept", KEPT, "finish(); kept = COOKIE(); is_kept = 1;", "finish();", ""),
    ("kept over another", KEPT, "kept = COOKIE(); is_kept = 1;", "finish();", "it was not completed"),
    ("kept and left", KEPT, "finish(); kept = COOKIE(); is_kept = 1;", "", "it was not completed"),
    ("a set", SET, "set = set | 1u << COOKIE();", "finish();", ""),
    ("a set of the wrong bits", SET, "set = set | 2u << COOKIE();", "finish();", "that is not open"),
    ("a set and the device's number of a bit", TOLD, TOLD_ORDER, "finish();", "that is not open"),
    ("a set and a number that is one of its bits", TOLD, TOLD_BELOW, "finish();", ""),
    ("a set and a part of the device's number", TOLD, TOLD_PART, "finish();", ""),
    (
        "a set that keeps what is done",
        "static uint32_t set;",
        "set = set | 1u << COOKIE();",
        "for (uint32_t left = set; left != 0u; left = left & (left - 1u)) {\n\
         EMIT(JOBS_DONE, (uint32_t)__builtin_ctz(left));\n}\n",
        "that is not open",
    ),
    (
        "a ring whose counter is stepped too early",
        "static struct { uint32_t came, done; struct { uint64_t cookie; uint32_t more; } job[32]; } ring;",
        "ring.came = ring.came + 1u; ring.job[ring.came % 32u].cookie = COOKIE();",
        "while (ring.done != ring.came) { uint64_t cookie = ring.job[ring.done % 32u].cookie;\n\
         ring.done = ring.done + 1u; EMIT(JOBS_DONE, cookie); }",
        "that is not open",
    ),
];

const KEPT: &str = "static uint64_t kept;\nstatic uint32_t is_kept;\n\
                    static void finish(void) { if (is_kept) { is_kept = 0; EMIT(JOBS_DONE, kept); } }";
const SET: &str = "static uint32_t set;\nstatic void finish(void)\n{\n    while (set != 0u) {\n\
                   EMIT(JOBS_DONE, (uint32_t)__builtin_ctz(set));\n        set = set & (set - 1u);\n    }\n}\n";

/// A device says which bit. By more than there are the processor shifts by a part of the number.
const TOLD: &str =
    "static uint32_t set;\nstatic volatile uint32_t told;\nstatic void finish(void)\n{\n    while (set != 0u) {\n\
                    EMIT(JOBS_DONE, (uint32_t)__builtin_ctz(set));\n        set = set & (set - 1u);\n    }\n}\n\
                    static void end(uint32_t bit)\n{\n    if ((set >> bit & 1u) != 0u) {\n\
                    set = set & ~(1u << bit);\n        EMIT(JOBS_DONE, bit);\n    }\n}\n";
const TOLD_ORDER: &str = "set = set | 1u << COOKIE(); end(told);";
const TOLD_BELOW: &str = "set = set | 1u << COOKIE(); uint32_t bit = told; if (bit < 32u) { end(bit); }";
const TOLD_PART: &str = "set = set | 1u << COOKIE(); end(told & 31u);";

#[test]
fn counts_requests() {
    for (name, declarations, order, leave, finding) in DRIVERS {
        let directory = scratch("requests");
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("driver.c");
        let text = format!(
            "#include \"ashlar/driver.h\"\n#include \"jobs_protocol.h\"\n{declarations}\nvoid driver(void)\n{{\n\
             for (;;) {{\nif (AWAIT(JOBS_ORDER, JOBS_LEAVE) == JOBS_ORDER) {{\n{order}\n}} else {{\n{leave}\n\
             EMIT(JOBS_LEFT);\n}}\n}}\n}}\n"
        );
        std::fs::write(&path, text).unwrap();
        let driver = driver_of("requests", vec![path]).unwrap();
        let report = run(&driver, &Options { rules: vec![6], threads: 1, ..Options::default() }, &|_| {}).unwrap();
        let [row] = report.rows.as_slice() else { panic!("{name}: {} checks", report.rows.len()) };
        assert_eq!(row.rule, 6);
        match &row.trace {
            None => {
                assert_eq!((row.verdict, *finding), ("PROVED", ""), "{name}: {:?}", row.reason);
            }
            Some(trace) => {
                assert!(!finding.is_empty() && trace.finding.contains(finding), "{name}:\n{trace}");
                // Which request it is stands at its messages.
                assert!(trace.to_string().contains("[the request]"), "{name}:\n{trace}");
                let answer = replays(&root(), &scratch("requests"), &driver, 6, trace).unwrap();
                assert!(answer, "{name}: the monitor does not agree with\n{trace}");
            }
        }
    }
}

/// Where one request alone can be open, no other has a cookie: a wrong one replays on the monitor all the same.
#[test]
fn a_wrong_cookie_beside_the_only_request_replays() {
    let directory = scratch("only");
    std::fs::create_dir_all(&directory).unwrap();
    let protocol = std::fs::read_to_string(drivers().join("jobs.proto")).unwrap();
    let (path, one) = (directory.join("driver.c"), directory.join("jobs.proto"));
    assert!(protocol.contains("request job 4"));
    std::fs::write(&one, protocol.replace("request job 4", "request job 1")).unwrap();
    let text = "#include \"ashlar/driver.h\"\n#include \"jobs_protocol.h\"\nvoid driver(void)\n{\n\
                for (;;) {\nif (AWAIT(JOBS_ORDER, JOBS_LEAVE) == JOBS_ORDER) {\nEMIT(JOBS_DONE, 1);\n} else {\n\
                EMIT(JOBS_LEFT);\n}\n}\n}\n";
    std::fs::write(&path, text).unwrap();
    let source = Source {
        root: root(),
        files: vec![path],
        protocols: vec![one],
        protocol_dir: root().join("protocols"),
        scratch: scratch("only"),
        ..Source::default()
    };
    let driver = read(&source).unwrap();
    let report = run(&driver, &Options { rules: vec![6], threads: 1, ..Options::default() }, &|_| {}).unwrap();
    let trace = report.rows.iter().find_map(|row| row.trace.as_ref()).unwrap();
    assert!(trace.finding.contains("that is not open"), "{trace}");
    assert!(replays(&root(), &scratch("only"), &driver, 6, trace).unwrap(), "{trace}");
}
