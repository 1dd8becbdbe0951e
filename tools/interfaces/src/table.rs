//! Reads TOML tables key by key and collects every fault: wrong types, missing and unknown keys.

use std::borrow::Cow;
use std::ops::Range;

use toml::de::{DeArray, DeTable, DeValue};
use toml::Spanned;

use crate::fault::{Code, Fault};

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    pub value: T,
    pub span: Range<usize>,
}

/// One table whose keys are taken out one after the other.
pub struct Keys<'t, 'i> {
    table: &'t DeTable<'i>,
    span: Range<usize>,
    what: &'static str,
    known: Vec<&'static str>,
}

impl<'t, 'i> Keys<'t, 'i> {
    /// `what` names the kind of table in messages.
    pub fn new(table: &'t DeTable<'i>, span: Range<usize>, what: &'static str) -> Self {
        Keys { table, span, what, known: Vec::new() }
    }

    fn value(&mut self, key: &'static str) -> Option<&'t Spanned<DeValue<'i>>> {
        self.known.push(key);
        self.table.get(key)
    }

    fn missing(&self, key: &'static str, faults: &mut Vec<Fault>) {
        let remedy = format!("add `{key} = ...`");
        let message = format!("this {} has no `{key}`", self.what);
        faults.push(Fault { code: Code::Key, span: self.span.clone(), message, remedy });
    }

    /// A text that must be there; empty where it is not.
    pub fn text(&mut self, key: &'static str, faults: &mut Vec<Fault>) -> At<String> {
        let empty = At { value: String::new(), span: self.span.clone() };
        match self.value(key) {
            None => self.missing(key, faults),
            Some(value) => match value.get_ref() {
                DeValue::String(text) => return At { value: text.to_string(), span: value.span() },
                _ => faults.push(wrong(value, key, "a text in quotes")),
            },
        }
        empty
    }

    pub fn optional_text(&mut self, key: &'static str, faults: &mut Vec<Fault>) -> Option<At<String>> {
        self.table.get(key).is_some().then(|| self.text(key, faults)).or_else(|| {
            self.known.push(key);
            None
        })
    }

    pub fn number(&mut self, key: &'static str, faults: &mut Vec<Fault>) -> At<u64> {
        let zero = At { value: 0, span: self.span.clone() };
        match self.value(key) {
            None => self.missing(key, faults),
            Some(value) => {
                let number = match value.get_ref() {
                    DeValue::Integer(integer) => u64::from_str_radix(integer.as_str(), integer.radix()).ok(),
                    _ => None,
                };
                match number {
                    Some(number) => return At { value: number, span: value.span() },
                    None => faults.push(wrong(value, key, "a whole number, 0 or more")),
                }
            }
        }
        zero
    }

    /// False where the key is not there.
    pub fn flag(&mut self, key: &'static str, faults: &mut Vec<Fault>) -> bool {
        match self.value(key) {
            None => false,
            Some(value) => match value.get_ref() {
                DeValue::Boolean(flag) => *flag,
                _ => {
                    faults.push(wrong(value, key, "true or false"));
                    false
                }
            },
        }
    }

    /// The tables of a list that must be there; each is read by `read`.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        what: &'static str,
        faults: &mut Vec<Fault>,
        mut read: impl FnMut(&mut Keys, &mut Vec<Fault>) -> T,
    ) -> Vec<T> {
        let empty = DeArray::new();
        let list = match self.value(key) {
            None => {
                self.missing(key, faults);
                &empty
            }
            Some(value) => match value.get_ref() {
                DeValue::Array(list) => list,
                _ => {
                    faults.push(wrong(value, key, "a list of tables"));
                    &empty
                }
            },
        };
        let mut all = Vec::new();
        for entry in list.iter() {
            match entry.get_ref() {
                DeValue::Table(table) => {
                    let mut keys = Keys::new(table, entry.span(), what);
                    all.push(read(&mut keys, faults));
                    keys.finish(faults);
                }
                _ => faults.push(wrong(entry, key, "a list of tables")),
            }
        }
        all
    }

    /// Every key that was not read is a fault.
    pub fn finish(self, faults: &mut Vec<Fault>) {
        for (key, _) in self.table.iter().filter(|(key, _)| !self.known.contains(&key.get_ref().as_ref())) {
            let name: &Cow<str> = key.get_ref();
            let message = format!("a {} has no key `{name}`", self.what);
            let remedy = diagnostics::suggest::remedy(name, "key", &self.known);
            faults.push(Fault { code: Code::Key, span: key.span(), message, remedy });
        }
    }
}

fn wrong(value: &Spanned<DeValue>, key: &str, wanted: &str) -> Fault {
    let message = format!("`{key}` is not {wanted}");
    Fault { code: Code::Key, span: value.span(), message, remedy: format!("write {wanted}") }
}

/// Parses a text. The faults of its syntax come with what could be read.
pub fn parse<'i>(text: &'i str, faults: &mut Vec<Fault>) -> DeTable<'i> {
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let end = text.len();
        let span = error.span().unwrap_or(end..end);
        let remedy = "correct the syntax; https://toml.io says what it is".to_string();
        faults.push(Fault { code: Code::Syntax, span, message: error.message().to_string(), remedy });
    }
    table.into_inner()
}

/// A letter of the given case, then letters of it, digits and `_`.
pub fn is_word(text: &str, case: fn(char) -> bool) -> bool {
    let ascii = |letter: char| letter.is_ascii() && case(letter);
    text.starts_with(ascii) && text.chars().all(|letter| ascii(letter) || letter.is_ascii_digit() || letter == '_')
}
