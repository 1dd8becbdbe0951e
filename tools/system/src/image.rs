//! The system image: boot table and payload in one file, the kernel's only module.

use crate::resolve::Resolution;
use crate::table::{self, crc32::crc32};
use crate::verify::{verify, Damage};
use std::path::{Path, PathBuf};

/// Why an image was not written.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("{path} cannot be written: {error}")]
    Write { path: PathBuf, error: std::io::Error },
    /// The image fails the kernel's own checks: a fault of this crate, found before it is booted.
    #[error("the image would be refused at boot: {}", first(.0))]
    Refused(Vec<Damage>),
}

fn first(damages: &[Damage]) -> String {
    damages.first().map_or_else(String::new, Damage::to_string)
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

/// Writes the system image to `path`, after the checks that start-up will make too.
pub fn write_image(resolution: &Resolution, path: &Path) -> Result<(), ImageError> {
    let image = resolution.image();
    verify(&image).map_err(ImageError::Refused)?;
    std::fs::write(path, image).map_err(|error| ImageError::Write { path: path.to_path_buf(), error })
}
