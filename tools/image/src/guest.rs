//! The guest files: fetched once, then kept and checked.
//!
//! A manifest beside them records from which packages they came and what they hash to, so that later builds need no
//! network and damage does not go unseen.

use crate::deb::{self, Package};
use crate::ramdisk::{self, Named};
use crate::{sha256, Error};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const METAPACKAGE: &str = "linux-image-cloud-amd64";
const KERNEL_PACKAGE: &str = "linux-image-6.";
/// The kernel's modules for the monitor's virtio devices, and those that they need, in an order in which they can be loaded.
const MODULES: [&str; 8] = [
    "virtio_ring.ko",
    "virtio.ko",
    "virtio_mmio.ko",
    "virtio-rng.ko",
    "virtio_blk.ko",
    "failover.ko",
    "net_failover.ko",
    "virtio_net.ko",
];
const BUSYBOX_PACKAGE: &str = "busybox-static";
/// What busybox lacks: a guest that has ended in the middle of its work has its disk's file system mended.
const CHECKER_PACKAGE: &str = "e2fsck-static";

/// A BIOS that looks for virtio devices in the ACPI tables.
const FIRMWARE_PACKAGE: &str = "seabios";
const FIRMWARE: &str = "./usr/share/seabios/bios-microvm.bin";

/// A kernel for guests that is not Linux: it tests their memory and processors.
const MEMORY_TESTER_PACKAGE: &str = "memtest86+";
const MEMORY_TESTER: &str = "./boot/memtest86+x64.bin";

/// Where the guest files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// Debian's kernel for virtual machines.
    pub kernel: PathBuf,
    /// The initial ramdisk.
    pub ramdisk: PathBuf,
    /// SeaBIOS.
    pub firmware: PathBuf,
    pub(crate) busybox: PathBuf,
    pub(crate) checker: PathBuf,
    manifest: PathBuf,
}

impl Guest {
    /// The guest files of `folder`, there or not.
    pub fn at(folder: &Path) -> Guest {
        Guest {
            kernel: folder.join("vmlinuz"),
            ramdisk: folder.join("initramfs.gz"),
            firmware: folder.join("seabios.bin"),
            busybox: folder.join("busybox"),
            checker: folder.join("e2fsck"),
            manifest: folder.join("manifest"),
        }
    }
}

/// Makes the guest files in `folder` unless they are there, and checks them. `say` is called at each step.
pub fn fetch_guest(folder: &Path, say: &mut dyn FnMut(&str)) -> Result<Guest, Error> {
    std::fs::create_dir_all(folder).map_err(|error| Error::Write { path: folder.to_path_buf(), error })?;
    let guest = Guest::at(folder);
    let mut manifest = Manifest::read(&guest.manifest);
    let modules = MODULES.map(|name| folder.join(name));
    if !guest.kernel.exists() || modules.iter().any(|path| !path.exists()) {
        // Kernel and modules are of one package, since a kernel refuses the modules of another.
        let package = Package::find_dependency(METAPACKAGE, KERNEL_PACKAGE)?;
        take(&package, folder, "./boot/vmlinuz-", &guest.kernel, &mut manifest, say)?;
        take_modules(&package, folder, &modules, &mut manifest)?;
    }
    for (package, member, path) in
        [(BUSYBOX_PACKAGE, "./bin/busybox", &guest.busybox), (CHECKER_PACKAGE, "./sbin/e2fsck.static", &guest.checker)]
    {
        if !path.exists() {
            take(&Package::find(package)?, folder, member, path, &mut manifest, say)?;
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(path, executable).map_err(|error| Error::Write { path: path.clone(), error })?;
        }
        manifest.check(path)?;
    }
    if !guest.firmware.exists() {
        take(&Package::find(FIRMWARE_PACKAGE)?, folder, FIRMWARE, &guest.firmware, &mut manifest, say)?;
    }
    manifest.check(&guest.firmware)?;
    manifest.check(&guest.kernel)?;
    check_kernel(&guest.kernel)?;
    for module in &modules {
        manifest.check(module)?;
    }
    if guest.ramdisk.exists() {
        manifest.check(&guest.ramdisk)?;
    }
    // The scripts may have changed since; packing takes well under a second.
    let bytes = build_ramdisk(folder, &guest, Vec::new())?;
    if manifest.hash_of(&guest.ramdisk) != Some(&sha256::hex(&bytes)) || !guest.ramdisk.exists() {
        say("packing the guest's initial ramdisk");
        write(&guest.ramdisk, &bytes)?;
        manifest.record(&guest.ramdisk, &bytes, "tools/image");
    }
    manifest.write(&guest.manifest)?;
    Ok(guest)
}

/// Where the memory tester of `folder` is, there or not.
pub fn memory_tester_at(folder: &Path) -> PathBuf {
    folder.join("memtest86+")
}

/// Fetches the memory tester into `folder` unless it is there, and checks it.
pub fn memory_tester(folder: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    std::fs::create_dir_all(folder).map_err(|error| Error::Write { path: folder.to_path_buf(), error })?;
    let path = memory_tester_at(folder);
    let at = Guest::at(folder).manifest;
    let mut manifest = Manifest::read(&at);
    if !path.exists() {
        take(&Package::find(MEMORY_TESTER_PACKAGE)?, folder, MEMORY_TESTER, &path, &mut manifest, say)?;
        manifest.write(&at)?;
    }
    manifest.check(&path)?;
    Ok(path)
}

/// The guest's ramdisk, packed, with `further` programs among its commands.
pub(crate) fn build_ramdisk(folder: &Path, guest: &Guest, further: Vec<Named>) -> Result<Vec<u8>, Error> {
    let modules = MODULES.map(|name| Ok((name.to_string(), read(&folder.join(name))?)));
    let modules = modules.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let mut programs = vec![("e2fsck".to_string(), read(&guest.checker)?)];
    programs.extend(further);
    ramdisk::build(&guest.busybox, &programs, &modules)
}

