//! The source tree as the tests see it. Each test uses a part of this.

#![allow(dead_code)]

pub mod fake;
pub mod start_up;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use system::Assets;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the source tree is there")
}

/// Programs of the tree by name and the guests' named files; nothing is built in `build`.
pub fn assets(build: &Path) -> Assets {
    let programs = system::programs(&root().join("user"), build);
    let files = BTreeMap::from([
        ("debian-cloud".to_string(), build.join("vmlinuz")),
        ("busybox".to_string(), build.join("initrd.img")),
        ("busybox-measure".to_string(), build.join("initrd.img")),
        ("memtest86+".to_string(), build.join("memtest86+")),
        ("seabios".to_string(), build.join("seabios.bin")),
    ]);
    let disk_images = ["debian", "grub"].map(|name| (name.to_string(), build.join(format!("{name}.img")))).into();
    Assets { machines: root().join("machines"), programs, files, disk_images, ..Assets::default() }
}

/// Paths of the descriptions of the tree: examples, tests and benchmarks.
pub fn systems() -> Vec<PathBuf> {
    let folders = ["systems", "tests/cases/systems", "bench/systems"];
    folders.iter().flat_map(|folder| descriptions(&root().join(folder))).collect()
}

/// Paths of the `.toml` files of `folder`, sorted.
pub fn descriptions(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths
}
