//! Small programs, compiled by the system's compilers.

use crate::Folder;
use std::path::PathBuf;
use std::process::Command;

/// The bytes of the executable that `compiler` makes of a source file with this ending.
pub fn compile(compiler: &str, options: &[&str], ending: &str, source: &str) -> Vec<u8> {
    let (_folder, file) = build(compiler, options, ending, source);
    std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The executable itself, there as long as its folder.
///
/// # Panics
/// If the compiler is not there or refuses the source; with its words.
pub fn build(compiler: &str, options: &[&str], ending: &str, source: &str) -> (Folder, PathBuf) {
    let folder = Folder::new("compile");
    let (input, output) = (folder.write(format!("program.{ending}"), source), folder.join("program"));
    let done = Command::new(compiler).args(options).arg("-o").args([&output, &input]).output();
    let done = done.unwrap_or_else(|error| panic!("{compiler} cannot be run: {error}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    (folder, output)
}