/// Takes one file out of a package.
fn take(
    package: &Package,
    folder: &Path,
    member: &'static str,
    to: &Path,
    manifest: &mut Manifest,
    say: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    say(&format!("fetching {} {}", package.name, package.version));
    let deb = package.download(folder)?;
    let bytes = deb::member(&deb, member)?;
    write(to, &bytes)?;
    manifest.record(to, &bytes, &format!("{}={}", package.name, package.version));
    Ok(())
}

/// Takes the modules out of the kernel's package, which `take` has downloaded.
fn take_modules(package: &Package, folder: &Path, modules: &[PathBuf], manifest: &mut Manifest) -> Result<(), Error> {
    let patterns = MODULES.map(|name| format!("*/{name}"));
    deb::unpack(&package.download(folder)?, &patterns, folder)?;
    for path in modules {
        manifest.record(path, &read(path)?, &format!("{}={}", package.name, package.version));
    }
    Ok(())
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::Read { path: path.to_path_buf(), error })
}

/// Writes beside and renames, so that an interrupted run leaves no half file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let beside = path.with_extension(format!("new{}", std::process::id()));
    std::fs::write(&beside, bytes)
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(|error| Error::Write { path: path.to_path_buf(), error })
}

/// A bzImage as the Linux boot protocol describes it: long enough, marked, and as long as it says.
pub(crate) fn check_kernel(path: &Path) -> Result<(), Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::Read { path: path.to_path_buf(), error })?;
    let damaged = |flaw: &str| Err(Error::Damaged { path: path.to_path_buf(), flaw: flaw.to_string() });
    if bytes.len() < 0x268 {
        return damaged("it is shorter than the header of a Linux kernel");
    }
    if bytes[0x1fe..0x200] != [0x55, 0xaa] || &bytes[0x202..0x206] != b"HdrS" {
        return damaged("it lacks the marks 0xAA55 and HdrS of a Linux kernel");
    }
    let set_up = (u64::from(bytes[0x1f1]) + 1) * 512;
    let paragraphs = u32::from_le_bytes([bytes[0x1f4], bytes[0x1f5], bytes[0x1f6], bytes[0x1f7]]);
    if (bytes.len() as u64) < set_up + u64::from(paragraphs) * 16 {
        return damaged("it is shorter than its header says");
    }
    Ok(())
}

/// Lines `NAME SHA256 ORIGIN`.
#[derive(Debug, Default)]
struct Manifest {
    lines: Vec<(String, String, String)>,
}

impl Manifest {
    /// The manifest at `path`; empty if there is none, and then every file counts as unrecorded.
    fn read(path: &Path) -> Manifest {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = |line: &str| {
            let mut words = line.splitn(3, ' ').map(String::from);
            Some((words.next()?, words.next()?, words.next()?))
        };
        Manifest { lines: text.lines().filter_map(line).collect() }
    }

    fn write(&self, path: &Path) -> Result<(), Error> {
        let line = |(name, hash, origin): &(String, String, String)| format!("{name} {hash} {origin}\n");
        let text: String = self.lines.iter().map(line).collect();
        write(path, text.as_bytes())
    }

    fn record(&mut self, path: &Path, bytes: &[u8], origin: &str) {
        let name = name_of(path);
        self.lines.retain(|line| line.0 != name);
        self.lines.push((name, sha256::hex(bytes), origin.to_string()));
    }

    fn hash_of(&self, path: &Path) -> Option<&String> {
        let name = name_of(path);
        self.lines.iter().find(|line| line.0 == name).map(|line| &line.1)
    }

    /// Compares the file with its record.
    fn check(&self, path: &Path) -> Result<(), Error> {
        let bytes = std::fs::read(path).map_err(|error| Error::Read { path: path.to_path_buf(), error })?;
        let flaw = match self.hash_of(path) {
            Some(recorded) if *recorded == sha256::hex(&bytes) => return Ok(()),
            Some(_) => "it has changed since it was made".to_string(),
            None => "nothing records where it came from".to_string(),
        };
        Err(Error::Damaged { path: path.to_path_buf(), flaw })
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::{check_kernel, Manifest};
    use testing::Folder;

    fn kernel() -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        bytes[0x1f1] = 1;
        bytes[0x1f4..0x1f8].copy_from_slice(&192u32.to_le_bytes());
        bytes[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes
    }

    #[test]
    fn a_damaged_kernel_is_named_with_its_flaw() {
        let whole = kernel();
        let folder = Folder::new("guest");
        let path = folder.write("kernel", &whole);
        check_kernel(&path).unwrap();
        for (bytes, flaw) in [(&whole[..100], "shorter than the header"), (&whole[..4000], "than its header says")] {
            std::fs::write(&path, bytes).unwrap();
            assert!(check_kernel(&path).unwrap_err().to_string().contains(flaw));
        }
        let mut unmarked = whole.clone();
        unmarked[0x203] = 0;
        std::fs::write(&path, unmarked).unwrap();
        let error = check_kernel(&path).unwrap_err();
        assert!(error.to_string().contains("HdrS") && error.remedy().contains("rm "));
    }

    #[test]
    fn the_manifest_sees_a_changed_file() {
        let folder = Folder::new("guest");
        let path = folder.write("member", b"one");
        let mut manifest = Manifest::default();
        assert!(manifest.check(&path).is_err());
        manifest.record(&path, b"one", "package=1");
        manifest.check(&path).unwrap();
        std::fs::write(&path, b"two").unwrap();
        assert!(manifest.check(&path).unwrap_err().to_string().contains("changed"));
    }
}
