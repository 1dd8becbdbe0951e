//! Tar archives: finding a file in one, and writing one of plain files.

use std::io::{Error, Read};
use tar::{Builder, EntryType, Header};

/// Contents of the first plain file in `archive` whose name begins with `prefix`.
pub fn find(archive: &[u8], prefix: &str) -> Option<Vec<u8>> {
    for entry in tar::Archive::new(archive).entries().ok()? {
        let mut entry = entry.ok()?;
        if !entry.header().entry_type().is_file() || !entry.path_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents).ok()?;
        // A file that is cut off is no file.
        return (contents.len() as u64 == entry.size()).then_some(contents);
    }
    None
}

/// An archive of plain files in folders. Equal files give equal bytes: no times, everything belongs to root.
pub struct Archive {
    builder: Builder<Vec<u8>>,
}

impl Default for Archive {
    fn default() -> Self {
        Archive { builder: Builder::new(Vec::new()) }
    }
}

impl Archive {
    /// Adds a folder; its name ends in `/`.
    pub fn folder(&mut self, name: &str) -> Result<(), Error> {
        self.entry(name, EntryType::Directory, 0o755, &[])
    }

    /// Adds a file.
    pub fn file(&mut self, name: &str, contents: &[u8]) -> Result<(), Error> {
        self.entry(name, EntryType::Regular, 0o644, contents)
    }

    /// The finished archive.
    pub fn finish(self) -> Result<Vec<u8>, Error> {
        self.builder.into_inner()
    }

    fn entry(&mut self, name: &str, kind: EntryType, mode: u32, contents: &[u8]) -> Result<(), Error> {
        let mut header = Header::new_ustar();
        header.set_path(name)?;
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(contents.len() as u64);
        header.set_cksum();
        self.builder.append(&header, contents)
    }
}

#[cfg(test)]
mod tests {
    use super::{find, Archive};

    fn archive() -> Vec<u8> {
        let mut tar = Archive::default();
        tar.folder("boot/").unwrap();
        tar.file("boot/System.map", &[b'x'; 700]).unwrap();
        tar.file("boot/vmlinuz-6", b"kernel").unwrap();
        tar.finish().unwrap()
    }

    #[test]
    fn finds_a_file_by_its_beginning() {
        assert_eq!(find(&archive(), "boot/vmlinuz-").unwrap(), b"kernel");
        assert_eq!(find(&archive(), "etc/"), None);
    }

    #[test]
    fn a_cut_archive_holds_nothing_beyond_the_cut() {
        let archive = archive();
        for cut in 0..archive.len() - 1024 - 512 {
            assert_eq!(find(&archive[..cut], "boot/vmlinuz-"), None, "cut at {cut}");
        }
    }

    #[test]
    fn tar_reads_it() {
        let folder = testing::Folder::new("tar");
        let path = folder.write("a.tar", archive());
        let listed = std::process::Command::new("tar").arg("-tf").arg(&path).output().unwrap();
        assert!(listed.status.success());
        assert_eq!(String::from_utf8_lossy(&listed.stdout), "boot/\nboot/System.map\nboot/vmlinuz-6\n");
    }
}
