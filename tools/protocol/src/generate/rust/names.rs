//! Names of types, fields and constants that Rust takes, whatever the protocol calls them.

use crate::model::{Message, Protocol};
use std::collections::BTreeSet;

/// Words that cannot name a field or a function, and those of them that not even `r#` makes one.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
const NEVER_NAMES: &[&str] = &["_", "self", "Self", "super", "crate"];

/// The names of types and constants, and of the protocol.
pub(super) struct Names {
    pub(super) marker: String,
    /// The types, one for each message.
    pub(super) messages: Vec<String>,
    /// The constants, one for each message.
    pub(super) mailboxes: Vec<String>,
}

impl Names {
    pub(super) fn of(protocol: &Protocol) -> Names {
        let mut taken: BTreeSet<String> = ["ToDriver", "FromDriver", "TABLES_"].map(String::from).into();
        let marker = unique(camel(&protocol.name), &mut taken);
        let mut all = |name: fn(&str) -> String| {
            protocol.messages.iter().map(|message| unique(name(&message.name), &mut taken)).collect::<Vec<_>>()
        };
        // A type without fields is a value too, so that a constant cannot have its name.
        Names { marker, messages: all(camel), mailboxes: all(mailbox_name) }
    }
}

/// The name, with `_` behind it where it is taken.
fn unique(mut name: String, taken: &mut BTreeSet<String>) -> String {
    while NEVER_NAMES.contains(&name.as_str()) || !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}

/// `receive_buffer` as `ReceiveBuffer`.
fn camel(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
    };
    let name: String = name.split('_').map(capital).collect();
    if name.starts_with(|first: char| first.is_alphabetic()) {
        name
    } else {
        format!("M{name}")
    }
}

pub(super) fn field_name(name: &str) -> String {
    match (NEVER_NAMES.contains(&name), KEYWORDS.contains(&name)) {
        (true, _) => format!("{name}_"),
        (_, true) => format!("r#{name}"),
        _ => name.to_string(),
    }
}

/// The fields' names and that of the cookie.
pub(super) fn field_names(message: &Message) -> (Vec<String>, String) {
    let mut taken: BTreeSet<String> = message.fields.iter().map(|field| field.name.clone()).collect();
    let cookie = unique("cookie".to_string(), &mut taken);
    (message.fields.iter().map(|field| field_name(&field.name)).collect(), cookie)
}

/// Whether nothing travels but the message itself.
pub(super) fn is_plain(message: &Message) -> bool {
    message.fields.is_empty() && message.cookie.is_none()
}

/// In capitals, as in C; those of limits begin with `MAX_`.
fn mailbox_name(name: &str) -> String {
    let name = name.to_uppercase();
    if name.starts_with(|first: char| first.is_alphabetic()) && !name.starts_with("MAX_") {
        name
    } else {
        format!("MAIL_{name}")
    }
}
