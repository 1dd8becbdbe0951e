//! What a driver does about messages: waits for them, answers, sends them with a payload and a cookie.

use super::Driver;
use protocol::model::{Cookie, Field};
use std::fmt::Write;

impl Driver<'_> {
    pub(super) fn mailbox(&self, protocol: usize, message: usize) -> String {
        let own = &self.protocols[protocol].protocol;
        format!("{}_{}", own.name, own.messages[message].name).to_uppercase()
    }

    pub(super) fn await_of(&self, all: &[(usize, usize)]) -> String {
        let names: Vec<String> = all.iter().map(|(protocol, message)| self.mailbox(*protocol, *message)).collect();
        format!("AWAIT({})", names.join(", "))
    }

    /// A value for a field. `received` is the message whose payload is there to be read.
    fn value(&mut self, protocol: usize, field: &Field, received: Option<usize>) -> String {
        let (least, most) = (field.least, field.most);
        let form = format!("uint{}_t", field.bits);
        if self.is_wrong() {
            let near = if least > 0 && self.random.one_in(2) { least - 1 } else { most + 1 };
            return near.to_string();
        }
        let known = received.and_then(|one| {
            let name = format!("{}_{}", self.protocols[protocol].protocol.name, self.message(protocol, one).name);
            let own = self.message(protocol, one).fields.first()?;
            Some((name, own.least, own.most))
        });
        match (self.random.below(6), known) {
            (0..=2, Some((name, own_least, own_most))) if own_most - own_least <= most - least => {
                // Shifted into the range.
                format!("({form})(MAIL({name})->f - {own_least}u + {least}u)")
            }
            (3, Some((name, ..))) => {
                format!(
                    "({form})(MAIL({name})->f >= {least}u && MAIL({name})->f <= {most}u ? MAIL({name})->f : {most}u)"
                )
            }
            (0..=1, None) => {
                let count = self.counter();
                let span = most - least + 1;
                format!("({form})({least}u + {count} % {span}u)")
            }
            (4, _) if most - least >= 3 => format!("({form})({least}u + {})", self.input()),
            (5, _) if most > least => format!("({form})({least}u + ({} & 1u))", self.input()),
            _ => (least + self.random.below((most - least + 1) as usize) as u64).to_string(),
        }
    }

    /// Statements that send a message. `received`: the message taken last, if its cookie and payload are there.
    pub(super) fn send(&mut self, protocol: usize, message: usize, received: Option<usize>, indent: &str) -> String {
        let own = self.message(protocol, message).clone();
        let mailbox = self.mailbox(protocol, message);
        let mut out = String::new();
        if !own.drained.is_empty() && !self.is_wrong() {
            self.set(protocol);
            let _ = writeln!(out, "{indent}finish_{}();", self.number);
        }
        let cookie = match (own.cookie, received.and_then(|one| self.message(protocol, one).cookie)) {
            (Some(_), Some(_)) => "COOKIE()".to_string(),
            (Some(_), None) => self.random.below(2).to_string(),
            _ => "0".to_string(),
        };
        if own.fields.is_empty() {
            let cookie = if own.cookie.is_some() { format!(", {cookie}") } else { String::new() };
            let _ = writeln!(out, "{indent}EMIT({mailbox}{cookie});");
        } else {
            let name = format!("{}_{}", self.protocols[protocol].protocol.name, own.name);
            let values: Vec<String> = own.fields.iter().map(|field| self.value(protocol, field, received)).collect();
            let values = values.join(", ");
            let _ = writeln!(out, "{indent}{{");
            let _ = writeln!(out, "{indent}    struct {name} body = {{{values}}};");
            let _ = writeln!(out, "{indent}    EMIT({mailbox}, {cookie}, &body);");
            let _ = writeln!(out, "{indent}}}");
        }
        if self.has_counter && self.random.one_in(2) {
            let count = self.counter();
            let _ = writeln!(out, "{indent}{count} = {count} + 1u;");
        }
        out
    }

    /// What is done about a message beside its step: a request is completed or kept.
    pub(super) fn react(&mut self, protocol: usize, message: usize, after: usize, indent: &str) -> String {
        let number = self.number;
        let mut out = String::new();
        if let Some((Cookie::Opens, _)) = self.message(protocol, message).cookie {
            let messages = &self.protocols[protocol].protocol.messages;
            let done = messages.iter().position(|one| matches!(one.cookie, Some((Cookie::Closes, _))));
            let stays = |done: usize| self.automaton(protocol).states[after].next[done] == Some(after);
            let done = done.filter(|done| stays(*done));
            if self.is_wrong() {
                return out;
            }
            match done {
                Some(done) if !self.random.one_in(3) => {
                    out.push_str(&self.send(protocol, done, Some(message), indent));
                }
                Some(done) if self.random.one_in(2) => {
                    let set = self.set(protocol);
                    let chance = self.chance();
                    let inner = format!("{indent}    ");
                    let send = self.send(protocol, done, Some(message), &inner);
                    let _ = write!(
                        out,
                        "{indent}if ({chance}) {{\n{send}{indent}}} else {{\n{inner}{set} = {set} | 1u << COOKIE();\n{indent}}}\n"
                    );
                }
                _ => {
                    let set = self.set(protocol);
                    let _ = writeln!(out, "{indent}{set} = {set} | 1u << COOKIE();");
                }
            }
        } else if self.random.one_in(12) {
            let _ = writeln!(
                out,
                "{indent}for (uint32_t k = 0; k < {}u && input_{number}() != 0u; k = k + 1u) {{\n{indent}}}",
                1 + self.random.below(3)
            );
        } else if self.random.one_in(60) {
            let _ = writeln!(out, "{indent}while (input_{number}() != 0u) {{\n{indent}}}");
        }
        out
    }
}
