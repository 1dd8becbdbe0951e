//! The program with which guests measure their devices, and a ramdisk of the default guest that has it.

use crate::guest::{build_ramdisk, fetch_guest, read, write};
use crate::ramdisk::Named;
use crate::{deb, Error};
use std::path::{Path, PathBuf};

const HEADER: (&str, &str) = ("measure.h", include_str!("../guest/measure/measure.h"));
const SOURCES: [(&str, &str); 3] = [
    ("main.c", include_str!("../guest/measure/main.c")),
    ("stream.c", include_str!("../guest/measure/stream.c")),
    ("disk.c", include_str!("../guest/measure/disk.c")),
];
const OPTIONS: [&str; 7] = ["-std=gnu11", "-O2", "-static", "-Wall", "-Wextra", "-o", "measure"];

/// Compiles the program in a folder of `place`, as one file, since guests have no libraries.
pub(crate) fn program(place: &Path) -> Result<Named, Error> {
    let folder = place.join("measure");
    std::fs::create_dir_all(&folder).map_err(|error| Error::Write { path: folder.clone(), error })?;
    for (name, text) in SOURCES.iter().chain([&HEADER]) {
        write(&folder.join(name), text.as_bytes())?;
    }
    let arguments: Vec<&str> = OPTIONS.into_iter().chain(SOURCES.map(|(name, _)| name)).collect();
    deb::run("gcc", &arguments, Some(&folder))?;
    Ok(("measure".to_string(), read(&folder.join("measure"))?))
}

/// Makes the ramdisk in `folder`, which has, or gets, the files of the default guest.
pub fn measuring_ramdisk(folder: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    let guest = fetch_guest(folder, say)?;
    let path = measuring_ramdisk_at(folder);
    write(&path, &build_ramdisk(folder, &guest, vec![program(folder)?])?)?;
    Ok(path)
}

/// Where [`measuring_ramdisk`] is, or will be.
pub fn measuring_ramdisk_at(folder: &Path) -> PathBuf {
    folder.join("initramfs-measure.gz")
}
