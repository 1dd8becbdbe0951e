//! A Debian guest with drivers for the devices that Ashlar's own drivers are compared on.
//!
//! Debian's kernel for virtual machines has none of them, so this is the one for PCs. Made when it is first needed.

use crate::deb::{self, Package};
use crate::guest::{check_kernel, read};
use crate::measure;
use crate::ramdisk::{self, Named};
use crate::{fetch_guest, Error, Guest};
use std::path::{Path, PathBuf};

const METAPACKAGE: &str = "linux-image-amd64";
const KERNEL_PACKAGE: &str = "linux-image-6.";
/// In an order in which they can be loaded.
pub(crate) const MODULES: [&str; 15] = [
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
    let place = folder.join("devices");
    let (plain, kernel) = fetch(folder, &place, &MODULES, say)?;
    let packed = place.join("initramfs.gz");
    pack(&plain, &place, Vec::new(), &packed)?;
    Ok((kernel, packed))
}

/// The same with one more module, at `module`, which is not loaded when the guest starts: its command `device module` does.
pub fn add_module(folder: &Path, module: &Path, say: &mut dyn FnMut(&str)) -> Result<(PathBuf, PathBuf), Error> {
    let place = folder.join("devices");
    let (plain, kernel) = fetch(folder, &place, &MODULES, say)?;
    let packed = place.join("initramfs-module.gz");
    let name = module.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    pack(&plain, &place, vec![(name, read(module)?)], &packed)?;
    Ok((kernel, packed))
}

/// The release of the kernel at `path`, such as `6.1.0-1-amd64`, as the Linux boot protocol has it.
pub fn kernel_release(path: &Path) -> Result<String, Error> {
    let bytes = read(path)?;
    let place = usize::from(u16::from_le_bytes([bytes[0x20e], bytes[0x20f]])) + 0x200;
    let text = bytes.get(place..).unwrap_or_default().split(|byte| *byte == b' ').next().unwrap_or_default();
    match std::str::from_utf8(text) {
        Ok(text) if !text.is_empty() => Ok(text.to_string()),
        _ => Err(Error::Damaged { path: path.to_path_buf(), flaw: "its header names no release".into() }),
    }
}

/// Fetches the kernel and `modules` of it to `place` unless they are there. Gives the plain guest and the kernel's path.
pub(crate) fn fetch(
    folder: &Path,
    place: &Path,
    modules: &[&str],
    say: &mut dyn FnMut(&str),
) -> Result<(Guest, PathBuf), Error> {
    let plain = fetch_guest(folder, say)?;
    let kernel = place.join("vmlinuz");
    std::fs::create_dir_all(place).map_err(|error| Error::Write { path: place.to_path_buf(), error })?;
    if !kernel.exists() || modules.iter().any(|name| !place.join(name).exists()) {
        let package = Package::find_dependency(METAPACKAGE, KERNEL_PACKAGE)?;
        say(&format!("fetching {} {}", package.name, package.version));
        let deb = package.download(place)?;
        let image = "./boot/vmlinuz-*".to_string();
        let patterns: Vec<String> = modules.iter().map(|name| format!("*/{name}")).chain([image]).collect();
        deb::unpack(&deb, &patterns, place)?;
        rename_kernel(place, &kernel)?;
    }
    check_kernel(&kernel)?;
    Ok((plain, kernel))
}

/// Writes the ramdisk, with `further` programs or modules among its commands.
fn pack(plain: &Guest, place: &Path, further: Vec<Named>, to: &Path) -> Result<(), Error> {
    let modules = named(place, &MODULES)?;
    let mut programs = vec![measure::program(place)?];
    programs.extend(further);
    let bytes = ramdisk::build(&plain.busybox, &programs, &modules)?;
    std::fs::write(to, bytes).map_err(|error| Error::Write { path: to.to_path_buf(), error })
}

/// These files of `place`.
pub(crate) fn named(place: &Path, names: &[&str]) -> Result<Vec<Named>, Error> {
    names.iter().map(|name| Ok((name.to_string(), read(&place.join(name))?))).collect()
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
