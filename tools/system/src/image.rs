//! The system image: boot table and payload in one file, the kernel's only module.

use crate::resolve::Resolution;
use crate::table;
use crc32fast::hash as crc32;
use std::path::{Path, PathBuf};

/// Why an image was not written.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("{path} cannot be written: {error}")]
    Write { path: PathBuf, error: std::io::Error },
}

impl Resolution {
    /// The bytes of the system image.
    pub fn image(&self) -> Vec<u8> {
        let mut image = table::write(&self.resolved, crc32(&self.payload));
        image.resize(self.resolved.image.payload_offset as usize, 0);
        image.extend_from_slice(&self.payload);
        image
    }
}

/// Writes the system image to `path`.
pub fn write_image(resolution: &Resolution, path: &Path) -> Result<(), ImageError> {
    std::fs::write(path, resolution.image()).map_err(|error| ImageError::Write { path: path.to_path_buf(), error })
}
