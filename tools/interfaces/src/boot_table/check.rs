//! Whether every compiler lays the records out as they are described, and names are valid.

use std::collections::BTreeSet;

use super::{Schema, HEADER, SECTION};
use crate::fault::{refuse, Code, Refuse};
use crate::table::is_word;
use diagnostics::{Faults, Spanned};

pub(super) fn check(schema: &Schema, faults: &mut Faults) {
    let mut fault = refuse(faults);
    if schema.magic.value.len() != 8 || !schema.magic.value.is_ascii() {
        let message = format!("the magic `{}` has not eight letters", schema.magic.value);
        fault(Code::Layout, &schema.magic, message, "write eight letters");
    }
    let mut names = BTreeSet::new();
    for constant in &schema.constants {
        check_name(&constant.name, char::is_uppercase, &mut names, &mut fault);
    }
    let mut names = BTreeSet::new();
    for record in &schema.records {
        let name = record.name.value.as_str();
        check_name(&record.name, char::is_lowercase, &mut names, &mut fault);
        match (&record.section, &record.most) {
            (Some(section), None) => {
                let message = format!("section {} has no `most`", section.value);
                fault(Code::Key, section, message, "say how many entries the kernel has room for");
            }
            (None, Some(most)) => fault(
                Code::Key,
                most,
                format!("record {name} has `most`, but is no entry of a section"),
                "name its section, or remove `most`",
            ),
            _ => {}
        }
        let mut fields = BTreeSet::new();
        for (offset, field) in record.offsets() {
            check_name(&field.name, char::is_lowercase, &mut fields, &mut fault);
            match field.layout() {
                None => {
                    let message = format!("`{}` is no type of a field", field.ftype.value);
                    fault(Code::Layout, &field.ftype, message, "write \"u32\", \"u64\" or \"name\"");
                }
                Some((_, align)) if offset % align != 0 => {
                    let message = format!("a compiler would move {} from byte {offset}", field.name.value);
                    fault(Code::Layout, &field.name, message, "put a reserved u32 before it, or change the order");
                }
                Some(_) => {}
            }
        }
        if record.size() % 8 != 0 {
            let message = format!("record {name} has {} bytes, not a multiple of 8", record.size());
            fault(Code::Layout, &record.name, message, "add a reserved u32");
        }
    }
    for needed in [HEADER, SECTION] {
        if !names.contains(needed) {
            let message = format!("there is no record {needed}");
            fault(Code::Layout, &schema.magic, message, "describe it: every table begins with header and sections");
        }
    }
}

fn check_name<'a>(
    name: &'a Spanned<String>,
    case: fn(char) -> bool,
    names: &mut BTreeSet<&'a str>,
    fault: &mut Refuse,
) {
    if !is_word(&name.value, case) {
        let message = format!("`{}` is no name of a record, field or constant", name.value);
        fault(Code::Name, name, message, "write lower case, digits and _; constants in capitals");
    }
    if !names.insert(&name.value) {
        fault(Code::Twice, name, format!("`{}` is described twice", name.value), "keep one of the two");
    }
}
