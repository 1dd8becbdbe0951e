//! From the text to records.

use super::{Constant, Field, Record, Schema};
use crate::fault::Fault;
use crate::table::{parse, At, Keys};

pub(super) fn schema(text: &str, faults: &mut Vec<Fault>) -> Schema {
    let root = parse(text, faults);
    let mut keys = Keys::new(&root, 0..0, "file");
    if !faults.is_empty() {
        // What follows from broken syntax would only hide it.
        let magic = At { value: String::new(), span: 0..0 };
        return Schema { magic, version: 0, constants: Vec::new(), records: Vec::new() };
    }
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
