//! The files of the default guest and the disks of guests, by the names that descriptions use.

use super::packages;
use output::{Failure, Output};
use project::Project;
use std::collections::BTreeMap;
use std::path::PathBuf;
use system::System;

/// A guest's kernel: Debian's for virtual machines.
pub const KERNEL: &str = "debian-cloud";
/// A guest's initial ramdisk: Debian's busybox and the scripts of `tools/image/guest`.
pub const RAMDISK: &str = "busybox";
/// The same with the program that measures devices, for benchmarks.
const MEASURING_RAMDISK: &str = "busybox-measure";
/// A guest's firmware: Debian's SeaBIOS for QEMU's machine `microvm`.
const FIRMWARE: &str = "seabios";
/// A guest's kernel that is not Linux: Debian's memtest86+.
const MEMORY_TESTER: &str = "memtest86+";
/// What a guest's disk holds: Debian, installed.
const DEBIAN: &str = "debian";
/// Or GRUB alone.
const GRUB: &str = "grub";

/// Where the named guest files are once fetched.
pub fn files(project: &Project) -> BTreeMap<String, PathBuf> {
    let folder = project.guest();
    let guest = image::Guest::at(&folder);
    let measuring = image::measuring_ramdisk_at(&folder);
    [
        (KERNEL, guest.kernel),
        (RAMDISK, guest.ramdisk),
        (FIRMWARE, guest.firmware),
        (MEASURING_RAMDISK, measuring),
        (MEMORY_TESTER, image::memory_tester_at(&folder)),
    ]
    .map(|(name, path)| (name.to_string(), path))
    .into()
}

/// Where the named disk images are once made.
pub fn disk_images(project: &Project) -> BTreeMap<String, PathBuf> {
    let folder = project.guest();
    [(DEBIAN, image::debian_disk_at(&folder)), (GRUB, image::grub_disk_at(&folder))]
        .map(|(name, path)| (name.to_string(), path))
        .into()
}

/// Fetches the guest files if they are not there, and checks them if they are.
pub fn fetch(project: &Project, output: &Output) -> Result<image::Guest, Failure> {
    image::fetch_guest(&project.guest(), &mut |text| output.detail(text)).map_err(unable)
}

/// Fetches the files that the system names, and makes its guests' disk images.
pub fn prepare(system: &System, project: &Project, output: &Output) -> Result<(), Failure> {
    if system.files.iter().any(|name| name != MEMORY_TESTER) {
        fetch(project, output)?;
    }
    if system.files.iter().any(|name| name == MEMORY_TESTER) {
        image::memory_tester(&project.guest(), &mut |text| output.detail(text)).map_err(unable)?;
    }
    if system.files.iter().any(|name| name == MEASURING_RAMDISK) {
        image::measuring_ramdisk(&project.guest(), &mut |text| output.detail(text)).map_err(unable)?;
    }
    let folder = project.guest();
    for image in &system.disk_images {
        let made = match image.name.as_str() {
            DEBIAN => {
                packages::need(&image::DEBIAN_NEEDS.map(String::from), output)?;
                image::debian_disk(&folder, &mut |text| output.note(text))
            }
            GRUB => image::grub_disk(&folder, &mut |text| output.detail(text)),
            _ => continue,
        };
        made.map_err(unable)?;
    }
    Ok(())
}

fn unable(error: image::Error) -> Failure {
    Failure::unable(error.to_string(), error.remedy())
}
