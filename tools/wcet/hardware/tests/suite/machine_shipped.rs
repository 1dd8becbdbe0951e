//! The machine files that Ashlar ships: free of faults, every number cited, and as the thesis has them.

use std::path::PathBuf;
use wcet_hardware::machine::{json_schema, load, Class, Issue, Machine};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../machines/timing")
}

fn machine(name: &str) -> Machine {
    load(&folder().join(format!("{name}.toml"))).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn all_are_free_of_faults_and_cite_each_number() {
    // Of numbers, the one without caches has the fewest.
    for (name, most) in [
        ("arm1136-kzm", 40),
        ("arm1136-kzm-l2", 40),
        ("cortex-a8", 40),
        ("cortex-m3", 20),
        ("riscv-inorder", 40),
        ("x86-inorder", 40),
    ] {
        let machine = machine(name);
        assert!(machine.numbers.len() > most, "{name}");
        assert!(machine.numbers.iter().all(|number| !number.source.is_empty()));
        for class in [Class::Alu, Class::Load, Class::Store, Class::Branch] {
            assert!(machine.classes.contains_key(&class), "{name} lacks {class}");
        }
    }
}

#[test]
fn the_thesis_numbers_stand() {
    let kzm = machine("arm1136-kzm");
    assert_eq!((kzm.memory.latency, kzm.branch.taken, kzm.clock), (60, 5, 532_000_000));
    assert_eq!((kzm.caches[0].sets, kzm.caches[0].taken_as), (128, 1));
    let l2 = machine("arm1136-kzm-l2");
    assert_eq!((l2.memory.latency, l2.caches[2].latency, l2.caches[2].sets), (96, 26, 512));
    let a8 = machine("cortex-a8");
    assert_eq!((a8.memory.latency, a8.pipeline.issue), (100, Issue::Dual));
    assert_eq!(a8.caches[0].sets * a8.caches[0].line, 8 << 10);
    assert_eq!(a8.classes[&Class::ModeChange].occupies, 60);
}

#[test]
fn the_schema_that_editors_use_is_the_one_that_is_read() {
    let text = std::fs::read_to_string(folder().join("schema.json")).expect("it is committed");
    let committed: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(
        committed,
        json_schema(),
        "run `cargo run -p wcet-hardware --example machine_schema > machines/timing/schema.json`"
    );
}

#[test]
fn the_reference_page_is_up_to_date() {
    let path = folder().join("../../docs/src/reference/timing-machine.md");
    let committed = std::fs::read_to_string(path).expect("it is committed");
    assert!(committed == wcet_hardware::machine::reference(), "regenerate it as its first line says");
}
