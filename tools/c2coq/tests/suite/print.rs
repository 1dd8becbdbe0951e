//! A printed tree is the program it was made from: it is accepted, prints as itself, and compiles to the same code.

use std::path::{Path, PathBuf};
use std::process::Command;

use c2coq::source::Sources;
use c2coq::{check, check_with, print, Options};
use object::{Object, ObjectSection, SectionKind};
use testing::Folder;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn certified() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for layer in std::fs::read_dir(repository().join("kernel/layers")).unwrap() {
        for entry in std::fs::read_dir(layer.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(".c") && !name.ends_with("_test.c") && !name.ends_with("_check.c") {
                files.push(path);
            }
        }
    }
    files.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/accept/layer.c"));
    files
}

fn options() -> Options {
    let defines = ["LOCK_MCS", "DEBUG"].map(|name| (name.to_string(), "1".to_string()));
    Options { defines: defines.to_vec(), ..Options::default() }
}

fn printed(path: &Path) -> String {
    let checked = check(&[path.to_path_buf()], &options()).unwrap();
    assert!(checked.faults.is_empty(), "{}", c2coq::report::for_people(&checked.sources, &checked.faults));
    print::c(&checked.program.units[0])
}

/// Checks a printed text as a file of its own. Its prototypes stand in no header, which is not what is tested here.
fn again(text: &str) -> String {
    let mut sources = Sources::default();
    let path = PathBuf::from("/nowhere/printed.c");
    sources.add(&path, text);
    let checked = check_with(sources, &[path], &Options::default()).unwrap();
    let faults: Vec<_> = checked.faults.iter().filter(|fault| fault.rule.name() != "prototype").cloned().collect();
    assert!(faults.is_empty(), "{}\n{text}", c2coq::report::for_people(&checked.sources, &faults));
    print::c(&checked.program.units[0])
}

#[test]
fn printing_what_was_printed_changes_nothing() {
    for path in certified() {
        let first = printed(&path);
        let second = again(&first);
        if first != second {
            let differing = first.lines().zip(second.lines()).find(|(first, second)| first != second);
            panic!("{}: {differing:?}", path.display());
        }
    }
}

/// The bytes of code and data, with the number of relocations of each section.
fn code(source: &Path, object: &Path) -> Vec<(String, Vec<u8>, usize)> {
    let kernel = repository().join("kernel");
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-O1", "-ffreestanding", "-fno-pic", "-DLOCK_MCS", "-DDEBUG", "-c", "-w", "-o"]);
    gcc.arg(object).arg(source).arg("-I").arg(&kernel).arg("-I").arg(kernel.join("arch"));
    for layer in std::fs::read_dir(kernel.join("layers")).unwrap() {
        gcc.arg("-I").arg(layer.unwrap().path());
    }
    assert!(gcc.status().unwrap().success(), "{}", source.display());
    let bytes = std::fs::read(object).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    file.sections()
        .filter(|section| {
            matches!(
                section.kind(),
                SectionKind::Text | SectionKind::Data | SectionKind::ReadOnlyData | SectionKind::UninitializedData
            )
        })
        .map(|section| {
            let data = if section.kind() == SectionKind::UninitializedData {
                section.size().to_le_bytes().to_vec()
            } else {
                section.data().unwrap().to_vec()
            };
            (section.name().unwrap().to_string(), data, section.relocations().count())
        })
        .collect()
}

#[test]
fn printed_files_compile_to_the_same_code() {
    let dir = Folder::new("print");
    let mut different = Vec::new();
    // The accepted test file has inline primitives, whose bodies a printed file does not hold.
    for path in certified().iter().filter(|path| path.starts_with(repository().join("kernel"))) {
        let source = dir.join(path.file_name().unwrap());
        let text = printed(path);
        std::fs::write(&source, &text).unwrap();
        if code(path, &dir.join("a.o")) != code(&source, &dir.join("b.o")) {
            different.push(path.display().to_string());
        }
    }
    assert!(different.is_empty(), "{different:?}");

    // The comparison does see a difference.
    let queue = repository().join("kernel/layers/queue/queue.c");
    let changed = printed(&queue).replacen(" == ", " != ", 1);
    let source = dir.join("changed.c");
    std::fs::write(&source, changed).unwrap();
    assert_ne!(code(&queue, &dir.join("a.o")), code(&source, &dir.join("b.o")));
}
