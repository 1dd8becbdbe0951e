//! Drivers that are wrong in ways a checker may miss, each found by asking of its steps what they take for granted.

mod common;

use common::{check_text, driver, driver_of, root, scratch};
use drivercheck::check::{run, Options};
use drivercheck::counterexample::monitor::replays;
use std::collections::BTreeSet;

/// What must be found, and what may not be named.
#[test]
fn finds_what_hides() {
    let all: [(&str, &[u8]); 7] = [
        ("nested_polling", &[4]),
        ("narrow_counter", &[4]),
        ("never_answers_bell", &[2]),
        ("traps", &[5]),
        ("changes_by_itself", &[1]),
        ("touched_on_one_way", &[1]),
        ("touched_next_time", &[1]),
    ];
    for (name, rules) in all {
        let driver = driver(name).unwrap();
        let report = run(&driver, &Options::default(), &|_| {}).unwrap();
        let mut found = BTreeSet::new();
        for row in report.rows.iter().filter(|row| row.verdict != "PROVED") {
            assert_eq!(row.verdict, "VIOLATED", "{name}: {} {:?}", row.subprotocol, row.reason);
            let trace = row.trace.as_ref().unwrap();
            assert!(
                replays(&root(), &scratch(name), &driver, row.rule, trace).unwrap(),
                "{name}: no replay of\n{trace}"
            );
            found.insert(row.rule);
        }
        for rule in rules {
            assert!(found.contains(rule), "{name}: rule {rule} was not found, but {found:?}");
        }
    }
}

/// Of a cycle that is no loop it is not known whether it ends: no verdict, but no proof.
#[test]
fn says_nothing_of_a_cycle_with_two_entries() {
    let report = run(&driver("two_entries").unwrap(), &Options::default(), &|_| {}).unwrap();
    assert!(report.rows.iter().any(|row| row.rule == 4 && row.verdict != "PROVED"));
}

#[test]
fn refuses_what_it_would_misread() {
    let all = [
        (
            "braces",
            "struct s { uint32_t a[2]; uint32_t b; };",
            "struct s s = {1, 2, 3}; (void)s;",
            "braces are missing",
        ),
        (
            "designators",
            "struct i { uint32_t a, b; };\nstruct s { struct i i; uint32_t c; };",
            "struct s s = {.i.a = 1, 2}; (void)s;",
            "with several",
        ),
        (
            "callback",
            "void hand_over(void (*f)(void));\nstatic void f(void) { }",
            "hand_over(f);",
            "the address of `f`",
        ),
        ("long enumeration", "enum e { A = 0x100000000 };", "", "more than 32 bits"),
    ];
    for (name, declarations, body, part) in all {
        let text = format!(
            "#include \"ashlar/driver.h\"\n#include \"door_protocol.h\"\n{declarations}\n\
             void driver(void)\n{{\n    {body}\n    AWAIT(DOOR_KNOCK, DOOR_LEAVE);\n}}\n"
        );
        let Err(error) = check_text(name, &text, &Options::default()) else { panic!("{name}: accepted") };
        assert!(error.to_string().contains(part), "{name}: `{part}` is not in\n{error}");
    }
}

#[test]
fn names_of_two_files_are_told_apart() {
    let directory = scratch("files");
    std::fs::create_dir_all(&directory).unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let one = "#include \"ashlar/driver.h\"\n#include \"door_protocol.h\"\nstatic uint32_t count;\n\
               static uint32_t f(void) { return count; }\nuint32_t g(void);\n\
               void driver(void) { AWAIT(DOOR_KNOCK, DOOR_LEAVE); f(); g(); }\n";
    let two = "#include \"ashlar/driver.h\"\nstatic uint32_t count;\nstatic uint32_t f(void) { return 1; }\n\
               struct s { uint32_t a; };\nuint32_t g(void) { return f() + count; }\n";
    let files = vec![write("one.c", one), write("two.c", two)];
    let Err(error) = driver_of("files", files).unwrap().model() else { panic!("accepted") };
    for part in ["`count` is defined at", "`f` is defined at"] {
        assert!(error.to_string().contains(part), "`{part}` is not in\n{error}");
    }
}
