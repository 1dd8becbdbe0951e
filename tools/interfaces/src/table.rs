//! Reads TOML tables key by key and collects every fault: wrong types, missing and unknown keys.

use std::borrow::Cow;

use diagnostics::toml_text::{self, GrammarCodes};
use diagnostics::{Faults, Report, Source, Span, Spanned};
use std::sync::Arc;
use toml::de::{DeArray, DeTable, DeValue};

use crate::fault::Code;

type Located<'i> = toml::Spanned<DeValue<'i>>;

/// One table whose keys are taken out one after the other.
pub struct Keys<'t, 'i> {
    table: &'t DeTable<'i>,
    span: Span,
    what: &'static str,
    known: Vec<&'static str>,
}

impl<'t, 'i> Keys<'t, 'i> {
    /// `what` names the kind of table in messages.
    pub fn new(table: &'t DeTable<'i>, span: Span, what: &'static str) -> Self {
        Keys { table, span, what, known: Vec::new() }
    }

    fn value(&mut self, key: &'static str) -> Option<&'t Located<'i>> {
        self.known.push(key);
        self.table.get(key)
    }

    fn missing(&self, key: &'static str, faults: &mut Faults) {
        let remedy = format!("add `{key} = ...`");
        let message = format!("this {} has no `{key}`", self.what);
        faults.add(Code::Key, &self.span, &message, &remedy);
    }

    /// A text that must be there; empty where it is not.
    pub fn text(&mut self, key: &'static str, faults: &mut Faults) -> Spanned<String> {
        let empty = Spanned::new(String::new(), self.span.clone());
        match self.value(key) {
            None => self.missing(key, faults),
            Some(value) => match value.get_ref() {
                DeValue::String(text) => return Spanned::new(text.to_string(), value.span()),
                _ => wrong(value, key, "a text in quotes", faults),
            },
        }
        empty
    }

    pub fn optional_text(&mut self, key: &'static str, faults: &mut Faults) -> Option<Spanned<String>> {
        self.table.get(key).is_some().then(|| self.text(key, faults)).or_else(|| {
            self.known.push(key);
            None
        })
    }

    pub fn number(&mut self, key: &'static str, faults: &mut Faults) -> Spanned<u64> {
        let zero = Spanned::new(0, self.span.clone());
        match self.value(key) {
            None => self.missing(key, faults),
            Some(value) => {
                let number = match value.get_ref() {
                    DeValue::Integer(integer) => u64::from_str_radix(integer.as_str(), integer.radix()).ok(),
                    _ => None,
                };
                match number {
                    Some(number) => return Spanned::new(number, value.span()),
                    None => wrong(value, key, "a whole number, 0 or more", faults),
                }
            }
        }
        zero
    }

    /// False where the key is not there.
    pub fn flag(&mut self, key: &'static str, faults: &mut Faults) -> bool {
        match self.value(key) {
            None => false,
            Some(value) => match value.get_ref() {
                DeValue::Boolean(flag) => *flag,
                _ => {
                    wrong(value, key, "true or false", faults);
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
        faults: &mut Faults,
        mut read: impl FnMut(&mut Keys, &mut Faults) -> T,
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
                    wrong(value, key, "a list of tables", faults);
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
                _ => wrong(entry, key, "a list of tables", faults),
            }
        }
        all
    }

    /// Every key that was not read is a fault.
    pub fn finish(self, faults: &mut Faults) {
        for (key, _) in self.table.iter().filter(|(key, _)| !self.known.contains(&key.get_ref().as_ref())) {
            let name: &Cow<str> = key.get_ref();
            let message = format!("a {} has no key `{name}`", self.what);
            let remedy = diagnostics::suggest::remedy(name, "key", &self.known);
            faults.add(Code::Key, &key.span(), &message, &remedy);
        }
    }
}

fn wrong(value: &Located, key: &str, wanted: &str, faults: &mut Faults) {
    faults.add(Code::Key, &value.span(), &format!("`{key}` is not {wanted}"), &format!("write {wanted}"));
}

/// The table that a text is, unless its grammar is broken: what follows from that would only hide it.
pub fn parse<'t>(source: &'t Arc<Source>, report: &mut Report) -> Option<DeTable<'t>> {
    let codes = GrammarCodes { syntax: Code::Syntax.info(), duplicate: Code::Twice.info() };
    let (table, broken) = toml_text::recover(source, codes, report);
    (!broken).then(|| table.into_inner())
}

/// A letter of the given case, then letters of it, digits and `_`.
pub fn is_word(text: &str, case: fn(char) -> bool) -> bool {
    let ascii = |letter: char| letter.is_ascii() && case(letter);
    text.starts_with(ascii) && text.chars().all(|letter| ascii(letter) || letter.is_ascii_digit() || letter == '_')
}
