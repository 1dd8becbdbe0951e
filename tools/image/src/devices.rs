//! A Debian guest with drivers for the devices that Ashlar's own drivers are compared on.
//!
//! Debian's kernel for virtual machines has none of them, so this is the one for PCs. Made when it is first needed.

use crate::deb::{self, Package};
use crate::guest::check_kernel;
use crate::{fetch_guest, ramdisk, Error, Guest};
use std::path::{Path, PathBuf};

const METAPACKAGE: &str = "linux-image-amd64";
const KERNEL_PACKAGE: &str = "linux-image-6.";
/// The program with which the guest measures.
const MEASURE: &str = include_str!("../guest/measure.c");
/// In an order in which they can be loaded.
const MODULES: [&str; 15] = [
    "crct10dif_common.ko",
    "crct10dif_generic.ko",
    "crc-t10dif.ko",
    "crc64.ko",
    "crc64_rocksoft_generic.ko",
    "crc64-rocksoft.ko",
    "t10-pi.ko",
    "scsi_common.ko",
    "scsi_mod.ko",
    "libata.ko",
    "libahci.ko",
    "ahci.ko",
    "sd_mod.ko",
    "mii.ko",
    "8139cp.ko",
];

/// Makes the guest's kernel and ramdisk in the folder `devices` of `folder`, which has, or gets, the files of the plain
/// guest. Gives the paths of both. `say` is called at each step.
pub fn fetch_device_guest(folder: &Path, say: &mut dyn FnMut(&str)) -> Result<(PathBuf, PathBuf), Error> {
    let plain: Guest = fetch_guest(folder, say)?;
    let place = folder.join("devices");
    let (kernel, packed) = (place.join("vmlinuz"), place.join("initramfs.gz"));
    std::fs::create_dir_all(&place).map_err(|error| Error::Write { path: place.clone(), error })?;
    let modules: Vec<PathBuf> = MODULES.iter().map(|name| place.join(name)).collect();
    if !kernel.exists() || modules.iter().any(|path| !path.exists()) {
        let package = Package::find_dependency(METAPACKAGE, KERNEL_PACKAGE)?;
        say(&format!("fetching {} {}", package.name, package.version));
        let deb = package.download(&place)?;
        let image = "./boot/vmlinuz-*".to_string();
        let patterns: Vec<String> = MODULES.iter().map(|name| format!("*/{name}")).chain([image]).collect();
        deb::unpack(&deb, &patterns, &place)?;
        rename_kernel(&place, &kernel)?;
    }
    check_kernel(&kernel)?;
    let read = |path: &PathBuf| std::fs::read(path).map_err(|error| Error::Read { path: path.clone(), error });
    let contents = modules.iter().zip(MODULES).map(|(path, name)| Ok((name.to_string(), read(path)?)));
    let programs = [("measure".to_string(), read(&compile_measure(&place)?)?)];
    let bytes = ramdisk::build(&plain.busybox, &programs, &contents.collect::<Result<Vec<_>, Error>>()?)?;
    std::fs::write(&packed, bytes).map_err(|error| Error::Write { path: packed.clone(), error })?;
    Ok((kernel, packed))
}

/// Compiles the measuring program in `place`, as one file, since the guest has no libraries.
fn compile_measure(place: &Path) -> Result<PathBuf, Error> {
    let (source, program) = (place.join("measure.c"), place.join("measure"));
    std::fs::write(&source, MEASURE).map_err(|error| Error::Write { path: source.clone(), error })?;
    deb::run("gcc", &["-std=gnu11", "-O2", "-static", "-Wall", "-Wextra", "-o", "measure", "measure.c"], Some(place))?;
    Ok(program)
}

/// The package's kernel has its version in its name.
fn rename_kernel(place: &Path, to: &Path) -> Result<(), Error> {
    let unreadable = |error| Error::Read { path: place.to_path_buf(), error };
    for entry in std::fs::read_dir(place).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-")) {
            return std::fs::rename(&path, to).map_err(|error| Error::Write { path: to.to_path_buf(), error });
        }
    }
    Err(Error::Incomplete { package: KERNEL_PACKAGE.into(), member: "./boot/vmlinuz-" })
}
