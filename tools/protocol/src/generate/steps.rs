//! The monitor's step for each message by itself, in C: what `monitor_step` of `user/runtime/monitor.c` does by the tables, with
//! the message's states, ranges and requests as constants. And how the messages of a port are taken from its ring.

use crate::automaton::Automaton;
use crate::model::{Cookie, Field, Message, Protocol};
use crate::Checked;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Of a payload, the most that is copied at once.
const WORD: u64 = 8;

pub fn steps(checked: &Checked) -> String {
    let (protocol, automaton) = (&checked.protocol, &checked.flat.automaton);
    let mut out = String::new();
    for (id, message) in protocol.messages.iter().enumerate() {
        step(&mut out, protocol, automaton, id, message);
    }
    let taken: BTreeSet<u64> =
        protocol.messages.iter().filter(|message| !message.incoming && !message.is_local).map(words).collect();
    for words in taken {
        let _ = writeln!(
            out,
            "{}\n{{\n    (void)set;\n    (void)deadline;\n    return mail_pass(port, mail, message, {words});\n}}\n",
            take(&format!("pass_{words}"))
        );
    }
    table(&mut out, protocol, "monitor_check", "check", |message| Some(format!("check_{}", message.name)));
    table(&mut out, protocol, "mail_taker", "take_as_driver", |message| {
        message.incoming.then(|| format!("take_{}", message.name))
    });
    table(&mut out, protocol, "mail_taker", "take_as_client", |message| {
        (!message.incoming && !message.is_local).then(|| format!("pass_{}", words(message)))
    });
    table(&mut out, protocol, "mail_sender", "send_as_driver", |message| {
        (!message.incoming && !message.is_local).then(|| format!("tell_{}", message.name))
    });
    table(&mut out, protocol, "mail_sender", "send_as_client", |message| {
        message.incoming.then(|| format!("give_{}", message.name))
    });
    out
}

fn send(name: &str) -> String {
    format!("static uint32_t {name}(struct mail_port *port, uint64_t cookie, const void *body, uint64_t size)")
}

fn take(name: &str) -> String {
    format!(
        "static uint32_t {name}(const struct mail_set *set, uint64_t deadline, struct mail_port *port, struct mail *mail,\n    \
         uint64_t message)"
    )
}

fn table(out: &mut String, protocol: &Protocol, kind: &str, name: &str, entry: impl Fn(&Message) -> Option<String>) {
    let entries: Vec<String> =
        protocol.messages.iter().map(|message| entry(message).unwrap_or_else(|| "NULL".into())).collect();
    let _ = writeln!(out, "static {kind} *const {name}[] = {{{}}};\n", entries.join(", "));
}

/// Bytes of its payload.
fn bytes(message: &Message) -> u64 {
    message.fields.iter().map(|field| field.offset + field.bytes()).max().unwrap_or(0)
}

fn words(message: &Message) -> u64 {
    bytes(message).div_ceil(WORD)
}

fn step(out: &mut String, protocol: &Protocol, automaton: &Automaton, id: usize, message: &Message) {
    let name = &message.name;
    let targets: Vec<Option<usize>> = automaton.states.iter().map(|state| state.next[id]).collect();
    let cells: Vec<String> =
        targets.iter().map(|next| next.map_or("NO".to_string(), |next| next.to_string())).collect();
    let stays = targets.iter().enumerate().all(|(state, next)| next.is_none_or(|next| next == state));
    let parameters = "struct monitor *monitor, uint64_t cookie, const void *payload, uint64_t size";
    let _ = writeln!(out, "MONITOR_INLINE enum monitor_verdict step_{name}({parameters})\n{{");
    let _ = writeln!(out, "    static const uint16_t to[] = {{{}}};", cells.join(", "));
    out.push_str("    uint32_t next = to[monitor->state];\n\n");
    out.push_str("    (void)cookie;\n    (void)payload;\n    (void)size;\n");
    let mut unless = |condition: String, verdict: &str| {
        let _ = writeln!(out, "    if (MONITOR_SELDOM({condition})) {{\n        return {verdict};\n    }}");
    };
    unless("next == NO".into(), "MONITOR_RULE_1");
    let bounded: Vec<&Field> = message.fields.iter().filter(|field| field.is_bounded()).collect();
    if let Some(bytes) = bounded.iter().map(|field| field.offset + field.bytes()).max() {
        unless(format!("size < {bytes}"), "MONITOR_PAYLOAD");
    }
    for field in bounded {
        let Field { bits, least, most, offset, .. } = field;
        let count = field.count.unwrap_or(1);
        let range = format!("!monitor_in_range(payload, {offset}, {}, {count}, {least}u, {most}u)", bits / 8);
        unless(range, "MONITOR_PAYLOAD");
    }
    let place = |request: usize| -> (u64, u64) {
        let words = |limit: u64| limit.div_ceil(64);
        let first = protocol.requests[..request].iter().map(|request| words(request.limit)).sum();
        (first, words(protocol.requests[request].limit))
    };
    for (first, words) in message.drained.iter().copied().map(place) {
        unless(format!("!monitor_is_drained(monitor, {first}, {words})"), "MONITOR_DRAINED");
    }
    if let Some((cookie, request)) = message.cookie {
        let what = match cookie {
            Cookie::Opens => "MONITOR_OPENS",
            Cookie::Closes => "MONITOR_CLOSES",
            Cookie::Names => "MONITOR_NAMES",
        };
        let limit = protocol.requests[request].limit;
        unless(format!("!monitor_request(monitor, {}, {limit}, {what}, cookie)", place(request).0), "MONITOR_COOKIE");
    }
    for (first, words) in message.drops.iter().copied().map(place) {
        let _ = writeln!(out, "    monitor_drop(monitor, {first}, {words});");
    }
    if !stays {
        out.push_str("    monitor->state = next;\n");
    }
    out.push_str("    return MONITOR_OK;\n}\n\n");
    let _ = writeln!(
        out,
        "static enum monitor_verdict check_{name}({parameters})\n{{\n    return step_{name}(monitor, cookie, payload, \
         size);\n}}\n"
    );
    if !message.incoming && !message.is_local {
        let own = send(&format!("tell_{name}"));
        let bytes = bytes(message);
        let _ = writeln!(
            out,
            "{own}\n{{\n    return mail_tell(port, {id}, cookie, body, size, {bytes}, step_{name});\n}}\n"
        );
    }
    if message.incoming {
        let own = send(&format!("give_{name}"));
        let bytes = bytes(message);
        let _ = writeln!(out, "{own}\n{{\n    return mail_give(port, {id}, cookie, body, size, {bytes});\n}}\n");
        let _ = writeln!(
            out,
            "{}\n{{\n    (void)message;\n    return mail_follow(set, deadline, port, mail, {id}, {}, step_{name});\n}}\n",
            take(&format!("take_{name}")),
            words(message)
        );
    }
}
