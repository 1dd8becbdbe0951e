//! Reading a file that a person names: at once, or with the reason why not. Never waits, never fills the memory.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// More than any description, table or list has.
pub const MOST_TEXT: u64 = 1 << 20;

/// More than any program or report has.
pub const MOST_DATA: u64 = 1 << 28;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("it is {0}, not a file")]
    Kind(&'static str),
    #[error("it is larger than {} KiB", .0 / 1024)]
    TooLarge(u64),
    #[error("it is not UTF-8 text")]
    Encoding,
    #[error("{}", reason(.0))]
    Io(#[from] std::io::Error),
}

impl InputError {
    /// Whether there is nothing at this path.
    pub fn is_missing(&self) -> bool {
        matches!(self, InputError::Io(error) if error.kind() == std::io::ErrorKind::NotFound)
    }

    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            InputError::Kind(_) => "name a file",
            InputError::TooLarge(_) => "name another file; this one is too large to be meant",
            InputError::Encoding => "save it as UTF-8, or name another file",
            InputError::Io(_) => "check the name, the folder and the permissions",
        }
    }
}

/// The error without the number that the standard library adds.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// The text of the file at `path`.
pub fn text(path: &Path) -> Result<String, InputError> {
    String::from_utf8(bytes(path, MOST_TEXT)?).map_err(|_| InputError::Encoding)
}

/// The content of the file at `path`, of at most `most` bytes.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, InputError> {
    // Before opening: to open a FIFO waits for its writer.
    regular(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    regular(&file.metadata()?)?;
    let mut bytes = Vec::new();
    // Files of /proc have no size, so the limit is held against what is read.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(InputError::TooLarge(most));
    }
    Ok(bytes)
}

fn regular(metadata: &Metadata) -> Result<(), InputError> {
    let kind = metadata.file_type();
    let other = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(InputError::Kind(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_file_is_refused_at_once() {
        let folder = testing::Folder::new("text");
        let fifo = folder.join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let large = folder.join("large");
        File::create(&large).unwrap().set_len(MOST_TEXT + 1).unwrap();
        let bytes = folder.write("bytes", [0xff, 0xfe]);
        let good = folder.write("good", "a = 1");
        let message = |path: &Path| text(path).unwrap_err().to_string();
        assert_eq!(message(Path::new("/dev/zero")), "it is a device, not a file");
        assert_eq!(message(&folder), "it is a directory, not a file");
        assert_eq!(message(&fifo), "it is a FIFO, not a file");
        assert_eq!(message(&large), "it is larger than 1024 KiB");
        assert_eq!(message(&bytes), "it is not UTF-8 text");
        assert_eq!(message(&folder.join("none")), "no such file or directory");
        assert_eq!(text(&good).unwrap(), "a = 1");
    }
}
