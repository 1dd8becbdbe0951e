//! The modules in Rust: those committed are what the protocols give, and any name can be one of a message or a field.

use crate::common;
use protocol::generate::rust;
use std::path::PathBuf;
use std::process::Command;
use testing::Folder;

#[test]
fn the_modules_of_the_crate_ashlar_are_what_the_protocols_give() {
    let all: Vec<_> = common::protocols().iter().map(|path| common::load(path)).collect();
    let folder = common::root().join("user/rust/src/protocols");
    let mut files = rust::tree(&all);
    for file in &files {
        let committed = std::fs::read_to_string(folder.join(&file.name)).unwrap_or_default();
        assert!(committed == file.text, "{} is old: run `make -C user rust-protocols`", file.name);
    }
    let mut there: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    there.sort();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(there.iter().eq(files.iter().map(|file| &file.name)), "there are other files: {there:?}");
}

/// Names that mean something in Rust, that collide with each other once written as types, or with those of the module.
const ODD: &str = "\
# Odd [names] with *marks* and <b>.
protocol loop 15
request self 3
request mailbox 70
in self
  opens self
  type u8 1..3
  self u16[3] 5..6
  cookie u64 1..18446744073709551615
in clone some option to_driver loop
  opens mailbox
in a_b
out ab
out result mailbox from_driver max_self
  closes mailbox
  as u32
  payload_ u64
out copy
  closes self
state S initial fair final
  ?self, ?clone, ?some, ?option, ?to_driver, ?loop, ?a_b
  !ab, !result, !mailbox, !from_driver, !max_self, !copy
";

#[test]
fn any_name_can_be_that_of_a_message_or_a_field() {
    let folder = Folder::new("rust-modules");
    folder.write("loop.proto", ODD);
    let checked = common::load(&folder.join("loop.proto"));
    for file in rust::own_crate(&[checked], "ashlar") {
        folder.write(&file.name, &file.text);
    }
    // What the module needs of the crate `ashlar` has no dependencies: the module `mailbox::message` alone.
    let message = common::root().join("user/rust/src/mailbox/message.rs");
    let text = format!("#![no_std]\npub mod mailbox {{ #[path = {message:?}] mod message; pub use message::*; }}\n");
    let text = text.replace("mod message;", "pub mod message;");
    folder.write("ashlar.rs", text);
    let compile = |name: &str, source: &str, more: &[&str]| {
        // Cargo names itself to tests; the compiler stands beside it.
        let beside = std::env::var_os("CARGO").map(|cargo| PathBuf::from(cargo).with_file_name("rustc"));
        let done = Command::new(beside.filter(|path| path.is_file()).unwrap_or_else(|| "rustc".into()))
            .args([
                "--edition",
                "2021",
                "--crate-type",
                "rlib",
                "--emit",
                "metadata",
                "-D",
                "warnings",
                "--crate-name",
                name,
            ])
            .arg("--out-dir")
            .arg(&*folder)
            .arg(folder.join(source))
            .args(more)
            .output()
            .expect("rustc runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    compile("ashlar", "ashlar.rs", &["-A", "dead_code"]);
    let found = format!("ashlar={}", folder.join("libashlar.rmeta").display());
    compile("protocols", "src/lib.rs", &["--extern", &found, "-W", "missing-docs"]);
}

/// What is left of a crate whose last protocol is gone is one that programs can still depend on.
#[test]
fn a_crate_of_no_protocols_needs_no_std() {
    let files = rust::own_crate(&[], "ashlar");
    let library = files.iter().find(|file| file.name == "src/lib.rs");
    assert!(library.is_some_and(|file| file.text.lines().any(|line| line == "#![no_std]")));
}
