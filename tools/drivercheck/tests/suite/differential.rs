//! The checker against all runs of small drivers that were made by chance; and what that comparison has found.

use crate::common::{check_text, root, scratch};
use campaign::Shard;
use drivercheck::check::Options;
use drivercheck::differential::differential;

#[test]
fn agrees_with_all_runs() {
    let scratch = scratch("differential");
    let all = differential(&root(), &scratch, 128, 7, Shard::ALL, &mut |_| {}).unwrap();
    let says: Vec<String> = all.disagreements.iter().map(|found| format!("{}: {}", found.pair, found.says)).collect();
    assert!(says.is_empty(), "{}", says.join("\n"));
    // Both sides were tried.
    assert!(all.pairs == 128 && all.whole > 90 && all.good > 40 && all.good < 120, "{all:?}");
    assert!(all.proved > 500 && all.violated > 10 && all.unknown < all.checks / 20, "{all:?}");
}

/// The rules of which some check is not PROVED, and the verdicts.
fn verdicts(name: &str, body: &str) -> Vec<(u8, &'static str)> {
    let text = format!(
        "#include \"ashlar/driver.h\"\n#include \"jobs_protocol.h\"\nstatic uint32_t set;\nvoid driver(void)\n{{\n{body}\n}}\n"
    );
    let report = check_text(name, &text, &Options::default()).unwrap();
    let mut all: Vec<_> =
        report.rows.iter().filter(|row| row.verdict != "PROVED").map(|row| (row.rule, row.verdict)).collect();
    all.dedup();
    all
}

/// The client opens no more requests than the limit: a driver that hears nothing but orders waits for ever (rule 3), but does
/// not run for ever (rule 4).
#[test]
fn orders_come_to_an_end() {
    let body = "AWAIT(JOBS_LEAVE, JOBS_ORDER);\nfor (;;) {\nAWAIT(JOBS_ORDER);\n}";
    let found = verdicts("orders", body);
    assert!(found.contains(&(3, "VIOLATED")) && !found.iter().any(|(rule, _)| *rule == 4), "{found:?}");
}

/// The cookie of a request is below its limit: its bit is one of a word.
#[test]
fn cookies_are_below_the_limit() {
    let body = |limit: u32| {
        format!(
            "for (;;) {{\nif (AWAIT(JOBS_ORDER, JOBS_LEAVE) == JOBS_LEAVE) {{\nEMIT(JOBS_LEFT);\n}} else {{\n\
             set = 1u << COOKIE();\nif (set == 0u || COOKIE() >= {limit}u) {{\nEMIT(JOBS_LEFT);\n}}\n\
             EMIT(JOBS_DONE, COOKIE());\n}}\n}}"
        )
    };
    assert_eq!(verdicts("below", &body(4)), []);
    assert_eq!(verdicts("near", &body(3)).first(), Some(&(1, "VIOLATED")));
}

/// What the driver keeps in a large array is not any value: a run that rests on one is in doubt, not a violation.
#[test]
fn states_in_large_arrays_give_no_false_alarm() {
    let body = "static uint32_t state[64];\nfor (;;) {\nuint32_t m = AWAIT(JOBS_ORDER, JOBS_LEAVE);\n\
                if (state[m % 64u] > 1u) {\nEMIT(JOBS_LEFT);\n}\nstate[m % 64u] = 1;\n\
                if (m == JOBS_ORDER) {\nEMIT(JOBS_DONE, COOKIE());\n} else {\nEMIT(JOBS_LEFT);\n}\n}";
    let found = verdicts("large", body);
    assert!(!found.is_empty() && found.iter().all(|(_, verdict)| *verdict == "UNKNOWN"), "{found:?}");
}

/// A loop that completes requests is not idle, though it leaves the protocol's state alone: the client may open others then.
#[test]
fn completed_requests_make_room_for_others() {
    let body = "for (;;) {\nAWAIT(JOBS_ORDER);\nset = 1u << COOKIE();\nwhile (set != 0u) {\n\
                uint32_t bit = (uint32_t)__builtin_ctz(set);\nset = set & (set - 1u);\nEMIT(JOBS_DONE, bit);\n}\n}";
    let found = verdicts("room", body);
    assert!(found.contains(&(2, "VIOLATED")), "{found:?}");
}

/// A large array in which nothing but zero is stored holds nothing else: a run that rests on another value is in doubt.
#[test]
fn zeros_in_large_arrays_give_no_false_alarm() {
    let body = "static uint32_t state[64];\nfor (;;) {\nuint32_t m = AWAIT(JOBS_ORDER, JOBS_LEAVE);\n\
                if (state[m % 64u] != 0u) {\nEMIT(JOBS_LEFT);\n}\nstate[m % 64u] = 0;\n\
                if (m == JOBS_ORDER) {\nEMIT(JOBS_DONE, COOKIE());\n} else {\nEMIT(JOBS_LEFT);\n}\n}";
    assert_eq!(verdicts("zeros", body), [(1, "UNKNOWN")]);
}
