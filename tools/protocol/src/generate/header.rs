//! The C header of a protocol: mailboxes, payloads, ranges, requests.

use crate::model::{Field, Message, Protocol};
use std::fmt::Write;

/// `receive_buffer` of `ethernet` as `ETHERNET_RECEIVE_BUFFER`.
pub fn constant(protocol: &Protocol, name: &str) -> String {
    format!("{}_{}", protocol.name, name).to_uppercase()
}

/// The number of a message's mailbox: the protocol's number and the message's.
pub fn mailbox(protocol: &Protocol, message: usize) -> u32 {
    u32::from(protocol.number) << 8 | protocol.messages[message].number.unwrap_or(message as u32)
}

/// Its place in the monitor's tables, counted from the mailbox of the first message.
pub fn place(protocol: &Protocol, message: usize) -> u32 {
    u32::from(protocol.number) << 8 | message as u32
}

pub fn header(protocol: &Protocol, banner: &str) -> String {
    let name = &protocol.name;
    let guard = constant(protocol, "PROTOCOL_H");
    let mut out = format!("/* {banner} */\n#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n");
    let _ = writeln!(out, "#include \"ashlar/monitor.h\"\n");
    comment(&mut out, "", &protocol.doc);
    let _ = writeln!(out, "#define {} {}u\n", constant(protocol, "NUMBER"), protocol.number);
    for (incoming, says) in [(true, "Mailboxes that the driver receives from."), (false, "Mailboxes that it sends to.")]
    {
        let own = |(_, message): &(usize, &Message)| message.incoming == incoming;
        // C has no enumeration of nothing.
        if !protocol.messages.iter().enumerate().any(|one| own(&one)) {
            continue;
        }
        let _ = writeln!(out, "/* {says} */\nenum {{");
        for (id, message) in protocol.messages.iter().enumerate().filter(own) {
            let local = if message.is_local { "(not received) " } else { "" };
            let doc = first_line(&message.doc);
            let doc = if doc.is_empty() && local.is_empty() { String::new() } else { format!(" /* {local}{doc} */") };
            let _ = writeln!(out, "    {} = {:#06x},{doc}", constant(protocol, &message.name), mailbox(protocol, id));
        }
        out.push_str("};\n\n");
    }
    let _ = writeln!(out, "#define {} {}u", constant(protocol, "NUM_MESSAGE"), protocol.messages.len());
    for request in &protocol.requests {
        let limit = constant(protocol, &format!("max_{}", request.name));
        let _ = writeln!(out, "#define {limit} {}u /* open at a time; cookies are below */", request.limit);
    }
    out.push('\n');
    for message in protocol.messages.iter().filter(|message| !message.fields.is_empty()) {
        payload(&mut out, protocol, message);
    }
    let words = protocol.requests.iter().map(|request| request.limit.div_ceil(64)).sum::<u64>().max(1);
    let _ = writeln!(
        out,
        "/* The protocol's tables, and what a monitor of it keeps of open requests. */\n\
         extern const struct protocol {name}_protocol;\n#define {} {words}u\n\n#endif",
        constant(protocol, "MONITOR_WORDS"),
    );
    out
}

fn payload(out: &mut String, protocol: &Protocol, message: &Message) {
    let _ = writeln!(out, "struct {}_{} {{", protocol.name, message.name);
    for field in &message.fields {
        let array = field.count.map(|count| format!("[{count}]")).unwrap_or_default();
        let _ = writeln!(out, "    uint{}_t {}{array};{}", field.bits, field.name, note(field));
    }
    out.push_str("};\n\n");
}

/// The range of a field where its type does not say it.
pub fn range(field: &Field) -> String {
    if field.is_bounded() {
        format!("{} to {}", field.least, field.most)
    } else {
        String::new()
    }
}

/// The range of a field and what is said about it.
fn note(field: &Field) -> String {
    let range = range(field);
    let doc = first_line(&field.doc);
    let parts: Vec<&str> = [range.as_str(), doc].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return String::new();
    }
    format!(" /* {} */", parts.join(": "))
}

/// The first line of a comment, harmless inside a comment of C.
fn first_line(doc: &str) -> &str {
    let line = doc.lines().next().unwrap_or_default();
    if line.contains("*/") {
        ""
    } else {
        line
    }
}

fn comment(out: &mut String, indent: &str, doc: &str) {
    if doc.is_empty() || doc.contains("*/") {
        return;
    }
    let _ = writeln!(out, "{indent}/* {} */", doc.lines().collect::<Vec<_>>().join(&format!("\n{indent} * ")));
}
