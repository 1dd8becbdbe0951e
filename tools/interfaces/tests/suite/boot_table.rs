//! What is generated from a schema of the boot table, and the faults that are reported of a bad one.

use std::path::Path;

use diagnostics::Diagnostic;
use interfaces::boot_table::{files, read};

fn schema(records: &str) -> String {
    format!(
        "magic = \"ASHARTBL\"\nversion = 7\n\n[[constant]]\nname = \"THING_BIG\"\nvalue = 2\nmeaning = \"large\"\n\n\
         {}{}{records}",
        record("header", "", &[("magic", "u64"), ("name", "name")]),
        record("section", "", &[("offset", "u32"), ("count", "u32")]),
    )
}

fn record(name: &str, more: &str, fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, ftype)| format!("{{ name = \"{name}\", type = \"{ftype}\", meaning = \"\" }}"))
        .collect();
    format!("[[record]]\nname = \"{name}\"\n{more}fields = [{}]\n\n", fields.join(", "))
}

const THINGS: &str = "section = \"things\"\nmost = \"NUM_THING\"\n";

fn good() -> String {
    schema(&record("thing", THINGS, &[("kind", "u32"), ("owner", "u32"), ("base", "u64")]))
}

fn faults(text: &str) -> Vec<Diagnostic> {
    read(Path::new("table.toml"), text).expect_err("the schema is bad").diagnostics
}

#[test]
fn both_sides_get_the_same_layout() {
    let files = files(&read(Path::new("table.toml"), &good()).expect("the schema is good"));
    let [c, rust] = &files[..] else { panic!("two files") };
    for part in [
        "#define BOOT_TABLE_MAGIC 0x4c42545241485341ul",
        "#define BOOT_TABLE_VERSION 7u",
        "#define BOOT_THING_BIG 2u /* large */",
        "    SECTION(BOOT_THINGS, \"things\", struct boot_thing, NUM_THING)",
        "struct boot_thing {\n    uint32_t kind;\n    uint32_t owner;\n    uint64_t base;\n};",
        "_Static_assert(offsetof(struct boot_thing, base) == 8, \"layout\");",
        "_Static_assert(sizeof(struct boot_thing) == 16, \"layout\");",
        "_Static_assert(offsetof(struct boot_header, sections) == 40, \"layout\");",
    ] {
        assert!(c.text.contains(part), "{part}\n{}", c.text);
    }
    for part in [
        "pub const MAGIC: u64 = 0x4c42545241485341;",
        "pub const THING_BIG: u32 = 2;",
        "pub const NUM_SECTIONS: usize = 1;",
        "    Thing: 16 bytes {\n        kind: u32,\n        owner: u32,\n        base: u64,\n    }",
        "    Header: 40 bytes {",
    ] {
        assert!(rust.text.contains(part), "{part}\n{}", rust.text);
    }
}

#[test]
fn each_fault_is_named_once() {
    let with = |fields| schema(&record("thing", THINGS, fields));
    let cases = [
        (with(&[("kind", "u32"), ("base", "u64"), ("owner", "u32")]), "would move base from byte 4"),
        (with(&[("kind", "u32")]), "has 4 bytes, not a multiple of 8"),
        (with(&[("base", "u16"), ("owner", "u64")]), "`u16` is no type"),
        (with(&[("Base", "u64")]), "`Base` is no name"),
        (with(&[("base", "u64"), ("base", "u64")]), "`base` is described twice"),
        (schema(&record("thing", "section = \"things\"\n", &[("base", "u64")])), "has no `most`"),
        (schema(&record("thing", "most = \"1\"\n", &[("base", "u64")])), "is no entry of a section"),
        (good().replace("ASHARTBL", "ASHAR"), "has not eight letters"),
        (good().replace("\"section\"", "\"sektion\""), "there is no record section"),
        (good().replace("version = 7", "version = \"7\""), "`version` is not a whole number"),
        (good().replace("value = 2\n", ""), "this constant has no `value`"),
    ];
    for (text, part) in cases {
        let found = faults(&text);
        let named = found.iter().filter(|fault| fault.message.contains(part)).count();
        assert_eq!(named, 1, "{part}: {found:?}");
    }
}
