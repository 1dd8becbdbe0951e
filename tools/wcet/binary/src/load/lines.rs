//! Source lines of machine code, for reports only: nothing that decides a bound may ask this module.

use gimli::{EndianRcSlice, RunTimeEndian};
use object::{Object, ObjectSection};
use std::rc::Rc;

type Reader = EndianRcSlice<RunTimeEndian>;

/// A place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.file, self.line)
    }
}

/// The line table of a file. Empty for a file without DWARF, or with DWARF that cannot be read.
#[derive(Default)]
pub struct Lines {
    context: Option<addr2line::Context<Reader>>,
}

impl Lines {
    pub fn parse(data: &[u8]) -> Lines {
        Lines { context: context(data) }
    }

    pub fn is_empty(&self) -> bool {
        self.context.is_none()
    }

    /// Where the instruction at `address` comes from; the innermost place if functions were inlined.
    pub fn place(&self, address: u64) -> Option<Place> {
        let location = self.context.as_ref()?.find_location(address).ok()??;
        Some(Place { file: location.file?.to_string(), line: location.line? })
    }
}

fn context(data: &[u8]) -> Option<addr2line::Context<Reader>> {
    let file = object::File::parse(data).ok()?;
    file.section_by_name(".debug_line")?;
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let section = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
        let bytes = file.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or_default();
        Ok(EndianRcSlice::new(Rc::from(bytes), endian))
    };
    addr2line::Context::from_dwarf(gimli::Dwarf::load(section).ok()?).ok()
}
