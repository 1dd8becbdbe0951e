//! Rule 7: what a message carries has the message's type, and every field is within its range.

use crate::common::{check_text, driver_of, root, scratch};
use drivercheck::check::{run, Options, Row};
use drivercheck::counterexample::monitor::replays;
use drivercheck::report::sarif::sarif;

/// Name, declarations, what answers, and what the finding says: nothing where the driver is right, `?` where the checker
/// does not know.
const DRIVERS: &[(&str, &str, &str, &str)] = &[
    ("a constant", "", "struct gauge_refused body = {3}; EMIT(GAUGE_REFUSED, 0, &body);", ""),
    ("a constant above", "", "struct gauge_refused body = {4}; EMIT(GAUGE_REFUSED, 0, &body);", "`reason` that is not 1 to 3"),
    ("left out", "", "struct gauge_told body = {.parts = {1, 2}}; EMIT(GAUGE_TOLD, 0, &body);", "`value` that is not 1 to 10"),
    ("no first value", "", "struct gauge_refused body; EMIT(GAUGE_REFUSED, 0, &body);", "`reason`"),
    ("an element", "", "struct gauge_told body = {1, {9, 10}}; EMIT(GAUGE_TOLD, 0, &body);", "`parts` that is not 0 to 9"),
    (
        "a guard",
        "",
        "uint32_t a = register_read32(4);\nif (a >= 1u && a <= 3u) {\nstruct gauge_refused body = {(uint8_t)a};\n\
         EMIT(GAUGE_REFUSED, 0, &body);\n} else {\nEMIT(GAUGE_PLAIN);\n}",
        "",
    ),
    (
        "a guard that is too wide",
        "",
        "uint32_t a = register_read32(4);\nif (a >= 1u && a <= 4u) {\nstruct gauge_refused body = {(uint8_t)a};\n\
         EMIT(GAUGE_REFUSED, 0, &body);\n} else {\nEMIT(GAUGE_PLAIN);\n}",
        "`reason` that is not 1 to 3",
    ),
    (
        "a guard of a wider value",
        "",
        "uint32_t a = register_read32(4);\nif (a != 0u && a % 256u <= 3u) {\nstruct gauge_refused body = {(uint8_t)a};\n\
         EMIT(GAUGE_REFUSED, 0, &body);\n} else {\nEMIT(GAUGE_PLAIN);\n}",
        "`reason` that is not 1 to 3",
    ),
    ("a mask", "", "struct gauge_refused body = {(uint8_t)((register_read8(4) & 1u) + 2u)}; EMIT(GAUGE_REFUSED, 0, &body);", ""),
    (
        "what was received",
        "",
        "if (mailbox == GAUGE_ASK) {\nstruct gauge_told body = {MAIL(gauge_ask)->scale, {0, 0}};\n\
         EMIT(GAUGE_TOLD, 0, &body);\n} else {\nEMIT(GAUGE_PLAIN);\n}",
        "",
    ),
    (
        "what another message has there",
        "",
        "struct gauge_told body = {MAIL(gauge_ask)->scale, {0, 0}}; EMIT(GAUGE_TOLD, 0, &body);",
        "`value` that is not 1 to 10",
    ),
    (
        "a field without a range",
        "",
        "if (mailbox == GAUGE_ASK) {\nstruct gauge_told body = {MAIL(gauge_ask)->kind, {0, 0}};\n\
         EMIT(GAUGE_TOLD, 0, &body);\n} else {\nEMIT(GAUGE_PLAIN);\n}",
        "`value` that is not 1 to 10",
    ),
    (
        "kept from the message before",
        "static uint8_t last = 1;",
        "struct gauge_told body = {last, {0, 0}};\nEMIT(GAUGE_TOLD, 0, &body);\n\
         if (mailbox == GAUGE_ASK) { last = MAIL(gauge_ask)->scale; }",
        "",
    ),
    (
        "kept, and nothing at first",
        "static uint8_t last;",
        "struct gauge_told body = {last, {0, 0}};\nEMIT(GAUGE_TOLD, 0, &body);\n\
         if (mailbox == GAUGE_ASK) { last = MAIL(gauge_ask)->scale; }",
        "`value` that is not 1 to 10",
    ),
    (
        "one step more",
        "",
        "if (mailbox == GAUGE_ASK) {\nstruct gauge_told body = {(uint8_t)(MAIL(gauge_ask)->scale + 1u), {0, 0}};\n\
         EMIT(GAUGE_TOLD, 0, &body);\n} else {\nEMIT(GAUGE_PLAIN);\n}",
        "`value` that is not 1 to 10",
    ),
    (
        "read twice",
        "",
        "if (mailbox == GAUGE_ASK && MAIL(gauge_ask)->kind != 0 && MAIL(gauge_ask)->kind < 4) {\n\
         struct gauge_refused body = {MAIL(gauge_ask)->kind};\nEMIT(GAUGE_REFUSED, 0, &body);\n} else {\nEMIT(GAUGE_PLAIN);\n}",
        "",
    ),
    (
        "by a pointer",
        "static void refuse(struct gauge_refused *body, uint8_t reason) { body->reason = reason; EMIT(GAUGE_REFUSED, 0, body); }",
        "struct gauge_refused body = {0};\nrefuse(&body, mailbox == GAUGE_ASK ? 2 : 3);",
        "",
    ),
    (
        "a counter",
        "static uint8_t count;",
        "struct gauge_told body = {1, {count, 0}};\nEMIT(GAUGE_TOLD, 0, &body);\ncount = count == 9 ? 0 : count + 1;",
        "",
    ),
    (
        "a counter that goes too far",
        "static uint8_t count;",
        "struct gauge_told body = {1, {count, 0}};\nEMIT(GAUGE_TOLD, 0, &body);\ncount = count > 9 ? 0 : count + 1;",
        "`parts` that is not 0 to 9",
    ),
    (
        "from a large table",
        "static uint8_t level[64];",
        "level[MAIL(gauge_set)->level % 64u] = 1;\nuint8_t a = level[3];\nstruct gauge_told body = {1, {a, 0}};\nEMIT(GAUGE_TOLD, 0, &body);",
        "?",
    ),
    (
        "the last of several fields",
        "",
        "struct gauge_told body = {0, {0, 0}};\nbody.value = body.value | 8;\nEMIT(GAUGE_TOLD, 0, &body);",
        "",
    ),
];

