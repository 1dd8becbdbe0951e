//! Tar archives: finding a file in one, and writing one of plain files.

const BLOCK: usize = 512;

/// Contents of the first plain file in `archive` whose name begins with `prefix`.
pub fn find(archive: &[u8], prefix: &str) -> Option<Vec<u8>> {
    let mut rest = archive;
    while rest.len() >= BLOCK {
        let (header, body) = rest.split_at(BLOCK);
        let size = octal(&header[124..136])?;
        let name = header[..100].split(|&byte| byte == 0).next().unwrap_or_default();
        if matches!(header[156], b'0' | 0) && name.starts_with(prefix.as_bytes()) {
            return body.get(..size).map(<[u8]>::to_vec);
        }
        if name.is_empty() {
            return None;
        }
        rest = body.get(size.next_multiple_of(BLOCK)..)?;
    }
    None
}

fn octal(field: &[u8]) -> Option<usize> {
    let digits = field.split(|&byte| byte == 0 || byte == b' ').find(|part| !part.is_empty()).unwrap_or(b"0");
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// An archive of plain files in folders. Equal files give equal bytes.
#[derive(Debug, Default)]
pub struct Tar {
    bytes: Vec<u8>,
}

impl Tar {
    /// Adds a folder; its name ends in `/`.
    pub fn folder(&mut self, name: &str) {
        self.header(name, 0o755, b'5', 0);
    }

    /// Adds a file.
    pub fn file(&mut self, name: &str, contents: &[u8]) {
        self.header(name, 0o644, b'0', contents.len());
        self.bytes.extend_from_slice(contents);
        self.bytes.resize(self.bytes.len().next_multiple_of(BLOCK), 0);
    }

    /// The finished archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 2 * BLOCK, 0);
        self.bytes
    }

    fn header(&mut self, name: &str, mode: u32, kind: u8, size: usize) {
        let mut header = [0; BLOCK];
        let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
        put(0, name);
        put(100, &format!("{mode:07o}"));
        put(108, "0000000");
        put(116, "0000000");
        put(124, &format!("{size:011o}"));
        put(136, "00000000000");
        put(257, "ustar");
        put(263, "00");
        header[156] = kind;
        // The checksum is taken with its own field blank.
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.bytes.extend_from_slice(&header);
    }
}

#[cfg(test)]
mod tests {
    use super::{find, Tar};

    fn archive() -> Vec<u8> {
        let mut tar = Tar::default();
        tar.folder("./boot/");
        tar.file("./boot/System.map", &[b'x'; 700]);
        tar.file("./boot/vmlinuz-6", b"kernel");
        tar.finish()
    }

    #[test]
    fn finds_a_file_by_its_beginning() {
        assert_eq!(find(&archive(), "./boot/vmlinuz-").unwrap(), b"kernel");
        assert_eq!(find(&archive(), "./etc/"), None);
    }

    #[test]
    fn a_cut_archive_holds_nothing_beyond_the_cut() {
        let archive = archive();
        for cut in 0..archive.len() - 1024 - 512 {
            assert_eq!(find(&archive[..cut], "./boot/vmlinuz-"), None, "cut at {cut}");
        }
    }

    #[test]
    fn tar_reads_it() {
        let folder = std::env::temp_dir().join(format!("ashlar-tar-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.tar");
        std::fs::write(&path, archive()).unwrap();
        let listed = std::process::Command::new("tar").arg("-tf").arg(&path).output().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(listed.status.success());
        assert_eq!(String::from_utf8_lossy(&listed.stdout), "./boot/\n./boot/System.map\n./boot/vmlinuz-6\n");
    }
}
