//! Kernels of a few instructions, for the tests of the timing analysis.

use crate::Folder;
use std::path::Path;
use std::process::Command;

/// The kernel that is assembled from a source with these options and linked where kernels stand. It may include `parts.S`.
///
/// # Panics
/// If gcc is not there or refuses the source; with its words.
pub fn kernel(source: &Path, options: &[&str]) -> Vec<u8> {
    let folder = Folder::new("kernel");
    let file = folder.join("kernel");
    let parts = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel");
    let done = Command::new("gcc")
        .args(["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none"])
        .args(["-Wl,-Ttext-segment=0xffffffff80200000", "-Wl,-e,system_call", "-Wl,-z,noexecstack", "-o"])
        .arg(&file)
        .arg(format!("-Wa,-I,{}", parts.display()))
        .args(options)
        .arg(source)
        .output()
        .unwrap_or_else(|error| panic!("gcc cannot be run: {error}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
