//! From the text to records.

use super::{Constant, Field, Record, Schema};
use crate::table::{parse, Keys};
use diagnostics::{Faults, Spanned};

pub(super) fn schema(faults: &mut Faults) -> Schema {
    let source = faults.source.clone();
    let Some(root) = parse(&source, &mut faults.report) else {
        let magic = Spanned::new(String::new(), 0..0);
        return Schema { magic, version: 0, constants: Vec::new(), records: Vec::new() };
    };
    let mut keys = Keys::new(&root, 0..0, "file");
    let schema = Schema {
        magic: keys.text("magic", faults),
        version: keys.number("version", faults).value,
        constants: keys.list("constant", "constant", faults, |keys, faults| Constant {
            name: keys.text("name", faults),
            value: keys.number("value", faults).value,
            meaning: keys.text("meaning", faults).value,
        }),
        records: keys.list("record", "record", faults, |keys, faults| Record {
            name: keys.text("name", faults),
            section: keys.optional_text("section", faults),
            most: keys.optional_text("most", faults),
            fields: keys.list("fields", "field", faults, |keys, faults| Field {
                name: keys.text("name", faults),
                ftype: keys.text("type", faults),
                meaning: keys.text("meaning", faults).value,
            }),
        }),
    };
    keys.finish(faults);
    schema
}
