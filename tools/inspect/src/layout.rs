//! Fields of structures, from debugging information.

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Unit, UnitOffset};
use object::{Object, ObjectSection};
use std::borrow::Cow;
use std::collections::BTreeMap;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Where a member lies in its structure; of members that are neither scalars nor pointers `bytes` is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub offset: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    pub bytes: u64,
    pub fields: BTreeMap<String, Field>,
}

impl Structure {
    /// The member's place; none if the structure has no such member.
    pub fn offset(&self, field: &str) -> Option<u64> {
        self.fields.get(field).map(|field| field.offset)
    }
}

/// The structures with these names.
pub fn structures(elf: &object::File<'_>, names: &[&str]) -> Result<BTreeMap<String, Structure>, gimli::Error> {
    let sections = gimli::DwarfSections::load(|id| {
        let section = elf.section_by_name(id.name());
        Ok::<_, gimli::Error>(
            section.and_then(|section| section.uncompressed_data().ok()).unwrap_or(Cow::Borrowed(&[])),
        )
    })?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let mut found = BTreeMap::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let mut entries = unit.entries();
        while let Some((_, entry)) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_structure_type {
                continue;
            }
            let Some(name) = text(&dwarf, &unit, entry)? else { continue };
            if !names.contains(&name.as_str()) || found.contains_key(&name) {
                continue;
            }
            if let Some(bytes) = number(entry, gimli::DW_AT_byte_size)? {
                let fields = fields(&dwarf, &unit, entry.offset())?;
                found.insert(name, Structure { bytes, fields });
            }
        }
    }
    Ok(found)
}

fn fields(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    structure: UnitOffset,
) -> Result<BTreeMap<String, Field>, gimli::Error> {
    let mut fields = BTreeMap::new();
    let mut tree = unit.entries_tree(Some(structure))?;
    let mut members = tree.root()?.children();
    while let Some(member) = members.next()? {
        let entry = member.entry();
        let (Some(name), Some(offset)) = (text(dwarf, unit, entry)?, number(entry, gimli::DW_AT_data_member_location)?)
        else {
            continue;
        };
        fields.insert(name, Field { offset, bytes: size(unit, entry)?.unwrap_or(0) });
    }
    Ok(fields)
}

/// The size of a scalar's or pointer's type, behind its names; none of other types.
fn size(
    unit: &Unit<Slice<'_>>,
    entry: &DebuggingInformationEntry<'_, '_, Slice<'_>>,
) -> Result<Option<u64>, gimli::Error> {
    let mut next = entry.attr_value(gimli::DW_AT_type)?;
    while let Some(AttributeValue::UnitRef(offset)) = next {
        let entry = unit.entry(offset)?;
        match entry.tag() {
            gimli::DW_TAG_base_type | gimli::DW_TAG_pointer_type => return number(&entry, gimli::DW_AT_byte_size),
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {
                next = entry.attr_value(gimli::DW_AT_type)?;
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

fn text(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    entry: &DebuggingInformationEntry<'_, '_, Slice<'_>>,
) -> Result<Option<String>, gimli::Error> {
    let Some(value) = entry.attr_value(gimli::DW_AT_name)? else { return Ok(None) };
    Ok(Some(dwarf.attr_string(unit, value)?.to_string_lossy().into_owned()))
}

fn number(
    entry: &DebuggingInformationEntry<'_, '_, Slice<'_>>,
    attribute: gimli::DwAt,
) -> Result<Option<u64>, gimli::Error> {
    Ok(entry.attr_value(attribute)?.and_then(|value| value.udata_value()))
}
