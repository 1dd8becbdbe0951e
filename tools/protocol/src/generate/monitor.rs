//! The tables of a protocol's run-time monitor, in C; the monitor itself is `user/runtime/monitor.c`. The steps of single
//! messages are beside, in `steps`.

use super::header::{constant, place};
use super::steps;
use crate::model::{Cookie, Message, Protocol};
use crate::Checked;
use std::fmt::Write;

pub fn tables(checked: &Checked, banner: &str) -> String {
    let (protocol, automaton) = (&checked.protocol, &checked.flat.automaton);
    let name = &protocol.name;
    let mut out = format!(
        "/* {banner} */\n#include <stddef.h>\n\n#include \"ashlar/monitor_check.h\"\n#include \"ashlar/mail_port.h\"\n\n\
         #include \"{name}_protocol.h\"\n\n"
    );
    let _ = writeln!(out, "#define NO MONITOR_ILLEGAL\n\nstatic const uint16_t next[] = {{");
    for (id, state) in automaton.states.iter().enumerate() {
        let cell = |next: &Option<usize>| next.map_or("NO".to_string(), |next| next.to_string());
        let row: Vec<String> = state.next.iter().map(cell).collect();
        let _ = writeln!(out, "    {}, /* {id} {} */", row.join(", "), state.name);
    }
    out.push_str("};\n\n");
    // Promises: all sets in one list, each state names its first and how many.
    let mut sets: Vec<String> = Vec::new();
    let words = protocol.messages.len().div_ceil(64);
    out.push_str("static const struct protocol_state states[] = {\n");
    for state in &automaton.states {
        let first = sets.len() / words.max(1);
        for promise in &state.fair {
            sets.extend((0..words).map(|word| {
                let bits = promise.iter().filter(|message| **message / 64 == word);
                format!("{:#x}", bits.fold(0u64, |bits, message| bits | 1 << (message % 64)))
            }));
        }
        let (count, is_final) = (state.fair.len(), u8::from(state.is_final));
        let timed = u8::from(!state.timed.is_empty());
        let _ = writeln!(out, "    {{\"{}\", {first}, {count}, {is_final}, {timed}}},", state.name);
    }
    let _ = writeln!(out, "}};\n\nstatic const uint64_t promises[] = {{{}}};\n", or_zero(&sets));
    fields(&mut out, protocol);
    let _ = writeln!(out, "static const struct protocol_message messages[] = {{");
    for (id, message) in protocol.messages.iter().enumerate() {
        let _ = writeln!(out, "    {},", message_row(protocol, id, message));
    }
    out.push_str("};\n\n");
    let mut first = 0;
    let mut requests = Vec::new();
    for request in &protocol.requests {
        requests.push(format!("{{\"{}\", {}, {first}}}", request.name, request.limit));
        first += request.limit.div_ceil(64);
    }
    let requests = if requests.is_empty() { "{NULL, 0, 0}".to_string() } else { requests.join(", ") };
    let _ = writeln!(out, "static const struct protocol_request requests[] = {{{requests}}};\n");
    out.push_str(&steps::steps(checked));
    let _ = writeln!(
        out,
        "const struct protocol {name}_protocol = {{\n    \"{name}\", {:#06x}, {}, {}, {}, {}, next, states, promises, \
         messages, fields, requests, check, take_as_driver, take_as_client, send_as_driver, send_as_client,\n}};",
        place(protocol, 0),
        protocol.messages.len(),
        automaton.states.len(),
        protocol.requests.len(),
        constant(protocol, "MONITOR_WORDS"),
    );
    out
}

fn or_zero(items: &[String]) -> String {
    if items.is_empty() {
        "0".to_string()
    } else {
        items.join(", ")
    }
}

/// The fields whose range has to be checked; the others cannot be wrong.
fn fields(out: &mut String, protocol: &Protocol) {
    out.push_str("static const struct protocol_field fields[] = {\n");
    for field in protocol.messages.iter().flat_map(|message| &message.fields).filter(|field| field.is_bounded()) {
        let crate::model::Field { name, bits, least, most, offset, .. } = field;
        let count = field.count.unwrap_or(1);
        let _ = writeln!(out, "    {{\"{name}\", {offset}, {}, {count}, {least}u, {most}u}},", bits / 8);
    }
    out.push_str("    {NULL, 0, 0, 0, 0, 0},\n};\n\n");
}

fn message_row(protocol: &Protocol, id: usize, message: &Message) -> String {
    let bounded = |message: &Message| message.fields.iter().filter(|field| field.is_bounded()).count();
    let first: usize = protocol.messages[..id].iter().map(bounded).sum();
    let mask = |requests: &[usize]| requests.iter().fold(0u32, |mask, request| mask | 1 << (request % 32));
    let (cookie, request) = match message.cookie {
        None => ("MONITOR_NO_COOKIE", 0),
        Some((Cookie::Opens, request)) => ("MONITOR_OPENS", request),
        Some((Cookie::Closes, request)) => ("MONITOR_CLOSES", request),
        Some((Cookie::Names, request)) => ("MONITOR_NAMES", request),
    };
    format!(
        "{{\"{}\", {}, {cookie}, {request}, {first}, {}, {}, {:#x}, {:#x}}}",
        message.name,
        u8::from(message.incoming),
        bounded(message),
        u8::from(message.is_owed),
        mask(&message.drained),
        mask(&message.drops),
    )
}
