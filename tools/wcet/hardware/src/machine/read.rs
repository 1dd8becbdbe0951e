//! A machine file's text as tables of values with their places. Every departure from the schema is a fault.

use crate::machine::code::Code;
use crate::machine::schema::{KeySpec, Kind, TableSpec, MAX_SIZE, TABLES};
use diagnostics::toml_text::{self, GrammarCodes};
use diagnostics::{suggest, units, Faults, Span};
use toml::de::DeValue;

type Located<'i> = toml::Spanned<DeValue<'i>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Texts(Vec<String>),
    Number(u64),
    Flag(bool),
    Ranges(Vec<(u64, u64)>),
}

/// A value that could be read.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: &'static str,
    pub value: Value,
    /// As it was written.
    pub written: String,
    pub span: Span,
    /// The `source` field, with its place.
    pub source: Option<(String, Span)>,
}

#[derive(Debug, Clone)]
pub struct Table {
    pub spec: &'static TableSpec,
    pub name: String,
    pub span: Span,
    pub entries: Vec<Entry>,
}

/// All tables in the order of the text.
#[derive(Debug, Clone, Default)]
pub struct Document {
    pub tables: Vec<Table>,
    /// The text breaks TOML's grammar, so what seems missing may have been lost.
    pub broken: bool,
}

impl Table {
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Table and name as in `cache.l1i`.
    pub fn place(&self) -> String {
        if self.spec.named {
            format!("{}.{}", self.spec.name, self.name)
        } else {
            self.spec.name.to_string()
        }
    }

    /// Where `key` is written, or the table if it is not.
    pub fn span_of(&self, key: &str) -> Span {
        self.entry(key).map_or_else(|| self.span.clone(), |entry| entry.span.clone())
    }
}

impl Document {
    pub fn tables_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Table> {
        self.tables.iter().filter(move |table| table.spec.name == kind)
    }
}

/// Reads the text of `faults`, to which every fault is added.
pub(crate) fn read(faults: &mut Faults) -> Document {
    let codes = GrammarCodes { syntax: Code::Syntax.info(), duplicate: Code::Syntax.info() };
    let source = faults.source.clone();
    let (root, broken) = toml_text::recover(&source, codes, &mut faults.report);
    let mut document = Document { tables: Vec::new(), broken };
    for (key, value) in root.get_ref() {
        let name = key.get_ref().as_ref();
        match (TABLES.iter().find(|spec| spec.name == name), value.get_ref().as_table()) {
            (None, _) if document.broken => {}
            (None, _) => unknown(faults, name, &key.span(), "the file", "table", TABLES.iter().map(|spec| spec.name)),
            (Some(spec), None) => wrong_type(faults, &value.span(), &spec.header(), "a table"),
            (Some(spec), Some(_)) if !spec.named => {
                table(faults, &mut document, spec, spec.name, key.span(), value);
            }
            (Some(spec), Some(family)) => {
                for (key, value) in family {
                    family_member(faults, &mut document, spec, key, value);
                }
            }
        }
    }
    for spec in TABLES.iter().filter(|spec| spec.required() && !document.broken) {
        if document.tables_of(spec.name).next().is_none() {
            let message = format!("the table {} is missing", spec.header());
            faults.add(Code::Missing, &(0..0), &message, &format!("add {}: {}", spec.header(), spec.meaning));
        }
    }
    document
}

fn family_member(
    faults: &mut Faults,
    document: &mut Document,
    spec: &'static TableSpec,
    key: &toml::Spanned<std::borrow::Cow<'_, str>>,
    value: &Located<'_>,
) {
    let name = key.get_ref().as_ref();
    if spec.name == "class" {
        if crate::machine::Class::parse(name).is_none() {
            let known = crate::machine::Class::ALL.iter().map(|class| class.name());
            return unknown(faults, name, &key.span(), "the schema", "class", known);
        }
    } else if !is_name(name) {
        let remedy = "use small letters, digits, `_` and `-`, beginning with a letter";
        return faults.add(Code::BadName, &key.span(), &format!("`{name}` cannot be a name"), remedy);
    }
    table(faults, document, spec, name, key.span(), value);
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-')
}

fn table(
    faults: &mut Faults,
    document: &mut Document,
    spec: &'static TableSpec,
    name: &str,
    span: Span,
    value: &Located<'_>,
) {
    let Some(keys) = value.get_ref().as_table() else {
        return wrong_type(faults, &value.span(), &spec.header(), "a table");
    };
    let mut table = Table { spec, name: name.to_string(), span, entries: Vec::new() };
    for (key, value) in keys {
        let name = key.get_ref().as_ref();
        match spec.keys.iter().find(|known| known.name == name) {
            Some(known) => table.entries.extend(entry(faults, known, value)),
            None => unknown(faults, name, &key.span(), &spec.header(), "key", spec.keys.iter().map(|key| key.name)),
        }
    }
    for known in spec.keys.iter().filter(|known| known.default.is_none() && !document.broken) {
        if !keys.iter().any(|(key, _)| key.get_ref() == known.name) {
            let message = format!("`{}` has no `{}`", table.place(), known.name);
            let remedy = format!("add `{}`, {}: {}", known.name, known.kind.describe(), known.meaning);
            faults.add(Code::Missing, &table.span, &message, &remedy);
        }
    }
    document.tables.push(table);
}

