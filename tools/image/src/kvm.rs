//! A Debian with QEMU and KVM, which runs the default guest in Ashlar's place: what Ashlar's guests are compared with.
//!
//! QEMU is the one of the machine that makes it, with the libraries that it is linked with.

use crate::devices::{self, named};
use crate::guest::read;
use crate::{deb, measuring_ramdisk, ramdisk, Error};
use std::path::{Path, PathBuf};

const QEMU: &str = "qemu-system-x86_64";
const LOADER: &str = "ld-linux-x86-64.so.2";
/// What QEMU reads to start a kernel on its machine `microvm`, of its package `qemu-system-data`.
const DATA: (&str, &str) = ("/usr/share/qemu", "linuxboot_dma.bin");
const COMMAND: (&str, &str) = ("kvm", include_str!("../guest/command/kvm"));
/// Beside those of devices, in an order in which they can be loaded.
const MODULES: [&str; 8] =
    ["llc.ko", "stp.ko", "bridge.ko", "tun.ko", "irqbypass.ko", "kvm.ko", "ccp.ko", "kvm-amd.ko"];

/// Makes the host's kernel and ramdisk in the folder `devices` of `folder`. Gives the paths of both.
pub fn fetch_kvm_host(folder: &Path, say: &mut dyn FnMut(&str)) -> Result<(PathBuf, PathBuf), Error> {
    let guest_ramdisk = measuring_ramdisk(folder, say)?;
    let place = folder.join("devices");
    let modules: Vec<&str> = devices::MODULES.into_iter().chain(MODULES).collect();
    let (plain, kernel) = devices::fetch(folder, &place, &modules, say)?;
    say("packing QEMU");
    let (name, script) = COMMAND;
    let commands = [(name.to_string(), script.as_bytes().to_vec())];
    let mut archive = ramdisk::archive(&plain.busybox, &commands, &named(&place, &modules)?)?;
    for name in ["kvm", "kvm/lib"] {
        archive.folder(name);
    }
    for (name, path) in qemu_files()? {
        archive.file(&name, 0o755, &read(&path)?);
    }
    let (data, rom) = DATA;
    let files = [
        ("kvm/vmlinuz", plain.kernel.clone()),
        ("kvm/initramfs", guest_ramdisk),
        ("kvm/bios-microvm.bin", plain.firmware.clone()),
        ("kvm/linuxboot_dma.bin", Path::new(data).join(rom)),
    ];
    for (name, path) in files {
        archive.file(name, 0o644, &read(&path)?);
    }
    // Unpacking 80 MB would take the emulated machine longer than reading them.
    let ramdisk = place.join("initramfs-kvm");
    std::fs::write(&ramdisk, archive.finish()).map_err(|error| Error::Write { path: ramdisk.clone(), error })?;
    Ok((kernel, ramdisk))
}

/// QEMU and its libraries: names in the ramdisk, and where they are.
fn qemu_files() -> Result<Vec<(String, PathBuf)>, Error> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(QEMU)).find(|path| path.exists());
    let error = std::io::Error::from(std::io::ErrorKind::NotFound);
    let qemu = found.ok_or(Error::Missing { program: QEMU, error })?;
    let text = deb::run("ldd", &[&qemu.display().to_string()], None)?;
    let mut files = vec![("kvm/qemu".to_string(), qemu)];
    files.extend(
        libraries(&String::from_utf8_lossy(&text)).into_iter().map(|(name, path)| (format!("kvm/lib/{name}"), path)),
    );
    Ok(files)
}

/// Names and paths in what ldd prints: `NAME => PATH (ADDRESS)`, and the loader's `PATH (ADDRESS)`.
fn libraries(text: &str) -> Vec<(String, PathBuf)> {
    let library = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [name, "=>", path, _] => Some((name.to_string(), path.into())),
            [path, _] if path.ends_with(LOADER) => Some((LOADER.to_string(), path.into())),
            _ => None,
        }
    };
    text.lines().filter_map(library).collect()
}

#[cfg(test)]
mod tests {
    use super::libraries;
    use std::path::PathBuf;

    #[test]
    fn reads_what_ldd_prints() {
        let text = "\tlinux-vdso.so.1 (0x00007ffe)\n\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected =
            [("libz.so.1", "/lib/x86_64-linux-gnu/libz.so.1"), ("ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2")];
        assert_eq!(libraries(text), expected.map(|(name, path)| (name.to_string(), PathBuf::from(path))));
    }
}
