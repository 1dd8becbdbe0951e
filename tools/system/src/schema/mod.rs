//! The schema of descriptions: names, kinds of value, bounds, defaults and meanings of every table and key, defined once. The
//! reader refuses what is not here; the reference page and the JSON schemas are made from here.

pub mod machine;
pub mod project;
pub mod system;

use diagnostics::units::{show_duration, show_size};

/// What a name in a description can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    Process,
    Endpoint,
    Notification,
    Console,
    Device,
    Interrupt,
    Program,
    File,
}

impl Object {
    pub fn noun(self) -> &'static str {
        match self {
            Object::Process => "process",
            Object::Endpoint => "endpoint",
            Object::Notification => "notification",
            Object::Console => "console",
            Object::Device => "device",
            Object::Interrupt => "interrupt",
            Object::Program => "program",
            Object::File => "file",
        }
    }
}

/// The kind of value a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Texts,
    /// A regular expression.
    Regex,
    Flag,
    /// A whole number within bounds, both included.
    Integer(u64, u64),
    /// Whole numbers within bounds, both included; at least one.
    Integers(u64, u64),
    /// Bytes with a unit, within bounds.
    Size(u64, u64),
    /// A time with a unit, in nanoseconds, within bounds.
    Duration(u64, u64),
    /// `FIRST..LAST`, both included.
    Range,
    /// A function of a PCI device, `BUS:DEVICE.FUNCTION`.
    Function,
    Choice(&'static [&'static str]),
    /// Any of these words, or none.
    Choices(&'static [&'static str]),
    /// The name of an object.
    Name(Object),
    Names(Object),
    /// A table of names chosen by the user, each with a text.
    Arguments,
    /// A table of names chosen by the user, each with a file.
    Files,
    /// Tables with names chosen by the user inside this table.
    Tables(&'static TableSpec),
}

impl Kind {
    /// The kind without its bounds or an example.
    pub fn noun(self) -> String {
        let all = self.describe();
        all.split(',').next().unwrap_or(&all).to_string()
    }

    /// The kind as a message or the reference says it.
    pub fn describe(self) -> String {
        match self {
            Kind::Text => "a string".into(),
            Kind::Texts => "a list of strings".into(),
            Kind::Regex => "a regular expression".into(),
            Kind::Flag => "true or false".into(),
            Kind::Integer(low, high) => format!("an integer, {low} to {high}"),
            Kind::Integers(low, high) => format!("a list of integers, {low} to {high}"),
            Kind::Size(low, high) => format!("a size, \"{}\" to \"{}\"", show_size(low), show_size(high)),
            Kind::Duration(low, high) => format!("a time, \"{}\" to \"{}\"", show_duration(low), show_duration(high)),
            Kind::Range => "a range, such as \"0x2f8..0x2ff\"".into(),
            Kind::Function => "a PCI function, such as \"00:04.0\"".into(),
            Kind::Choice(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                quoted.join(" or ")
            }
            Kind::Choices(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("a list, of {}", quoted.join(", "))
            }
            Kind::Name(object) => format!("the name of {} {}", article(object.noun()), object.noun()),
            Kind::Names(object) => format!("a list of names of {}", plural(object.noun())),
            Kind::Arguments => "a table of strings".into(),
            Kind::Files => "a table of files".into(),
            Kind::Tables(_) => "tables with names of your choice".into(),
        }
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

fn plural(noun: &str) -> String {
    if noun.ends_with('s') {
        format!("{noun}es")
    } else {
        format!("{noun}s")
    }
}

/// One key of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct KeySpec {
    pub name: &'static str,
    pub kind: Kind,
    pub need: Need,
    pub meaning: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Required,
    /// May be left out; the text says what holds then.
    Default(&'static str),
}

/// One table, or one family of tables with names chosen by the user.
#[derive(Debug, PartialEq, Eq)]
pub struct TableSpec {
    pub name: &'static str,
    /// `[name.X]` for any X, rather than a single `[name]`.
    pub named: bool,
    pub required: bool,
    /// Keys in groups, so that tables can share a group.
    pub keys: &'static [&'static [KeySpec]],
    pub meaning: &'static str,
}

impl TableSpec {
    pub fn all_keys(&self) -> impl Iterator<Item = &'static KeySpec> {
        self.keys.iter().flat_map(|group| group.iter())
    }

    /// The header as a user writes it.
    pub fn header(&self) -> String {
        if self.named {
            format!("[{}.NAME]", self.name)
        } else {
            format!("[{}]", self.name)
        }
    }
}

pub(crate) const fn required(name: &'static str, kind: Kind, meaning: &'static str) -> KeySpec {
    KeySpec { name, kind, need: Need::Required, meaning }
}

pub(crate) const fn optional(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> KeySpec {
    KeySpec { name, kind, need: Need::Default(default), meaning }
}
