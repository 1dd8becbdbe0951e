//! A copy of the compiled proofs in which one file may be changed: the changed file and its dependents are compiled anew, all
//! others are links to the real compiled files.

use crate::coq::compile::{compiled, make_folder, Copy};
use crate::error::Error;
use std::path::Path;

pub struct Links {
    real: Copy,
    /// The folder itself.
    pub copy: Copy,
}

impl Links {
    /// Makes the folder anew; every file of `real` must be compiled.
    pub fn make(real: &Copy, folder: &Path) -> Result<Links, Error> {
        if folder.exists() {
            std::fs::remove_dir_all(folder).map_err(|error| Error::unwritable(folder, error))?;
        }
        let links = Links { real: real.clone(), copy: Copy { folder: folder.to_path_buf(), ..real.clone() } };
        links.restore(&real.files)?;
        Ok(links)
    }

    /// Gives `file` another text. What must be compiled then: the file, and what depends on it, in this order.
    pub fn replace(&self, file: &str, text: &str) -> Result<Vec<String>, Error> {
        let mut changed = vec![file.to_string()];
        changed.extend(self.copy.dependents(file));
        for one in &changed {
            let link = self.copy.folder.join(compiled(one));
            std::fs::remove_file(&link).map_err(|error| Error::unwritable(&link, error))?;
        }
        let path = self.copy.folder.join(file);
        std::fs::write(&path, text).map_err(|error| Error::unwritable(&path, error))?;
        Ok(changed)
    }

    /// Puts the real sources, and links to what they compile to, in the place of `files`.
    pub fn restore(&self, files: &[String]) -> Result<(), Error> {
        for file in files {
            let (source, target) = (self.real.folder.join(file), self.copy.folder.join(file));
            make_folder(target.parent().unwrap_or(&self.copy.folder))?;
            std::fs::copy(&source, &target).map_err(|error| Error::unwritable(&target, error))?;
            let link = self.copy.folder.join(compiled(file));
            if link.symlink_metadata().is_ok() {
                std::fs::remove_file(&link).map_err(|error| Error::unwritable(&link, error))?;
            }
            std::os::unix::fs::symlink(self.real.folder.join(compiled(file)), &link)
                .map_err(|error| Error::unwritable(&link, error))?;
        }
        Ok(())
    }
}
