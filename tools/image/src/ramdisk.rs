//! The guest's initial ramdisk: busybox, a script that starts, scripts that work.
//!
//! Equal inputs give equal bytes.

use crate::archive::cpio::Cpio;
use crate::archive::tar::Archive;
use crate::Error;
use flate2::{Compression, GzBuilder};
use std::io::Write;
use std::path::Path;
use std::process::Command;

const INIT: &str = include_str!("../guest/init");
/// What busybox's init keeps running.
const INITTAB: &str = include_str!("../guest/inittab");
/// Where busybox's DHCP client looks for what it calls.
const DHCP_SCRIPT: (&str, &str) = ("etc/udhcpc/default.script", include_str!("../guest/udhcpc"));
/// The guest's own commands, found before busybox's.
const COMMANDS: [(&str, &str); 6] = [
    ("console", include_str!("../guest/command/console")),
    ("device", include_str!("../guest/command/device")),
    ("poweroff", include_str!("../guest/command/poweroff")),
    ("reboot", include_str!("../guest/command/reboot")),
    ("ticks", include_str!("../guest/command/ticks")),
    ("workload", include_str!("../guest/command/workload")),
];
/// Files in the archive that the workload `untar` unpacks; the script counts them.
const FILES: u32 = 1000;
const FILES_PER_FOLDER: u32 = 50;

/// A file by its name.
pub type Named = (String, Vec<u8>);

/// The packed ramdisk with the busybox at `busybox`, further programs, and kernel modules in the order in which they are to
/// be loaded.
pub fn build(busybox: &Path, programs: &[Named], modules: &[Named]) -> Result<Vec<u8>, Error> {
    pack(&archive(busybox, programs, modules)?.finish())
}

/// The same, not packed, for further files.
pub fn archive(busybox: &Path, programs: &[Named], modules: &[Named]) -> Result<Cpio, Error> {
    let program = std::fs::read(busybox).map_err(|error| Error::Read { path: busybox.to_path_buf(), error })?;
    let mut archive = Cpio::default();
    for folder in ["bin", "command", "dev", "etc", "etc/udhcpc", "proc", "root", "sys", "tmp"] {
        archive.folder(folder);
    }
    // The kernel opens the console before anything is mounted.
    archive.device("dev/console", 5, 1);
    archive.device("dev/null", 1, 3);
    archive.file("bin/busybox", 0o755, &program);
    for applet in applets(busybox)? {
        archive.link(&format!("bin/{applet}"), "busybox");
    }
    archive.file("init", 0o755, INIT.as_bytes());
    archive.file("etc/inittab", 0o644, INITTAB.as_bytes());
    let (path, script) = DHCP_SCRIPT;
    archive.file(path, 0o755, script.as_bytes());
    for (name, script) in COMMANDS {
        archive.file(&format!("command/{name}"), 0o755, script.as_bytes());
    }
    for (name, contents) in programs {
        archive.file(&format!("command/{name}"), 0o755, contents);
    }
    let files = small_files().map_err(|error| Error::Write { path: "command/files.tar".into(), error })?;
    archive.file("command/files.tar", 0o644, &files);
    if !modules.is_empty() {
        archive.folder("modules");
    }
    for (index, (name, contents)) in modules.iter().enumerate() {
        archive.file(&format!("modules/{index:02}-{name}"), 0o644, contents);
    }
    Ok(archive)
}

/// Names under which busybox can be called.
fn applets(busybox: &Path) -> Result<Vec<String>, Error> {
    let damaged = |flaw: String| Error::Damaged { path: busybox.to_path_buf(), flaw };
    let listed = Command::new(busybox).arg("--list").output().map_err(|error| damaged(error.to_string()))?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names: Vec<String> = text.lines().filter(|name| *name != "busybox").map(String::from).collect();
    if listed.status.success() && names.iter().any(|name| name == "sh") {
        Ok(names)
    } else {
        Err(damaged("it does not list its commands".into()))
    }
}

/// An archive of many small files of different sizes, up to 4 KiB.
fn small_files() -> Result<Vec<u8>, std::io::Error> {
    let mut tar = Archive::default();
    for index in 0..FILES {
        if index % FILES_PER_FOLDER == 0 {
            tar.folder(&format!("folder{}/", index / FILES_PER_FOLDER))?;
        }
        // The multiplier is odd and unrelated to 4096, so sizes spread over the whole range.
        let size = (index.wrapping_mul(2_654_435) % 4096) as usize;
        let line = format!("This is line after line of file number {index}.\n");
        let contents: Vec<u8> = line.bytes().cycle().take(size).collect();
        tar.file(&format!("folder{}/file{index}", index / FILES_PER_FOLDER), &contents)?;
    }
    tar.finish()
}

fn pack(archive: &[u8]) -> Result<Vec<u8>, Error> {
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packer
        .write_all(archive)
        .and_then(|()| packer.finish())
        .map_err(|error| Error::Write { path: "the ramdisk".into(), error })
}

#[cfg(test)]
mod tests {
    #[test]
    fn small_files_are_as_many_as_the_script_counts() {
        let tar = super::small_files().unwrap();
        let (_, workload) = super::COMMANDS.iter().find(|(name, _)| *name == "workload").unwrap();
        assert!(workload.contains(&format!("-eq {} ]", super::FILES)));
        assert!(crate::archive::tar::find(&tar, "folder19/file999").is_some());
        assert_eq!(tar, super::small_files().unwrap());
    }
}
