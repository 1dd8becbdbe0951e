//! Files and folders that commands write.

use output::Failure;
use std::fs;
use std::path::Path;

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
