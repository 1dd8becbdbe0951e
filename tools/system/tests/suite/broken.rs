//! `tests/descriptions` holds a description for every diagnostic. Its first line says what must be found and where:
//! `# ASH-S010 line 7`, several separated by commas, in the order of their lines.

use crate::common;
use crate::common::fake::{self, elf, elf_with_note, note, CODE, DATA};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use system::{Assets, Code, Diagnostic, Report};
use testing::Folder;

fn folder() -> PathBuf {
    common::root().join("tests/descriptions")
}

/// Nothing is built but the damaged programs and a guest's kernel.
fn assets(build: &Folder) -> Assets {
    let mut assets = common::assets(build);
    let damaged = [
        ("cut-program", elf(CODE.0, &[CODE])[..120].to_vec()),
        ("entry-nowhere", elf(0x50_0000, &[CODE, DATA])),
        ("writable-code", elf(CODE.0, &[(CODE.0, 7, CODE.2, 2)])),
        ("two-on-a-page", elf(CODE.0, &[CODE, (0x40_0800, 6, b"data", 4)])),
        ("no-abi-note", elf_with_note(CODE.0, &[CODE, DATA], &[])),
        ("note-of-another", elf_with_note(CODE.0, &[CODE, DATA], &note(b"GNU\0", 4, 1))),
        ("cut-note", elf_with_note(CODE.0, &[CODE, DATA], &note(b"Ashlar\0\0", 7, 1)[..20])),
        ("another-abi", elf_with_note(CODE.0, &[CODE, DATA], &note(b"Ashlar\0\0", 7, 999))),
        ("segment-too-low", elf(CODE.0, &[CODE, (0x1000, 6, b"data", 4)])),
        ("segment-in-the-tools-area", elf(CODE.0, &[CODE, (0x5000_0000_1000, 6, b"data", 4)])),
    ];
    for (name, bytes) in damaged {
        let path = build.join(name);
        fake::write(&path, &bytes);
        assets.programs.insert(name.into(), path);
    }
    let kernel = build.join("small-kernel");
    fake::write(&kernel, &fake::guest_kernel());
    assets.files.insert("small-kernel".into(), kernel);
    assets
}

fn expected(path: &Path) -> Vec<(String, Option<usize>)> {
    let text = std::fs::read(path).expect("the description is there");
    let text = String::from_utf8_lossy(&text);
    let first = text.lines().next().expect("it has a first line");
    let list = first.strip_prefix("# ").unwrap_or_else(|| panic!("{}: no list of codes", path.display()));
    let entry = |item: &str| {
        let mut words = item.split_whitespace();
        let code = words.next().expect("a code").to_string();
        assert!(Code::parse(&code).is_some(), "{}: {code} is no code", path.display());
        let line = words.nth(1).map(|number| number.parse().expect("a line number"));
        (code, line)
    };
    list.split(',').map(entry).collect()
}

fn found(report: &Report) -> Vec<(String, Option<usize>)> {
    let pair = |diagnostic: &Diagnostic| (diagnostic.code.name().to_string(), diagnostic.line());
    report.diagnostics.iter().map(pair).collect()
}

#[test]
fn each_broken_description_is_found_out_at_its_line() {
    let build = Folder::new("broken");
    let assets = assets(&build);
    let mut wrong = Vec::new();
    for path in common::descriptions(&folder()) {
        let report = match system::load(&path, &assets) {
            Err(report) => report,
            // What only shows once everything should be there.
            Ok(system) => system::resolve(&system, &assets).err().unwrap_or_default(),
        };
        let (expected, found) = (expected(&path), found(&report));
        if expected != found {
            wrong.push(format!("{}\nexpected {expected:?}\nfound    {found:?}\n{report}", path.display()));
        }
        for diagnostic in &report.diagnostics {
            assert!(!diagnostic.message.is_empty() && !diagnostic.remedy.is_empty(), "{report}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_old_program_is_refused_where_no_build_replaces_it() {
    let build = Folder::new("old");
    let mut assets = assets(&build);
    let path = folder().join("other-abi.toml");
    assert!(system::load(&path, &assets).is_ok(), "these will be built");
    assets.finished.insert("another-abi".into());
    let report = system::load(&path, &assets).err().unwrap_or_default();
    assert_eq!(found(&report), [("ASH-S044".to_string(), Some(7))]);
}

#[test]
fn every_code_has_a_broken_description() {
    let shown: BTreeSet<String> =
        common::descriptions(&folder()).iter().flat_map(|path| expected(path)).map(|(code, _)| code).collect();
    let missing: Vec<&str> = Code::ALL.iter().map(|code| code.name()).filter(|name| !shown.contains(*name)).collect();
    assert!(missing.is_empty(), "no description shows {missing:?}");
}

#[test]
fn a_description_that_is_not_there_is_reported() {
    let report = system::check(&folder().join("no-such-file.toml"), &Assets::default());
    assert_eq!(found(&report), [("ASH-S001".to_string(), None)]);
}

#[test]
fn reports_render_for_people_and_for_programs() {
    let report = system::check(&folder().join("unknown-key.toml"), &common::assets(Path::new("/nonexistent")));
    let text = report.to_string();
    assert!(text.contains("ASH-S004") && text.contains("unknown-key.toml") && text.contains("did you mean"), "{text}");
    let json = report.to_json();
    let first = &json["diagnostics"][0];
    assert_eq!(first["code"], "ASH-S004");
    assert!(first["labels"][0]["line"].is_u64() && first["labels"][0]["column"].is_u64());
}
