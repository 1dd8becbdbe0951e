//! The type of one message: what it says of itself to the module `mailbox`.

use super::names::{field_names, is_plain, Names};
use super::{escaped, message_doc, place};
use crate::generate::header::range;
use crate::model::{greatest, Field, Message, Protocol};
use std::fmt::Write;

/// A field as it is read from the payload.
pub(super) fn loaded(field: &Field) -> String {
    let bytes = field.bits as u64 / 8;
    let element = |index: u64| {
        let at = field.offset + index * bytes;
        let of = (at..at + bytes).map(|byte| format!("payload_[{byte}]")).collect::<Vec<_>>().join(", ");
        format!("u{}::from_le_bytes([{of}])", field.bits)
    };
    match field.count {
        None => element(0),
        Some(count) => format!("[{}]", (0..count).map(element).collect::<Vec<_>>().join(", ")),
    }
}

/// The type of a message, and its mailbox.
pub(super) fn message(out: &mut String, protocol: &Protocol, names: &Names, id: usize, direction: &str) {
    let (message, kind) = (&protocol.messages[id], &names.messages[id]);
    let (fields, cookie) = field_names(message);
    let doc = message_doc(message);
    let _ = write!(out, "\n/// {doc}\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub struct {kind}");
    if is_plain(message) {
        out.push_str(";\n");
    } else {
        out.push_str(" {\n");
        if let Some((_, request)) = message.cookie {
            let request = &protocol.requests[request];
            let _ = writeln!(out, "    /// Which `{}`: below {}.\n    pub {cookie}: u64,", request.name, request.limit);
        }
        for (field, name) in std::iter::zip(&message.fields, &fields) {
            let kind = format!("u{}", field.bits);
            let kind = field.count.map_or(kind.clone(), |count| format!("[{kind}; {count}]"));
            let says = [range(field), escaped(field.doc.lines().next().unwrap_or_default())];
            let says = says.iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join(": ");
            let says = if says.is_empty() { format!("Field `{}`.", field.name) } else { says };
            let _ = writeln!(out, "    /// {says}\n    pub {name}: {kind},");
        }
        out.push_str("}\n");
    }
    let bytes = message.fields.iter().map(|field| field.offset + field.bytes()).max().unwrap_or(0);
    let cookie_value = message.cookie.map_or("0".to_string(), |_| format!("self.{cookie}"));
    let _ = write!(
        out,
        "\nimpl mailbox::Message for {kind} {{\n    type Of = {direction};\n    const NUMBER: u32 = {};\n    \
         const BYTES: usize = {bytes};\n\n    #[inline(always)]\n    fn cookie(&self) -> u64 {{\n        {cookie_value}\n    }}\n\n    \
         #[inline(always)]\n    fn is_valid(&self) -> bool {{\n        {}\n    }}\n\n    \
         #[inline(always)]\n    fn payload(&self) -> mailbox::Payload {{\n",
        place(protocol, id),
        conditions(protocol, message, &fields, &cookie),
    );
    if message.fields.is_empty() {
        out.push_str("        [0; mailbox::PAYLOAD]\n    }\n}\n");
    } else {
        out.push_str("        let mut payload_ = [0; mailbox::PAYLOAD];\n");
        for (field, name) in std::iter::zip(&message.fields, &fields) {
            let width = u64::from(field.bits / 8);
            for index in 0..field.count.unwrap_or(1) {
                let (at, element) =
                    (field.offset + index * width, field.count.map_or(String::new(), |_| format!("[{index}]")));
                let _ = writeln!(
                    out,
                    "        payload_[{at}..{}].copy_from_slice(&self.{name}{element}.to_le_bytes());",
                    at + width
                );
            }
        }
        out.push_str("        payload_\n    }\n}\n");
    }
    let _ = write!(
        out,
        "\n/// The mailbox of [`{kind}`].\npub const {}: mailbox::Mailboxes<{direction}> = mailbox::Mailboxes::of(1 << {});\n",
        names.mailboxes[id],
        place(protocol, id),
    );
}

/// What must hold of the fields and the cookie.
fn conditions(protocol: &Protocol, message: &Message, fields: &[String], cookie: &str) -> String {
    let mut parts = Vec::new();
    if let Some((_, request)) = message.cookie {
        parts.push(format!("self.{cookie} < {}", protocol.requests[request].limit));
    }
    for (field, name) in std::iter::zip(&message.fields, fields).filter(|(field, _)| field.is_bounded()) {
        let within = |value: &str| match (field.least, field.most) {
            (0, most) => format!("{value} <= {most}"),
            (least, most) if most == greatest(field.bits) => format!("{value} >= {least}"),
            (least, most) => format!("({least}..={most}).contains(&{value})"),
        };
        parts.push(match field.count {
            None => within(&format!("self.{name}")),
            Some(_) => format!("self.{name}.iter().all(|element_| {})", within("*element_")),
        });
    }
    if parts.is_empty() {
        "true".to_string()
    } else {
        parts.join("\n            && ")
    }
}
