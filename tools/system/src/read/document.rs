//! Tables of a text, matched with their schema.

use super::{field, is_name, Field};
use crate::codes::Code;
use crate::schema::{Need, TableSpec};
use diagnostics::toml_text::{self, GrammarCodes};
use diagnostics::{suggest, Diagnostic, Report, Source, Span, Spanned};
use std::sync::Arc;
use toml::de::DeValue;

/// All tables of a text, in the order in which they were written.
#[derive(Debug, Clone)]
pub struct Document {
    pub source: Arc<Source>,
    pub tables: Vec<TableData>,
    /// Some of the text could not be read as a table, so that what seems missing may be there.
    pub has_lost_tables: bool,
}

/// One table: its kind, its name if it has one, and its keys.
#[derive(Debug, Clone, PartialEq)]
pub struct TableData {
    pub spec: &'static TableSpec,
    pub name: Spanned<String>,
    /// Keys whose value could be read: key, value.
    pub fields: Vec<(&'static str, Field)>,
    /// Every known key that was written, with a value that could be read or not, or that a misspelt one stands for.
    written: Vec<&'static str>,
}

impl Document {
    pub fn tables_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a TableData> {
        self.tables.iter().filter(move |table| table.spec.name == kind)
    }
}

impl TableData {
    fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|(name, _)| *name == key).map(|(_, field)| field)
    }

    pub fn written(&self) -> &[&'static str] {
        &self.written
    }

    /// Whether the key was written, however faulty its value.
    pub fn has(&self, key: &str) -> bool {
        self.written.contains(&key)
    }

    pub fn text(&self, key: &str) -> Option<&Spanned<String>> {
        match self.field(key) {
            Some(Field::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub fn number(&self, key: &str) -> Option<&Spanned<u64>> {
        match self.field(key) {
            Some(Field::Number(number)) => Some(number),
            _ => None,
        }
    }

    pub fn numbers(&self, key: &str) -> &[Spanned<u64>] {
        match self.field(key) {
            Some(Field::Numbers(numbers)) => numbers,
            _ => &[],
        }
    }

    pub fn flag(&self, key: &str) -> bool {
        matches!(self.field(key), Some(Field::Flag(flag)) if flag.value)
    }

    pub fn flag_span(&self, key: &str) -> Option<&Span> {
        match self.field(key) {
            Some(Field::Flag(flag)) if flag.value => Some(&flag.span),
            _ => None,
        }
    }

    pub fn range(&self, key: &str) -> Option<&Spanned<(u64, u64)>> {
        match self.field(key) {
            Some(Field::Range(range)) => Some(range),
            _ => None,
        }
    }

    pub fn names(&self, key: &str) -> &[Spanned<String>] {
        match self.field(key) {
            Some(Field::Names(names)) => names,
            _ => &[],
        }
    }

    pub fn pairs(&self, key: &str) -> &[(Spanned<String>, Spanned<String>)] {
        match self.field(key) {
            Some(Field::Pairs(pairs)) => pairs,
            _ => &[],
        }
    }

    pub fn tables(&self, key: &str) -> &[TableData] {
        match self.field(key) {
            Some(Field::Tables(tables)) => tables,
            _ => &[],
        }
    }
}

/// Reads `source` as a description whose tables are `specs`. Every fault goes to `report`.
pub fn read(source: &Arc<Source>, specs: &'static [TableSpec], report: &mut Report) -> Document {
    let codes = GrammarCodes { syntax: Code::Syntax.info(), duplicate: Code::Duplicate.info() };
    let (root, broken) = toml_text::recover(source, codes, report);
    let mut reader = Reader { source, report, broken, has_lost_tables: broken };
    let mut tables = Vec::new();
    for (key, value) in root.get_ref() {
        let name = key.get_ref().as_ref();
        match specs.iter().find(|spec| spec.name == name) {
            Some(spec) => reader.family(spec, &key.span(), value, &mut tables),
            // Under a broken header, keys seem to stand outside any table, the first with the header's bracket for a
            // value; the header's fault is reported already.
            None if broken && (value.span().len() <= 1 || value.get_ref().as_table().is_none()) => {}
            None => reader.unknown_table(name, &key.span(), specs),
        }
    }
    let has_lost_tables = reader.has_lost_tables;
    for spec in specs.iter().filter(|spec| spec.required) {
        if !has_lost_tables && !tables.iter().any(|table: &TableData| table.spec.name == spec.name) {
            let message = format!("the table {} is missing", spec.header());
            let keys = spec.all_keys().filter(|key| key.need == Need::Required);
            let keys: Vec<String> = keys.map(|key| format!("`{} = ...`", key.name)).collect();
            let remedy = format!("add {} with {}. {}", spec.header(), keys.join(" and "), spec.meaning);
            reader.report.push(Diagnostic::new(Code::MissingKey, message, remedy).at(source, &(0..0), "in this file"));
        }
    }
    Document { source: source.clone(), tables, has_lost_tables }
}

/// What the reading of values needs beside the value.
pub(super) struct Reader<'a> {
    pub source: &'a Arc<Source>,
    pub report: &'a mut Report,
    /// The text had syntax faults, so keys that seem missing may have been lost with a broken line.
    pub broken: bool,
    has_lost_tables: bool,
}

impl Reader<'_> {
    fn family(
        &mut self,
        spec: &'static TableSpec,
        span: &Span,
        value: &toml::Spanned<DeValue<'_>>,
        tables: &mut Vec<TableData>,
    ) {
        let Some(table) = value.get_ref().as_table() else {
            self.has_lost_tables = true;
            return self.wrong_type(&value.span(), &format!("{} is a table", spec.header()), "write it as a table");
        };
        if !spec.named {
            let name = Spanned::new(spec.name.to_string(), span.clone());
            tables.extend(self.table(spec, name, value));
            return;
        }
        if table.values().any(|inner| inner.get_ref().as_table().is_none()) {
            self.has_lost_tables = true;
            let message = format!("this table has no name: it should be {}", spec.header());
            let remedy = format!("write [{}.NAME] with a name of your choice, such as [{0}.first]", spec.name);
            return self.fault(Code::WrongType, &message, &remedy, span, "without a name");
        }
        for (key, inner) in table {
            let name = Spanned::new(key.get_ref().to_string(), key.span());
            if !is_name(&name.value) {
                let message = format!("`{}` cannot be the name of a {}", name.value, spec.name);
                let remedy = "use small letters, digits, `_` and `-`, beginning with a letter, at most 31";
                self.has_lost_tables = true;
                self.fault(Code::BadName, &message, remedy, &name.span, "this name");
                continue;
            }
            tables.extend(self.table(spec, name, inner));
        }
    }

    pub fn table(
        &mut self,
        spec: &'static TableSpec,
        name: Spanned<String>,
        value: &toml::Spanned<DeValue<'_>>,
    ) -> Option<TableData> {
        let Some(table) = value.get_ref().as_table() else {
            let message = format!("a table {} should stand here", spec.header());
            self.wrong_type(&value.span(), &message, &format!("begin it with {}", spec.header()));
            return None;
        };
        let mut fields = Vec::new();
        let mut written = Vec::new();
        for (key, value) in table {
            let key_name = key.get_ref().as_ref();
            match spec.all_keys().find(|known| known.name == key_name) {
                Some(known) => {
                    written.push(known.name);
                    if let Some(field) = field::read(self, known, value) {
                        fields.push((known.name, field));
                    }
                }
                None => {
                    self.unknown_key(key_name, &key.span(), spec);
                    // The key that was meant is not missing as well.
                    let meant = suggest::nearest(key_name, spec.all_keys().map(|known| known.name));
                    written.extend(spec.all_keys().map(|known| known.name).find(|name| Some(*name) == meant));
                }
            }
        }
        for known in spec.all_keys().filter(|known| known.need == Need::Required) {
            if !self.broken && !written.contains(&known.name) {
                let owner = if spec.named { format!("{} `{}`", spec.name, name.value) } else { spec.header() };
                let message = format!("{owner} has no `{}`", known.name);
                let remedy = format!("add `{} = ...`, {}. {}", known.name, known.kind.describe(), known.meaning);
                self.fault(Code::MissingKey, &message, &remedy, &name.span, "in this table");
            }
        }
        Some(TableData { spec, name, fields, written })
    }

    fn unknown_table(&mut self, name: &str, span: &Span, specs: &'static [TableSpec]) {
        self.has_lost_tables = true;
        let known: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
        let message = format!("there is no table `{name}`");
        self.fault(Code::UnknownKey, &message, &suggest::remedy(name, "table", &known), span, "unknown table");
    }

    fn unknown_key(&mut self, name: &str, span: &Span, spec: &'static TableSpec) {
        let known: Vec<&str> = spec.all_keys().map(|key| key.name).collect();
        let message = format!("{} has no key `{name}`", spec.header());
        self.fault(Code::UnknownKey, &message, &suggest::remedy(name, "key", &known), span, "unknown key");
    }

    pub fn wrong_type(&mut self, span: &Span, message: &str, remedy: &str) {
        self.fault(Code::WrongType, message, remedy, span, "this value");
    }

    pub fn fault(&mut self, code: Code, message: &str, remedy: &str, span: &Span, label: &str) {
        self.report.push(Diagnostic::new(code, message, remedy).at(self.source, span, label));
    }
}
