use crate::Failure;
use std::path::{Path, PathBuf};

/// A folder of its own for one run of a command, removed with it. It lies where paths are short: a socket's may have 107
/// characters, which a project's folder may exceed.
pub struct OwnFolder(PathBuf);

impl OwnFolder {
    pub fn new(verb: &str) -> Result<OwnFolder, Failure> {
        let path = std::env::temp_dir().join(format!("ashlar-{verb}-{}", std::process::id()));
        let unwritable = |error| {
            let message = format!("{} cannot be written: {error}", path.display());
            Failure::unable(message, "check permissions and free space")
        };
        std::fs::create_dir(&path).map_err(unwritable)?;
        Ok(OwnFolder(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // Nothing depends on it any more: what cannot be removed may stay.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
