//! One of the kernel's tables: an array of structures.

use crate::layout::{structures, Field, Structure};
use crate::memory::{Memory, KERNEL_BASE};
use object::{Object, ObjectSymbol};
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("not an ELF file: {0}")]
    Elf(#[from] object::Error),
    #[error("its debugging information is damaged: {0}")]
    Debug(#[from] gimli::Error),
    #[error("it has no table {0}")]
    NoTable(&'static str),
    #[error("its table {0} has no field {1}")]
    NoField(&'static str, &'static str),
}

/// An array whose variable is called as its structure is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Physical addresses.
    addresses: Range<u64>,
    stride: u64,
    fields: BTreeMap<&'static str, Field>,
}

/// A table's name, and the fields of it that are read.
pub type Wanted = (&'static str, &'static [&'static str]);

impl Table {
    /// The tables of the kernel whose file with symbols and debugging information this is.
    pub fn all(elf: &[u8], wanted: &[Wanted]) -> Result<Vec<Table>, TableError> {
        let elf = object::File::parse(elf)?;
        let names: Vec<&str> = wanted.iter().map(|(name, _)| *name).collect();
        let structures = structures(&elf, &names)?;
        wanted
            .iter()
            .map(|(name, fields)| {
                let structure = structures.get(*name).ok_or(TableError::NoTable(name))?;
                Table::one(&elf, name, fields, structure)
            })
            .collect()
    }

    fn one(
        elf: &object::File<'_>,
        name: &'static str,
        fields: &[&'static str],
        structure: &Structure,
    ) -> Result<Table, TableError> {
        let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(name) && symbol.size() > 0);
        let symbol = symbol.ok_or(TableError::NoTable(name))?;
        let start = symbol.address().wrapping_sub(KERNEL_BASE);
        let fields = fields.iter().map(|field| {
            let place = structure.fields.get(*field).ok_or(TableError::NoField(name, field))?;
            Ok((*field, *place))
        });
        Ok(Table {
            addresses: start..start + symbol.size(),
            stride: structure.bytes.max(1),
            fields: fields.collect::<Result<_, TableError>>()?,
        })
    }

    /// What the table holds now.
    pub fn read(&self, memory: &Memory) -> Result<Rows<'_>, String> {
        Ok(Rows { table: self, bytes: memory.read(&self.addresses)? })
    }
}

/// A copy of a table.
#[derive(Debug)]
pub struct Rows<'a> {
    table: &'a Table,
    bytes: Vec<u8>,
}

impl Rows<'_> {
    pub fn count(&self) -> usize {
        self.bytes.len() / self.table.stride as usize
    }

    /// A field that was asked for; 0 of rows and fields that there are not.
    pub fn get(&self, row: usize, field: &str) -> u64 {
        let Some(place) = self.table.fields.get(field) else { return 0 };
        let start = row * self.table.stride as usize + place.offset as usize;
        let bytes = self.bytes.get(start..start + place.bytes as usize).unwrap_or(&[]);
        bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}
