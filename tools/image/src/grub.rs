//! Disks that a BIOS starts: GRUB in the gap between a partition table and the first partition.
//!
//! GRUB's first sector loads what follows it, from sector 1 on, unless it is told otherwise; so neither it nor its core image has to
//! be changed to be put there.

use crate::deb::run;
use crate::Error;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const SECTOR: u64 = 512;
/// Where the first partition begins.
pub const PARTITION: u64 = 1 << 20;
const MODULES: &str = "/usr/lib/grub/i386-pc";
/// Bytes of code in GRUB's first sector; behind it are a disk's signature and the partition table.
const CODE: usize = 440;
const TABLE: usize = 446;
const MARK: usize = 510;
const ACTIVE: u8 = 0x80;
const LINUX: u8 = 0x83;
/// A cylinder, head and sector for those that lie beyond what these can say.
const BEYOND: [u8; 3] = [0xfe, 0xff, 0xff];

/// A GRUB that has all that it needs in itself, for a look at a guest's firmware and for tests.
const MENU: &str = "\
set timeout=-1
menuentry 'Start again' {
    reboot
}
menuentry 'Power off' {
    halt
}
";
const ALONE: [&str; 13] = [
    "biosdisk",
    "memdisk",
    "tar",
    "part_msdos",
    "normal",
    "echo",
    "test",
    "ls",
    "hexdump",
    "iorw",
    "memrw",
    "reboot",
    "halt",
];

/// Puts GRUB into the disk at `disk`, with a partition from [`PARTITION`] to its end; `core` is its core image.
pub fn install(disk: &Path, core: &[u8]) -> Result<(), Error> {
    let boot = Path::new(MODULES).join("boot.img");
    let first = std::fs::read(&boot).map_err(|error| Error::Read { path: boot.clone(), error })?;
    let unwritable = |error| Error::Write { path: disk.to_path_buf(), error };
    let mut file = OpenOptions::new().write(true).open(disk).map_err(unwritable)?;
    let length = file.metadata().map_err(unwritable)?.len();
    let damaged = |path: &Path, flaw: &str| Err(Error::Damaged { path: path.to_path_buf(), flaw: flaw.to_string() });
    if first.len() as u64 != SECTOR {
        return damaged(&boot, "it is not one sector");
    }
    if length <= PARTITION || SECTOR + core.len() as u64 > PARTITION {
        return damaged(disk, "GRUB does not fit before its first partition");
    }
    let sector = first_sector(&first, length);
    let written = file.write_all(&sector).and_then(|()| file.write_all(core)).and_then(|()| file.sync_all());
    written.map_err(unwritable)
}

/// GRUB's code, and a table of one partition.
fn first_sector(boot: &[u8], length: u64) -> Vec<u8> {
    let mut sector = vec![0; SECTOR as usize];
    sector[..CODE].copy_from_slice(&boot[..CODE]);
    let numbers = [PARTITION / SECTOR, (length - PARTITION) / SECTOR].map(|number| (number as u32).to_le_bytes());
    let entry = [&[ACTIVE], &BEYOND[..], &[LINUX], &BEYOND, &numbers[0], &numbers[1]].concat();
    sector[TABLE..TABLE + entry.len()].copy_from_slice(&entry);
    sector[MARK..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

/// A core image with `modules`, whose further ones and whose menu are in `prefix`; `memdisk` is an archive in it.
pub fn core_image(folder: &Path, prefix: &str, modules: &[&str], memdisk: Option<&str>) -> Result<Vec<u8>, Error> {
    const NAME: &str = "core.img";
    let mut arguments = vec!["-O", "i386-pc", "-d", MODULES, "-p", prefix, "-o", NAME];
    if let Some(archive) = memdisk {
        arguments.extend(["-m", archive]);
    }
    arguments.extend(modules);
    run("grub-mkimage", &arguments, Some(folder))?;
    let path = folder.join(NAME);
    let core = std::fs::read(&path).map_err(|error| Error::Read { path: path.clone(), error })?;
    std::fs::remove_file(&path).map_err(|error| Error::Write { path, error })?;
    Ok(core)
}

/// Makes the disk with GRUB alone, `grub.img` in `folder`, unless it is there.
pub fn grub_disk(folder: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    let path = grub_disk_at(folder);
    if path.exists() {
        return Ok(path);
    }
    say("making a disk with GRUB");
    let work = folder.join(format!("grub.{}", std::process::id()));
    let made = make(&work, &path);
    // What is left of the work is of no use to anybody.
    let _ = std::fs::remove_dir_all(&work);
    made.map(|()| path)
}

/// Where [`grub_disk`] is, or will be.
pub fn grub_disk_at(folder: &Path) -> PathBuf {
    folder.join("grub.img")
}

fn make(work: &Path, to: &Path) -> Result<(), Error> {
    let menu = work.join("boot/grub/grub.cfg");
    let folder = menu.parent().unwrap_or(work);
    std::fs::create_dir_all(folder).map_err(|error| Error::Write { path: folder.to_path_buf(), error })?;
    std::fs::write(&menu, MENU).map_err(|error| Error::Write { path: menu.clone(), error })?;
    run("tar", &["-c", "-f", "menu.tar", "boot"], Some(work))?;
    let core = core_image(work, "(memdisk)/boot/grub", &ALONE, Some("menu.tar"))?;
    let disk = work.join("disk.img");
    empty(&disk, 2 * PARTITION)?;
    install(&disk, &core)?;
    std::fs::rename(&disk, to).map_err(|error| Error::Write { path: to.to_path_buf(), error })
}

/// A disk of zeros, which take no space.
pub fn empty(disk: &Path, length: u64) -> Result<(), Error> {
    File::create(disk)
        .and_then(|mut file| {
            file.set_len(length)?;
            file.seek(SeekFrom::Start(0)).map(|_| ())
        })
        .map_err(|error| Error::Write { path: disk.to_path_buf(), error })
}

#[cfg(test)]
mod tests {
    use super::{first_sector, CODE, MARK, PARTITION, TABLE};

    #[test]
    fn the_first_sector_has_grubs_code_and_one_partition_to_the_end() {
        let sector = first_sector(&[0xeb; 512], 64 << 20);
        assert!(sector[..CODE].iter().all(|byte| *byte == 0xeb) && sector[MARK..] == [0x55, 0xaa]);
        let number = |at: usize| u32::from_le_bytes(sector[TABLE + at..TABLE + at + 4].try_into().unwrap());
        assert_eq!((sector[TABLE], sector[TABLE + 4]), (0x80, 0x83));
        assert_eq!((number(8), number(12)), (2048, 63 * 2048));
        assert_eq!(u64::from(number(8)) * 512, PARTITION);
        assert!(sector[TABLE + 16..MARK].iter().all(|byte| *byte == 0), "there are no others");
    }
}