fn text(declarations: &str, body: &str) -> String {
    format!(
        "#include \"ashlar/driver.h\"\n#include \"gauge_protocol.h\"\n{declarations}\nvoid driver(void)\n{{\n\
         for (;;) {{\nuint32_t mailbox = AWAIT(GAUGE_ASK, GAUGE_SET);\n{body}\n(void)mailbox;\n}}\n}}\n"
    )
}

#[test]
fn checks_payloads() {
    for (name, declarations, body, finding) in DRIVERS {
        let directory = scratch("payloads");
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("driver.c");
        std::fs::write(&path, text(declarations, body)).unwrap();
        let driver = driver_of("payloads", vec![path]).unwrap();
        let report = run(&driver, &Options { rules: vec![7], threads: 1, ..Options::default() }, &|_| {}).unwrap();
        assert_eq!(report.rows.len(), 2, "one check for each message with a range");
        let bad: Vec<_> = report.rows.iter().filter(|row| row.verdict != "PROVED").collect();
        match (bad.as_slice(), *finding) {
            ([], "") => {}
            ([row], "?") => {
                assert_eq!(row.verdict, "UNKNOWN", "{name}");
                assert!(row.trace.is_some() && row.reason.is_some(), "{name}: a doubt has a run and a reason");
            }
            ([row], finding) => {
                assert_eq!(row.verdict, "VIOLATED", "{name}: {:?}", row.reason);
                let trace = row.trace.as_ref().unwrap();
                assert!(!finding.is_empty() && trace.finding.contains(finding), "{name}:\n{trace}");
                let answer = replays(&root(), &scratch("payloads"), &driver, 7, trace).unwrap();
                assert!(answer, "{name}: the monitor does not agree with\n{trace}");
            }
            _ => panic!("{name}: {} messages are not proved", bad.len()),
        }
    }
}