/// One value: bare where the kind needs no source, `{ value, source }` where it does.
fn entry(faults: &mut Faults, key: &'static KeySpec, value: &Located<'_>) -> Option<Entry> {
    let mut source = None;
    let mut inner = value;
    if key.kind.sourced() {
        let Some(pair) = value.get_ref().as_table() else {
            let message = format!("`{}` has no source", key.name);
            let remedy = format!("write `{} = {{ value = ..., source = \"NAME place\" }}`", key.name);
            faults.add(Code::NoSource, &value.span(), &message, &remedy);
            return None;
        };
        for (field, _) in pair.iter().filter(|(field, _)| !["value", "source"].contains(&field.get_ref().as_ref())) {
            unknown(faults, field.get_ref(), &field.span(), key.name, "field", ["value", "source"].into_iter());
        }
        match pair.get("source") {
            Some(text) => match text.get_ref() {
                DeValue::String(words) => source = Some((words.to_string(), text.span())),
                _ => wrong_type(faults, &text.span(), "source", "a text"),
            },
            None => {
                let remedy = "add `source = \"NAME place\"`, with NAME of a [source.NAME]";
                faults.add(Code::NoSource, &value.span(), &format!("`{}` has no source", key.name), remedy);
            }
        }
        let Some(found) = pair.get("value") else {
            let message = format!("`{}` has no value", key.name);
            faults.add(Code::Missing, &value.span(), &message, &format!("add `value`, {}", key.kind.describe()));
            return None;
        };
        inner = found;
    }
    let read = scalar(faults, key, inner)?;
    let written = faults.source.text.get(inner.span()).unwrap_or_default().to_string();
    Some(Entry { key: key.name, value: read, written, span: inner.span(), source })
}

fn scalar(faults: &mut Faults, key: &KeySpec, value: &Located<'_>) -> Option<Value> {
    let read = match (key.kind, value.get_ref()) {
        (Kind::Text, DeValue::String(text)) => Some(Value::Text(text.to_string())),
        (Kind::Texts, DeValue::Array(items)) => {
            let texts: Option<Vec<String>> =
                items.iter().map(|item| item.get_ref().as_str().map(str::to_string)).collect();
            texts.map(Value::Texts)
        }
        (Kind::Count(low, high), DeValue::Integer(number)) => u64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .filter(|number| (low..=high).contains(number))
            .map(Value::Number),
        (Kind::Size, DeValue::String(text)) => {
            units::size(text).filter(|size| (1..=MAX_SIZE).contains(size)).map(Value::Number)
        }
        (Kind::Frequency, DeValue::String(text)) => units::frequency(text).map(Value::Number),
        (Kind::Flag, DeValue::Boolean(flag)) => Some(Value::Flag(*flag)),
        (Kind::Choice(words), DeValue::String(text)) => {
            words.contains(&text.as_ref()).then(|| Value::Text(text.to_string()))
        }
        (Kind::Range, DeValue::String(text)) => units::range(text).map(|range| Value::Ranges(vec![range])),
        (Kind::Ranges, DeValue::Array(items)) => {
            let ranges: Option<Vec<_>> = items.iter().map(|item| units::range(item.get_ref().as_str()?)).collect();
            ranges.map(Value::Ranges)
        }
        _ => {
            wrong_type(faults, &value.span(), key.name, &key.kind.describe());
            return None;
        }
    };
    if read.is_none() {
        let message = format!("`{}` must be {}", key.name, key.kind.describe());
        faults.add(Code::BadValue, &value.span(), &message, &format!("write {}", key.kind.describe()));
    }
    read
}

fn wrong_type(faults: &mut Faults, span: &Span, what: &str, wanted: &str) {
    faults.add(Code::WrongType, span, &format!("`{what}` must be {wanted}"), &format!("write {wanted}"));
}

fn unknown(
    faults: &mut Faults,
    name: &str,
    span: &Span,
    owner: &str,
    noun: &str,
    known: impl Iterator<Item = &'static str>,
) {
    let known: Vec<&str> = known.collect();
    let message = format!("{owner} has no {noun} `{name}`");
    faults.add(Code::UnknownKey, span, &message, &suggest::remedy(name, noun, &known));
}
