//! Every description of the tree is without fault, before anything is built.

use crate::common;
use std::path::Path;

#[test]
fn every_system_of_the_tree_is_without_fault() {
    let assets = common::assets(Path::new("/nonexistent"));
    let paths = common::systems();
    assert!(paths.iter().any(|path| path.ends_with("three-linux.toml")));
    for path in paths {
        let report = system::check(&path, &assets);
        assert!(report.is_clean(), "{report}");
    }
}

#[test]
fn the_default_system_is_what_it_says() {
    let assets = common::assets(Path::new("/nonexistent"));
    let system = system::load(&common::root().join("systems/three-linux.toml"), &assets).expect("it is without fault");
    assert_eq!(system.name, "three-linux");
    assert_eq!(system.cpus, 4);
    assert_eq!(system.programs, ["ahci", "block", "pci_bus", "rt_client", "rt_server", "rtl8139", "switch", "vmm"]);
    assert_eq!(system.files, ["busybox", "debian-cloud"]);
    let consoles: Vec<&str> = system.consoles.iter().map(|console| console.name.as_str()).collect();
    assert_eq!(consoles[..5], ["kernel", "guest0", "guest1", "guest2", "rt"]);
    assert_eq!(consoles[5..], ["blocks", "switch", "disk_bus", "net_bus", "ahci", "rtl8139"]);
    // Drivers say nothing when all is well.
    assert!(system.consoles[1..9].iter().all(|console| console.up.is_some()));
    assert!(system.emulator.is_some_and(|emulator| emulator.command.contains("qemu")));
}