/// Without a verdict: where, which field, and what may help, for people and for editors.
#[test]
fn a_doubt_names_place_field_and_remedy() {
    let (_, declarations, body, _) = DRIVERS.iter().find(|(_, _, _, finding)| *finding == "?").unwrap();
    let text = text(declarations, body);
    let report = check_text("doubt", &text, &Options { rules: vec![7], threads: 1, ..Options::default() }).unwrap();
    let row = report.rows.iter().find(|row| row.verdict == "UNKNOWN").unwrap();
    let doubt = row.doubt.as_ref().unwrap();
    let emit = 1 + text.lines().position(|line| line.contains("EMIT(GAUGE_TOLD")).unwrap();
    assert!(doubt.file.as_ref().unwrap().ends_with("doubt.c"), "{doubt}");
    assert_eq!((doubt.line, doubt.field.as_deref()), (Some(emit), Some("parts")));
    assert_eq!(doubt.question, "whether `parts` of `gauge told` is always 0 to 9");
    assert!(doubt.remedy.contains("an array of at most 16 elements"), "{}", doubt.remedy);
    // Also where there is no run.
    for row in [row.clone(), Row { trace: None, ..row.clone() }] {
        let findings = sarif(&[row])["runs"][0]["results"].to_string();
        assert!(findings.contains("what may help: test what decides"), "{findings}");
        assert!(findings.contains(&format!("\"startLine\":{emit}")), "{findings}");
    }
    assert!(report.rows.iter().all(|row| row.doubt.is_some() == (row.verdict == "UNKNOWN")));
}

/// A payload of another type, none, or one too many: refused, whatever the run.
const REFUSED: &[(&str, &str, &str)] = &[
    ("none", "EMIT(GAUGE_REFUSED);", "is a `struct gauge_refused`"),
    ("another", "struct gauge_told body = {1, {0, 0}}; EMIT(GAUGE_REFUSED, 0, &body);", "is a `struct gauge_refused`"),
    ("bytes", "uint8_t body[1] = {1}; EMIT(GAUGE_REFUSED, 0, body);", "is a `struct gauge_refused`"),
    ("a number", "uint32_t body = 1; EMIT(GAUGE_REFUSED, 0, &body);", "is a `struct gauge_refused`"),
    ("one too many", "struct gauge_refused body = {1}; EMIT(GAUGE_PLAIN, 0, &body);", "has no fields"),
];

#[test]
fn refuses_payloads_of_another_type() {
    for (name, body, part) in REFUSED {
        let Err(error) = check_text(name, &text("", body), &Options::default()) else { panic!("{name}: accepted") };
        assert!(error.to_string().contains(part), "{name}: `{part}` is not in\n{error}");
    }
}

/// What the driver receives is within its ranges: a branch for what is out of them is never taken, by any rule's checks.
#[test]
fn believes_ranges_of_what_is_received() {
    let body = "if (mailbox == GAUGE_SET && MAIL(gauge_set)->level > 99) {\nEMIT(GAUGE_PLAIN);\n}\nEMIT(GAUGE_PLAIN);";
    let options = Options { rules: vec![1], threads: 1, ..Options::default() };
    let verdicts = |body: &str| {
        let report = check_text("ranges", &text("", body), &options).unwrap();
        report.rows.iter().all(|row| row.verdict == "PROVED")
    };
    assert!(verdicts(body));
    assert!(!verdicts(&body.replace("> 99", "> 98")));
}
