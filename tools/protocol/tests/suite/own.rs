//! Protocols of a user's project, beside those of the tree.

use crate::common;
use protocol::codes::Code;
use protocol::load_own;
use std::path::PathBuf;
use testing::Folder;

const TEXT: &str = "in  a\nstate S initial fair final\n  ?a\n";

fn tree() -> PathBuf {
    common::root().join("protocols")
}

fn codes(own: &Folder) -> Vec<Code> {
    let report = load_own(own, &tree()).err().unwrap_or_default();
    report.diagnostics.iter().filter_map(|one| Code::parse(one.code.name())).collect()
}

#[test]
fn a_project_without_protocols_has_none() {
    let own = Folder::new("own-protocols");
    assert!(load_own(&own.join("protocols"), &tree()).unwrap().is_empty());
}

#[test]
fn all_faults_of_all_files_are_reported() {
    let own = Folder::new("own-protocols");
    own.write("good.proto", format!("protocol good 15\n{TEXT}"));
    assert_eq!(load_own(&own, &tree()).unwrap().len(), 1);
    own.write("pci.proto", format!("# Ashlar's\nprotocol pci 14\n{TEXT}"));
    own.write("other.proto", format!("protocol another 14\n{TEXT}"));
    own.write("nameless.proto", format!("protocol nameless\n{TEXT}"));
    own.write("five.proto", format!("protocol five 5\n{TEXT}"));
    own.write("zero.proto", format!("protocol zero 0\n{TEXT}"));
    assert_eq!(codes(&own), [Code::Name, Code::Name, Code::Name, Code::Name, Code::Syntax]);
}

#[test]
fn a_protocol_may_need_one_of_the_tree_or_one_beside_it() {
    let own = Folder::new("own-protocols");
    let needs = |name: &str, state: &str| {
        format!("protocol mine 15\nin  a\nout b\nstate S initial fair final\n  ?a -> T\nstate T timed needs {name} {state}\n  !b -> S\n")
    };
    own.write("mine.proto", needs("pci", "Bound"));
    assert_eq!(codes(&own), []);
    own.write("mine.proto", needs("pci", "Bounded"));
    assert_eq!(codes(&own), [Code::Binding]);
    own.write("mine.proto", needs("good", "S"));
    assert_eq!(codes(&own), [Code::Binding]);
    own.write("good.proto", format!("protocol good 14\n{TEXT}"));
    assert_eq!(codes(&own), []);
}
