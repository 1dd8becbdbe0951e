//! Small drivers as text or as files of `drivers/`, checked against the protocols there.
#![allow(dead_code)] // Each test uses some of it.

use drivercheck::check::{run, Options, Report};
use drivercheck::driver::{read, Driver, DriverError, Source};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn drivers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers")
}

/// A folder of its own for each use: tests run side by side.
pub fn scratch(name: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// A driver of some files. It speaks the protocols of `drivers/` and of the tree whose headers it includes.
pub fn driver_of(name: &str, files: Vec<PathBuf>) -> Result<Driver, DriverError> {
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let known = [
        ("door", drivers().join("door.proto")),
        ("bell", drivers().join("bell.proto")),
        ("gauge", drivers().join("gauge.proto")),
        ("jobs", drivers().join("jobs.proto")),
        ("work", drivers().join("work.proto")),
        ("pci", drivers().join("pci.proto")),
        ("sata", root().join("protocols/sata.proto")),
        ("timer", root().join("protocols/timer.proto")),
    ];
    let spoken = known.into_iter().filter(|(name, _)| text.contains(&format!("{name}_protocol.h")));
    read(&Source {
        root: root(),
        files,
        protocols: spoken.map(|(_, path)| path).collect(),
        protocol_dir: root().join("protocols"),
        scratch: scratch(name),
        ..Source::default()
    })
}

pub fn driver(name: &str) -> Result<Driver, DriverError> {
    driver_of(name, vec![drivers().join(format!("{name}.c"))])
}

/// A driver that is given as text.
pub fn check_text(name: &str, text: &str, options: &Options) -> Result<Report, DriverError> {
    let directory = scratch(name);
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(format!("{name}.c"));
    std::fs::write(&path, text).unwrap();
    let driver = driver_of(name, vec![path])?;
    driver.model()?;
    Ok(run(&driver, options, &|_| {}).unwrap())
}
