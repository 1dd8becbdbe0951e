//! Fields of messages, and what messages do to requests.

use super::is_first;
use crate::codes::Code;
use crate::findings::Findings;
use crate::model::{greatest, Cookie, Field, Message, Request, MAX_PAYLOAD};
use crate::parse::syntax::{FieldSyntax, MessageSyntax};
use diagnostics::{suggest, Diagnostic};
use std::collections::HashMap;

/// The fields of a message, placed in its payload as a C compiler places them.
pub fn fields(message: &MessageSyntax, report: &mut Findings) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    let mut seen = HashMap::new();
    let mut end = 0;
    for field in &message.fields {
        if !is_first(&mut seen, &field.name, "field", report) {
            continue;
        }
        let Some(mut resolved) = resolve_field(field, report) else { continue };
        resolved.offset = u64::next_multiple_of(end, u64::from(resolved.bits / 8));
        end = resolved.offset + resolved.bytes();
        if end > MAX_PAYLOAD {
            let text = format!("the payload of `{}` is longer than {MAX_PAYLOAD} bytes", message.name.value);
            let remedy = "send the handle of a buffer instead";
            let diagnostic = Diagnostic::new(Code::Payload, text, remedy);
            report.push(diagnostic.at(&report.source, &field.name.span, format!("ends at byte {end}")));
            break;
        }
        fields.push(resolved);
    }
    fields
}

fn resolve_field(field: &FieldSyntax, report: &mut Findings) -> Option<Field> {
    let bits = match field.kind.value.as_str() {
        "u8" => 8,
        "u16" => 16,
        "u32" => 32,
        "u64" => 64,
        other => {
            let text = format!("there is no type `{other}`");
            let remedy = suggest::remedy(other, "type", &["u8", "u16", "u32", "u64"]);
            report.push(Diagnostic::new(Code::Payload, text, remedy).at(
                &report.source,
                &field.kind.span,
                "unknown type",
            ));
            return None;
        }
    };
    let count = field.count.as_ref().map(|count| count.value);
    if let Some(length) = field.count.as_ref().filter(|count| !(1..=MAX_PAYLOAD).contains(&count.value)) {
        let text = format!("an array of {} elements does not fit a payload", length.value);
        let remedy = format!("give a length from 1 to {MAX_PAYLOAD}");
        report.push(Diagnostic::new(Code::Payload, text, remedy).at(&report.source, &length.span, "this length"));
        return None;
    }
    let (mut least, mut most) = (0, greatest(bits));
    if let Some(range) = &field.range {
        (least, most) = range.value;
        let text = if least > most {
            "the range is empty".to_string()
        } else {
            format!("the range does not fit {}", field.kind.value)
        };
        if least > most || most > greatest(bits) {
            let remedy = format!("write LEAST..GREATEST within 0..{}", greatest(bits));
            report.push(Diagnostic::new(Code::Payload, text, remedy).at(&report.source, &range.span, "this range"));
            return None;
        }
    }
    Some(Field { name: field.name.value.clone(), bits, count, least, most, offset: 0, doc: field.doc.clone() })
}

/// Takes over what the message says about requests.
pub fn rules(message: &MessageSyntax, requests: &[Request], resolved: &mut Message, report: &mut Findings) {
    for rule in &message.rules {
        let Some(request) = requests.iter().position(|request| request.name == rule.request.value) else {
            let known: Vec<&str> = requests.iter().map(|request| request.name.as_str()).collect();
            let text = format!("there is no request `{}`", rule.request.value);
            let remedy = suggest::remedy(&rule.request.value, "request", &known);
            report.push(Diagnostic::new(Code::UnknownName, text, remedy).at(
                &report.source,
                &rule.request.span,
                "unknown request",
            ));
            continue;
        };
        let cookie = match rule.verb.value.as_str() {
            "opens" => Cookie::Opens,
            "closes" => Cookie::Closes,
            "names" => Cookie::Names,
            "drained" => {
                resolved.drained.push(request);
                continue;
            }
            _ => {
                resolved.drops.push(request);
                continue;
            }
        };
        if resolved.cookie.is_some() {
            let text = format!("`{}` has two cookies", resolved.name);
            let remedy = "keep one of `opens`, `closes` and `names`; carry the other number in a field";
            report.push(Diagnostic::new(Code::Payload, text, remedy).at(&report.source, &rule.verb.span, "the second"));
            continue;
        }
        resolved.cookie = Some((cookie, request));
    }
}
