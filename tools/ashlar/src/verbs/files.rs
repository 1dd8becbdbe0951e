//! Files and folders that commands write.

use output::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of its own for one run of a command, removed with it. It lies where paths are short: a socket's may have 107
/// characters, which a project's folder may exceed.
pub struct OwnFolder(PathBuf);

impl OwnFolder {
    pub fn new(verb: &str) -> Result<OwnFolder, Failure> {
        let path = std::env::temp_dir().join(format!("ashlar-{verb}-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| unwritable(&path, &error))?;
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
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| unwritable(path, &error))
}

pub fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::unable(format!("{} cannot be written: {error}", path.display()), "check permissions and free space")
}

/// Refuses a path at which no file can be written, before anything is built.
pub fn can_hold_a_file(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let shown = path.display();
    if path.is_dir() {
        return Err(Failure::unable(format!("{shown} is a directory"), format!("name a file, such as {shown}/NAME")));
    }
    if !folder.is_dir() {
        let message = format!("{shown} cannot be written: there is no directory {}", folder.display());
        return Err(Failure::unable(message, format!("make it with: mkdir -p {}", folder.display())));
    }
    Ok(())
}
