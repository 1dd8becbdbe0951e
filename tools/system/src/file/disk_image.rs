//! Images that guests' disks hold at first. They may be large, so no more of them is read than their first sector.

use crate::codes::Code;
use crate::description::{Description, Machine, Name, Process};
use crate::load::beside;
use crate::Assets;
use diagnostics::units::show_size;
use diagnostics::{suggest, Diagnostic, Report};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

const SECTOR: u64 = 512;
/// The last bytes of a first sector that a BIOS starts.
const MARK: [u8; 2] = [0x55, 0xaa];

/// An image, and where in the machine's disk it is to lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskImage {
    /// As the description names it.
    pub name: String,
    pub path: PathBuf,
    pub at: u64,
}

/// The images of all guests.
pub fn all(description: &Description, assets: &Assets) -> Vec<DiskImage> {
    let image = |process: &Process| {
        let name = process.vm.as_ref()?.disk_image.as_ref()?;
        let path = path_of(description, assets, name)?;
        Some(DiskImage { name: name.value.clone(), path, at: process.disk_at.as_ref().map_or(0, |at| at.value) })
    };
    description.processes.iter().filter_map(image).collect()
}

fn path_of(description: &Description, assets: &Assets, name: &Name) -> Option<PathBuf> {
    if name.value.contains('/') {
        return Some(beside(&description.source.path, &name.value));
    }
    assets.disk_images.get(&name.value).cloned()
}

/// Images exist, are disks, and fit into their guests'. Those that the tool makes may be missing still.
pub fn check(description: &Description, machine: Option<&Machine>, assets: &Assets, report: &mut Report) {
    for process in &description.processes {
        let Some(name) = process.vm.as_ref().and_then(|vm| vm.disk_image.as_ref()) else { continue };
        let mut fault = |code, message, remedy: String, label: &str| {
            report.push(Diagnostic::new(code, message, remedy).at(&description.source, &name.span, label));
        };
        if !process.has("disk") {
            let message =
                format!("virtual machine `{}` has no disk that could hold `{}`", process.name.value, name.value);
            fault(Code::DiskImage, message, "add `disk`, the process that drives it".into(), "for which disk?");
        }
        let Some(path) = path_of(description, assets, name) else {
            let known: Vec<&str> = assets.disk_images.keys().map(String::as_str).collect();
            let message = format!("there is no disk image named `{}`", name.value);
            let remedy = format!("{}; a path has a `/` in it", suggest::remedy(&name.value, "disk image", &known));
            fault(Code::UnknownName, message, remedy, "no such image");
            continue;
        };
        let (length, first) = match head(&path) {
            Ok(head) => head,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !name.value.contains('/') => continue,
            Err(error) => {
                let message = format!("{} cannot be read: {error}", path.display());
                let remedy = "correct the path (relative to this description), or put the file there";
                fault(Code::MissingFile, message, remedy.into(), "named here");
                continue;
            }
        };
        let starts = process.vm.as_ref().is_some_and(|vm| vm.firmware.is_some());
        if length == 0 || length % SECTOR != 0 {
            let message = format!("{}: {length} bytes are not whole sectors of {SECTOR}", path.display());
            fault(Code::DiskImage, message, "make the image again, or cut or extend it".into(), "not a disk");
        } else if starts && !first.ends_with(&MARK) {
            let message =
                format!("{}: the first sector lacks the mark 0xAA55 of one that a BIOS starts", path.display());
            fault(
                Code::DiskImage,
                message,
                "name the image of a whole disk, with a boot loader".into(),
                "starts nothing",
            );
        }
        let machine_has = machine.and_then(|machine| machine.emulator.as_ref()).and_then(|emulator| emulator.disk);
        let has = process.disk_size.as_ref().map(|size| size.value).or(machine_has);
        if let Some(has) = has.filter(|has| length > *has) {
            let (length, has) = (show_size(length), show_size(has));
            let message =
                format!("{} has {length}, but the disk of `{}` has {has}", path.display(), process.name.value);
            let remedy = "name a smaller image, or give a larger `disk_size` or machine".to_string();
            fault(Code::DiskImage, message, remedy, "does not fit");
        }
    }
}

/// The length of a file, and its first sector.
fn head(path: &Path) -> std::io::Result<(u64, Vec<u8>)> {
    let mut first = Vec::new();
    let file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    file.take(SECTOR).read_to_end(&mut first)?;
    Ok((about.len(), first))
}
