//! Writing cpio archives of the `newc` kind, which Linux unpacks as its initial ramdisk.
//!
//! Equal entries give equal bytes: numbers of files count up, times are zero, everything belongs to root.

/// An archive in the making. Folders must be added before what is in them.
#[derive(Debug, Default)]
pub struct Cpio {
    bytes: Vec<u8>,
    entries: u32,
}

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_777;
const CHARACTER_DEVICE: u32 = 0o020_600;

impl Cpio {
    /// Adds a folder. Names are without a leading `/`.
    pub fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER, (0, 0), &[]);
    }

    /// Adds a file with these permission bits.
    pub fn file(&mut self, name: &str, permissions: u32, contents: &[u8]) {
        self.entry(name, FILE | permissions, (0, 0), contents);
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, name: &str, target: &str) {
        self.entry(name, LINK, (0, 0), target.as_bytes());
    }

    /// Adds a character device.
    pub fn device(&mut self, name: &str, major: u32, minor: u32) {
        self.entry(name, CHARACTER_DEVICE, (major, minor), &[]);
    }

    /// The finished archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.header("TRAILER!!!", 0, (0, 0), 0);
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), contents: &[u8]) {
        self.entries += 1;
        self.header(name, mode, device, contents.len() as u32);
        self.bytes.extend_from_slice(contents);
        self.align();
    }

    /// The 110 bytes of header, each field eight hexadecimal digits, then the name.
    fn header(&mut self, name: &str, mode: u32, device: (u32, u32), size: u32) {
        let inode = if mode == 0 { 0 } else { self.entries };
        let links = if mode == FOLDER { 2 } else { 1 };
        let name_size = name.len() as u32 + 1;
        let (uid, gid, time, own_major, own_minor, check) = (0, 0, 0, 0, 0, 0);
        self.bytes.extend_from_slice(b"070701");
        let fields =
            [inode, mode, uid, gid, links, time, size, own_major, own_minor, device.0, device.1, name_size, check];
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::Cpio;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn cpio_lists_what_was_written() {
        let mut archive = Cpio::default();
        archive.folder("dev");
        archive.device("dev/console", 5, 1);
        archive.file("init", 0o755, b"#!/bin/sh\n");
        archive.link("bin", "usr/bin");
        let bytes = archive.finish();
        let Ok(mut cpio) =
            Command::new("cpio").args(["-itv", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
        else {
            panic!("the package cpio is missing");
        };
        cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
        let listed = String::from_utf8(cpio.wait_with_output().unwrap().stdout).unwrap();
        let lines: Vec<&str> = listed.lines().collect();
        assert_eq!(lines.len(), 4, "{listed}");
        assert!(lines[0].starts_with("drwxr-xr-x") && lines[0].ends_with(" dev"), "{listed}");
        assert!(lines[1].starts_with("crw-------") && lines[1].contains("5,   1"), "{listed}");
        assert!(lines[2].starts_with("-rwxr-xr-x") && lines[2].contains(" 10 "), "{listed}");
        assert!(lines[3].ends_with("bin -> usr/bin"), "{listed}");
    }
}
