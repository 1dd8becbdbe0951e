//! The boot table, as `kernel/boot_table.toml` describes it.

mod c;
mod check;
mod read;
mod rust;

use diagnostics::{Faults, Report, Spanned};
use std::path::{Path, PathBuf};

use crate::Generated;

#[derive(Debug)]
pub struct Schema {
    /// Eight letters, the first bytes of an image.
    pub magic: Spanned<String>,
    pub version: u64,
    pub constants: Vec<Constant>,
    pub records: Vec<Record>,
}

#[derive(Debug)]
pub struct Constant {
    pub name: Spanned<String>,
    pub value: u64,
    pub meaning: String,
}

#[derive(Debug)]
pub struct Record {
    pub name: Spanned<String>,
    /// The section whose entries these are.
    pub section: Option<Spanned<String>>,
    /// Entries that the kernel has room for.
    pub most: Option<Spanned<String>>,
    pub fields: Vec<Field>,
}

#[derive(Debug)]
pub struct Field {
    pub name: Spanned<String>,
    pub ftype: Spanned<String>,
    pub meaning: String,
}

impl Field {
    /// Bytes, and the multiple of bytes at which it stands.
    fn layout(&self) -> Option<(u64, u64)> {
        match self.ftype.value.as_str() {
            "u32" => Some((4, 4)),
            "u64" => Some((8, 8)),
            "name" => Some((NAME_BYTES, 1)),
            _ => None,
        }
    }

    fn size(&self) -> u64 {
        self.layout().map_or(0, |(size, _)| size)
    }
}

impl Record {
    fn size(&self) -> u64 {
        self.fields.iter().map(Field::size).sum()
    }

    /// The fields with their offsets.
    fn offsets(&self) -> impl Iterator<Item = (u64, &Field)> {
        self.fields.iter().scan(0, |at, field| {
            let offset = *at;
            *at += field.size();
            Some((offset, field))
        })
    }
}

impl Schema {
    /// The records that are entries of sections, in the order of the sections.
    fn sections(&self) -> impl Iterator<Item = (&Record, &str, &str)> {
        self.records.iter().filter_map(|record| {
            let (section, most) = (record.section.as_ref()?, record.most.as_ref()?);
            Some((record, section.value.as_str(), most.value.as_str()))
        })
    }

    /// The magic number: the letters in the order of memory.
    fn magic(&self) -> u64 {
        self.magic.value.bytes().rev().fold(0, |number, letter| number << 8 | u64::from(letter))
    }
}

const NAME_BYTES: u64 = 32;
const HEADER: &str = "header";
const SECTION: &str = "section";

/// Reads and checks the schema.
pub fn read(path: &Path, text: &str) -> Result<Schema, Report> {
    let mut faults = Faults::new(path, text);
    let schema = read::schema(&mut faults);
    if faults.is_clean() {
        check::check(&schema, &mut faults);
    }
    faults.or(schema)
}

/// The generated files.
pub fn files(schema: &Schema) -> Vec<Generated> {
    vec![
        Generated { path: PathBuf::from("kernel/start/boot_table.h"), text: c::header(schema) },
        Generated { path: PathBuf::from("tools/system/src/table/records.rs"), text: rust::records(schema) },
    ]
}
