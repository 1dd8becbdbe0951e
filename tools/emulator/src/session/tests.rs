//! Sessions with a shell script in the emulator's place.

use super::{processor_time, End, Session, WaitError};
use crate::command::CommandLine;
use crate::transcript::line_regex;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(20);

fn script(text: &str) -> Session<'static> {
    let arguments = vec!["-c".to_string(), text.to_string()];
    Session::start(&CommandLine { program: "/bin/sh".into(), arguments, ..Default::default() }).unwrap()
}

#[test]
fn waits_types_and_sees_the_end() {
    let mut session = script(r"printf 'boot\n\016\101name? '; read name; printf 'hello %s\n' $name; exit 3");
    let name = session.wait_for(1, &line_regex(r"name\? $").unwrap(), LONG).unwrap();
    assert_eq!(name.line, "name? ");
    session.send(0, b"vm0\n");
    let hello = session.wait_for(1, &line_regex(r"hello (\w+)$").unwrap(), LONG).unwrap();
    assert_eq!(hello.groups[1].as_deref(), Some("vm0"));
    assert_eq!(session.wait_end(LONG), Ok(End::Exit(3)));
    assert_eq!(session.transcript(0).lines(), ["boot"]);
}

fn on_terminals(text: &str) -> Session<'static> {
    let arguments = vec!["-c".to_string(), text.to_string()];
    let environment = Vec::new();
    Session::start(&CommandLine { program: "/bin/sh".into(), arguments, environment, terminal: true }).unwrap()
}

/// It ends with status 1 in both cases: its last words tell which.
#[test]
fn an_emulator_on_a_terminal_has_its_serial_line_on_another() {
    let mut session = on_terminals(
        r#"test -t 0 -a -t 1 || exit 9; echo drawn; exec 3<>"$SERIAL"; printf 'name?\n' >&3; read name <&3
           printf 'hello %s\n' $name >&3; echo 'Bochs is exiting with the following message:'
           echo '[ACPI  ] ACPI control: soft power off'; exit 1"#,
    );
    session.wait_for(0, &line_regex(r"name\?").unwrap(), LONG).unwrap();
    session.send(0, b"vm0\n");
    session.wait_for(0, &line_regex("hello vm0").unwrap(), LONG).unwrap();
    assert_eq!(session.wait_end(LONG), Ok(End::Exit(0)));
    assert!(!session.transcript(0).lines().concat().contains("drawn"));
    let text = "echo 'Bochs is exiting with the following message:'; echo '[CPU0  ] 3rd exception'; exit 1";
    let mut session = on_terminals(text);
    assert_eq!(session.wait_end(LONG), Ok(End::Failed(1)));
    assert_eq!(session.finish(), "[CPU0  ] 3rd exception\n");
}

#[test]
fn typed_bytes_are_addressed() {
    let mut session = script(r"head -c 4 | od -An -tx1");
    session.send(2, b"x");
    session.send(2, b"\n");
    assert!(session.wait_for(0, &line_regex("^ 0e 42 78 0a$").unwrap(), LONG).is_ok());
}

#[test]
fn the_end_ends_a_wait_after_all_output() {
    let mut session = script(r"echo only; echo broken >&2; exit 5");
    let missing = session.wait_for(0, &line_regex("never").unwrap(), LONG);
    assert_eq!(missing, Err(WaitError::Ended(End::Exit(5))));
    assert_eq!(session.transcript(0).lines(), ["only"]);
    assert_eq!(session.finish(), "broken\n");
}

#[test]
fn a_forbidden_line_ends_a_wait_for_another_console_at_once() {
    let endless =
        r"printf '\016\101MONITOR: 1\n'; while :; do printf '\016\100tick\n\016\101MONITOR: 2\n'; sleep 0.01; done";
    let mut session = script(endless);
    session.forbid(1, line_regex("MONITOR").unwrap());
    let began = std::time::Instant::now();
    let missing = session.wait_for(0, &line_regex("^up$").unwrap(), LONG);
    assert_eq!(missing, Err(WaitError::Forbidden));
    assert!(began.elapsed() < LONG / 2);
    let (console, found) = session.forbidden().unwrap();
    assert_eq!((console, found.line.as_str()), (1, "MONITOR: 1"));
    assert_eq!(session.wait_end(LONG), Err(WaitError::Forbidden));
    assert_eq!(session.ended(), None);
}

#[test]
fn what_is_forbidden_is_known_when_the_emulator_has_ended() {
    let mut session = script(r"printf 'up\nno newline: MONITOR'; exit 2");
    session.forbid(0, line_regex("MONITOR").unwrap());
    assert_eq!(session.wait_for(0, &line_regex("^never$").unwrap(), LONG), Err(WaitError::Ended(End::Exit(2))));
    assert_eq!(session.forbidden().unwrap().1.line, "no newline: MONITOR");
    assert_eq!(session.ended(), Some(End::Exit(2)));
}

#[test]
fn a_wait_times_out_and_nothing_is_left_behind() {
    let mut session = script(r"echo pid $$; exec cat");
    let found = session.wait_for(0, &line_regex(r"pid (\d+)").unwrap(), LONG).unwrap();
    let pid = found.groups[1].clone().unwrap();
    let missing = session.wait_for(0, &line_regex("never").unwrap(), Duration::from_millis(20));
    assert_eq!(missing, Err(WaitError::Timeout));
    assert!(std::path::Path::new("/proc").join(&pid).exists());
    drop(session);
    assert!(!std::path::Path::new("/proc").join(&pid).exists(), "the child is dead and reaped");
}

#[test]
fn a_missing_program_is_named() {
    let command = CommandLine { program: "/nonexistent/qemu".into(), ..Default::default() };
    let error = Session::start(&command).err().unwrap();
    assert!(error.to_string().contains("/nonexistent/qemu"));
}

#[test]
fn processor_time_is_that_of_the_emulator() {
    let stat = "17 (a ) b) S 1 1 1 0 -1 4194560 1 2 3 4 250 50 7 8 20 0 4 0";
    assert_eq!(processor_time(stat, 100), Some(Duration::from_secs(3)));
    let mut session = script("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; read x");
    session.wait_for(0, &line_regex("^done").unwrap(), LONG).unwrap();
    let spent = session.processor_time().unwrap();
    assert!(spent > Duration::ZERO && spent < LONG, "{spent:?}");
}
