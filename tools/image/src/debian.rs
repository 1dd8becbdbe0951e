//! A disk with an installation of Debian: its own kernel, init and boot loader, from its packages alone.
//!
//! `mmdebstrap` makes the tree and `mke2fs` the file system, without mounting the disk. Both have to give files to other users, and
//! packages run programs of theirs in the new tree: so this is root's to do.

use crate::deb::run;
use crate::grub::{self, PARTITION};
use crate::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of the disk.
pub const SIZE: u64 = 512 << 20;
/// Packages of the machine that makes it.
pub const NEEDS: [&str; 4] = ["e2fsprogs", "grub-common", "grub-pc-bin", "mmdebstrap"];
const RELEASE: &str = "bookworm";
/// Beside what every Debian has: a kernel, an init, what starts from the disk and what repairs it.
const PACKAGES: &str =
    "linux-image-cloud-amd64,initramfs-tools,systemd-sysv,udev,e2fsprogs,grub-pc-bin,grub2-common,zstd";
const LABEL: &str = "root";
const GRUB_MODULES: [&str; 3] = ["biosdisk", "part_msdos", "ext2"];
/// The modules and lists that GRUB loads from its folder.
const GRUB_FILES: [&str; 2] = ["mod", "lst"];

const MENU: &str = "\
# As made with the disk; update-grub replaces it.
set default=0
set timeout=2
menuentry 'Debian GNU/Linux' {
    search --no-floppy --set=root --label root
    echo 'Loading Linux ...'
    linux /vmlinuz root=LABEL=root ro console=ttyS0 quiet
    echo 'Loading initial ramdisk ...'
    initrd /initrd.img
}
";
const DEFAULTS: &str = "\
GRUB_DEFAULT=0
GRUB_TIMEOUT=2
GRUB_DISTRIBUTOR=Debian
GRUB_CMDLINE_LINUX_DEFAULT=quiet
GRUB_CMDLINE_LINUX=console=ttyS0
GRUB_TERMINAL=console
";
/// An emulated machine on a busy host is slow: the terminal's device, without which there is no login, may come after minutes.
const PATIENCE: &str = "\
[Manager]
DefaultTimeoutStartSec=15min
DefaultDeviceTimeoutSec=15min
";
/// Files of the tree beside those of packages.
const FILES: [(&str, &str); 7] = [
    ("etc/hostname", "debian\n"),
    ("etc/hosts", "127.0.0.1 localhost debian\n"),
    ("etc/resolv.conf", ""),
    ("etc/fstab", "LABEL=root / ext4 errors=remount-ro 0 1\n"),
    ("etc/default/grub", DEFAULTS),
    ("etc/systemd/system.conf.d/slow.conf", PATIENCE),
    ("boot/grub/grub.cfg", MENU),
];

/// Makes the disk, `debian.img` in `folder`, unless it is there. Root has no password.
pub fn debian_disk(folder: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    let path = debian_disk_at(folder);
    if path.exists() {
        return Ok(path);
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Error::NeedsRoot { what: "a disk with Debian" });
    }
    let work = folder.join(format!("debian.{}", std::process::id()));
    let made = make(&work, &path, say);
    // What is left of the work is of no use to anybody.
    let _ = std::fs::remove_dir_all(&work);
    made.map(|()| path)
}

/// Where [`debian_disk`] is, or will be.
pub fn debian_disk_at(folder: &Path) -> PathBuf {
    folder.join("debian.img")
}

fn make(work: &Path, to: &Path, say: &mut dyn FnMut(&str)) -> Result<(), Error> {
    let tree = work.join("tree");
    std::fs::create_dir_all(work).map_err(|error| Error::Write { path: work.to_path_buf(), error })?;
    say("installing Debian for a guest's disk, once: some three minutes");
    bootstrap(&tree)?;
    finish(&tree)?;
    say("making the guest's disk");
    let disk = work.join("disk.img");
    grub::empty(&disk, SIZE)?;
    let (offset, size) = (format!("offset={PARTITION}"), format!("{}k", (SIZE - PARTITION) >> 10));
    let (from, file) = (tree.display().to_string(), disk.display().to_string());
    run("mke2fs", &["-q", "-F", "-t", "ext4", "-L", LABEL, "-E", &offset, "-d", &from, &file, &size], None)?;
    let core = grub::core_image(work, "(hd0,msdos1)/boot/grub", &GRUB_MODULES, None)?;
    grub::install(&disk, &core)?;
    std::fs::rename(&disk, to).map_err(|error| Error::Write { path: to.to_path_buf(), error })
}

/// Its own messages are many, and said only when it fails.
fn bootstrap(tree: &Path) -> Result<(), Error> {
    let include = format!("--include={PACKAGES}");
    let mut command = Command::new("mmdebstrap");
    command.args(["--mode=root", "--variant=minbase", "--format=directory", &include]);
    // What is read on paper or in other languages is half of it.
    for folder in ["doc", "locale", "man"] {
        command.arg(format!("--dpkgopt=path-exclude=/usr/share/{folder}/*"));
    }
    command.args([
        "--dpkgopt=path-include=/usr/share/doc/*/copyright",
        "--customize-hook=chroot \"$1\" passwd --delete root",
    ]);
    command.arg(RELEASE).arg(tree).env("LC_ALL", "C");
    let done = command.output().map_err(|error| Error::Missing { program: "mmdebstrap", error })?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let complaint = said.lines().map(str::trim).rfind(|line| line.starts_with("E:")).unwrap_or("no message");
    Err(Error::Debian { complaint: complaint.to_string() })
}

/// What an installer would write.
fn finish(tree: &Path) -> Result<(), Error> {
    let unwritable = |path: &Path| {
        let path = path.to_path_buf();
        move |error| Error::Write { path, error }
    };
    let modules = tree.join("boot/grub/i386-pc");
    for folder in [&modules, &tree.join("etc/systemd/system.conf.d")] {
        std::fs::create_dir_all(folder).map_err(unwritable(folder))?;
    }
    for (name, text) in FILES {
        let path = tree.join(name);
        std::fs::write(&path, text).map_err(unwritable(&path))?;
    }
    let from = tree.join("usr/lib/grub/i386-pc");
    let unreadable = |error| Error::Read { path: from.clone(), error };
    for entry in std::fs::read_dir(&from).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_wanted = path.extension().is_some_and(|ending| GRUB_FILES.iter().any(|wanted| *wanted == ending));
        if let Some(name) = path.file_name().filter(|_| is_wanted) {
            std::fs::copy(&path, modules.join(name)).map_err(unwritable(&path))?;
        }
    }
    Ok(())
}
