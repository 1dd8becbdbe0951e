//! Replaying a counterexample on the run-time monitor itself: its C, with the tables of the driver's protocols, compiled
//! and run on this machine.

use crate::counterexample::trace::{Event, Trace};
use crate::driver::Driver;
use crate::program::Wrong;
use protocol::decompose::Decomposition;
use protocol::generate;
use protocol::model::Field;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    #[error("the replay cannot be built or run: {0}")]
    Build(String),
}

/// The numbers of `enum monitor_verdict`.
const OK: u32 = 0;
const RULE: [(u8, u32); 3] = [(1, 1), (3, 2), (5, 3)];
const PAYLOAD: u32 = 5;
const COOKIE: u32 = 6;
const DRAINED: u32 = 7;

/// Whether the monitor agrees with the checker that the run breaks this rule, with its last event. A run without
/// end breaks no rule that a monitor can see: it must find nothing wrong, and come back to the states where it repeats.
/// No monitor checks `needs`: there, too, it must find nothing.
pub fn replays(root: &Path, scratch: &Path, driver: &Driver, rule: u8, trace: &Trace) -> Result<bool, MonitorError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error| MonitorError::File(path, error)
    };
    std::fs::create_dir_all(scratch).map_err(failed(scratch))?;
    let mut sources = vec![root.join("user/runtime/monitor.c"), root.join("tools/drivercheck/replay/replay.c")];
    for checked in &driver.protocols {
        for file in generate::files(checked, &Decomposition::default(), "protocols") {
            let path = scratch.join(&file.name);
            if file.name.ends_with("_monitor.c") {
                sources.push(path.clone());
            } else if !file.name.ends_with(".h") {
                continue;
            }
            std::fs::write(&path, file.text).map_err(failed(&path))?;
        }
    }
    // An AWAIT that need not end breaks rule 3, which another check reports: on this run a message comes all the same.
    let counts = |index: usize| rule == 3 && index + 1 == trace.events.len();
    let is_seen = |(index, event): &(usize, &Event)| !matches!(event, Event::Wait(_)) || counts(*index);
    let seen = |count: usize| -> Vec<Event> {
        let some = trace.events.iter().enumerate().filter(|one| one.0 < count);
        some.filter(|one| is_seen(one)).map(|(_, event)| event.clone()).collect()
    };
    let all = trace.events.len();
    let field = bad_field(driver, trace);
    let run = |count: usize| -> Result<Vec<u32>, MonitorError> {
        let path = scratch.join("run.h");
        std::fs::write(&path, table(driver, &seen(count), field.filter(|_| count == all))).map_err(failed(&path))?;
        let program = scratch.join("replay");
        let mut command = Command::new("gcc");
        command.args(["-std=gnu11", "-w", "-I"]).arg(scratch).arg("-I").arg(root.join("user/include"));
        command.args(&sources).arg("-o").arg(&program);
        let built = command.output().map_err(|error| MonitorError::Build(error.to_string()))?;
        if !built.status.success() {
            return Err(MonitorError::Build(String::from_utf8_lossy(&built.stderr).into_owned()));
        }
        let done = Command::new(&program).output().map_err(|error| MonitorError::Build(error.to_string()))?;
        let text = String::from_utf8_lossy(&done.stdout);
        Ok(text.split_whitespace().filter_map(|word| word.parse().ok()).collect())
    };
    let end = run(all)?;
    if let Some(turn) = trace.turn {
        let start = run(turn)?;
        return Ok(end.get(1) == Some(&OK) && start.get(1) == Some(&OK) && end.get(2..) == start.get(2..));
    }
    let expected = match trace.wrong {
        Some(Wrong::NotOpen) => COOKIE,
        Some(Wrong::Open) => DRAINED,
        Some(Wrong::Range(_)) => PAYLOAD,
        Some(Wrong::Form | Wrong::NoTurn) => OK,
        _ => RULE.iter().find(|(own, _)| *own == rule).map_or(OK, |(_, verdict)| *verdict),
    };
    let is_need = rule == 1 && trace.finding.contains("but it needs");
    Ok(end.first() == Some(&(seen(all).len() as u32)) && end.get(1) == Some(if is_need { &OK } else { &expected }))
}

/// The field of the last message that is out of its range, and its value.
fn bad_field<'a>(driver: &'a Driver, trace: &Trace) -> Option<(&'a Field, u64)> {
    let (Some(Wrong::Range(number)), Some(value)) = (trace.wrong, trace.value) else { return None };
    let Some(Event::Send((protocol, message), _)) = trace.events.last() else { return None };
    Some((driver.protocols[*protocol].protocol.messages[*message].fields.get(number)?, value))
}

/// The run as C tables. Of the last message a field may have a value that is given.
fn table(driver: &Driver, events: &[Event], field: Option<(&Field, u64)>) -> String {
    let mut out = String::from("/* Written by drivercheck for one replay. */\n");
    for checked in &driver.protocols {
        let _ = writeln!(out, "#include \"{}_protocol.h\"", checked.protocol.name);
    }
    let _ = writeln!(out, "enum kind {{ SEND, RECEIVE, WAIT, RETURN, AGAIN }};");
    out.push_str(
        "struct event { enum kind kind; uint32_t protocol, mailbox, first, count, offset, bytes; uint64_t value; };\n",
    );
    let names: Vec<String> = driver.protocols.iter().map(|one| format!("&{}_protocol", one.protocol.name)).collect();
    let _ = writeln!(out, "#define NUM_PROTOCOL {}", names.len());
    let _ = writeln!(out, "static const struct protocol *const protocols[] = {{{}}};", names.join(", "));
    let number =
        |(protocol, message): &(usize, usize)| generate::header::place(&driver.protocols[*protocol].protocol, *message);
    let (mut rows, mut mailboxes) = (String::new(), vec!["0".to_string()]);
    for (index, event) in events.iter().enumerate() {
        let row = match event {
            Event::Send(message, own) => {
                let own = format!("SEND, {}, {}, {}, 0", message.0, number(message), u8::from(*own));
                match field.filter(|_| index + 1 == events.len()) {
                    Some((field, value)) => format!("{{{own}, {}, {}, {value}u}}", field.offset, field.bits / 8),
                    None => format!("{{{own}}}"),
                }
            }
            Event::Receive(message, own) => {
                format!("{{RECEIVE, {}, {}, {}, 0}}", message.0, number(message), u8::from(*own))
            }
            Event::Wait(messages) => {
                let first = mailboxes.len();
                mailboxes.extend(messages.iter().map(|message| number(message).to_string()));
                format!("{{WAIT, 0, 0, {first}, {}}}", messages.len())
            }
            Event::Return => "{RETURN, 0, 0, 0, 0}".to_string(),
            Event::Again(last, times) => format!("{{AGAIN, 0, 0, {last}, {times}}}"),
        };
        let _ = writeln!(rows, "    {row},");
    }
    let _ = writeln!(out, "#define NUM_EVENT {}", events.len());
    let _ = writeln!(out, "static const uint32_t mailboxes[] = {{{}}};", mailboxes.join(", "));
    let _ = writeln!(out, "static const struct event events[] = {{\n{rows}    {{RETURN, 0, 0, 0, 0}}}};");
    out
}
