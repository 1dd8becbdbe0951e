//! Tables and keys of a project of the user's own, `ashlar.toml`.

use super::{optional, required, Kind, TableSpec};

pub const TABLES: &[TableSpec] = &[PROJECT, PROGRAM];

const PROJECT: TableSpec = TableSpec {
    name: "project",
    named: false,
    required: true,
    meaning: "What holds for the project as a whole.",
    keys: &[&[
        required("version", Kind::Integer(1, 1_000_000), "Version of the form of this file; this one is 1."),
        optional(
            "system",
            Kind::Text,
            "the only description in `systems`",
            "The system that commands take which are given none: NAME for `systems/NAME.toml`.",
        ),
    ]],
};

const PROGRAM: TableSpec = TableSpec {
    name: "program",
    named: true,
    required: false,
    meaning: "A program of the project. Descriptions name it by `program = \"NAME\"`, as they name programs of Ashlar, of \
              which none may have the same name. It is made from `sources` or `crate`, or taken from `elf`.",
    keys: &[&[
        optional(
            "sources",
            Kind::Texts,
            "none",
            "C files, and folders of which every C file counts, those in folders inside too, but for folders called \
             `tests`. All paths of this file are relative to it and stay inside its folder.",
        ),
        optional("include", Kind::Texts, "none", "Folders in which `#include \"FILE\"` also looks."),
        optional(
            "flags",
            Kind::Texts,
            "none",
            "Further arguments of the compiler, each one of `-DNAME`, `-DNAME=VALUE`, `-UNAME`, `-O0` to `-O3`, `-Os`, `-Og`, \
             `-std=NAME`, `-WNAME`: those that leave alone what the kernel relies on.",
        ),
        optional(
            "crate",
            Kind::Text,
            "none",
            "A program in Rust instead: a folder with a `Cargo.toml`, whose package has one program, or one of this name. It \
             depends on the crate `ashlar`: `ashlar = { path = \"PATH/.ashlar/rust\" }` with the path from the folder to the \
             project's. The link `.ashlar/rust` is made by each command that reads the project.",
        ),
        optional("elf", Kind::Text, "none", "A finished program instead: a static ELF executable for x86-64."),
    ]],
};
