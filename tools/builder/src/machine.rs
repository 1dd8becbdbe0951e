//! The emulated machine on which a system runs.

use super::{packages, Built};
use emulator::command::Settings;
use emulator::CommandLine;
use output::{Failure, Output};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use system::{DiskImage, System};

/// What can be different from one run to the next.
#[derive(Debug, Clone, Default)]
pub struct MachineOptions {
    /// CPUs that the kernel has; otherwise as many as the system needs.
    pub cpus: Option<u32>,
    /// MiB of memory; otherwise what the machine's description says.
    pub memory: Option<u64>,
    /// Time advances by 1 ns an instruction.
    pub icount: bool,
    /// Wait for gdb before the first instruction.
    pub gdb: bool,
    /// Boot this disc image instead of kernel and system image.
    pub iso: Option<PathBuf>,
    /// The machine's disk; otherwise the system's own, which keeps what it holds.
    pub disk: Option<PathBuf>,
    /// Further arguments for the emulator.
    pub extra: Vec<String>,
}

impl MachineOptions {
    /// Refuses options that the system or its machine does not allow. Tests of such machines do not call it.
    pub fn check(&self, system: &System) -> Result<(), Failure> {
        if let Some(iso) = self.iso.as_ref().filter(|iso| !iso.is_file()) {
            let message = format!("--iso {}: there is no such file", iso.display());
            return Err(Failure::unable(message, "make one with `ashlar image`, which prints its path"));
        }
        self.check_emulator(system)?;
        let (least, most) = (system.cpus, system.machine_cpus);
        match self.cpus {
            Some(cpus) if cpus < least => {
                let message = format!("--cpus {cpus}: the system {} needs {least}", system.name);
                Err(Failure::unable(message, format!("give at least {least}, or leave --cpus out")))
            }
            Some(cpus) if cpus > most => {
                let message = format!("--cpus {cpus}: the machine {} has {most}", system.machine);
                Err(Failure::unable(message, format!("give at most {most}, or leave --cpus out")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses options that QEMU alone has.
    fn check_emulator(&self, system: &System) -> Result<(), Failure> {
        let asked = [(self.icount, "--icount"), (self.gdb, "--gdb"), (self.iso.is_some(), "--iso")];
        let is_other = system.emulator.as_ref().is_some_and(|emulator| emulator.terminal);
        match asked.iter().find(|(asked, _)| *asked && is_other) {
            Some((_, option)) => {
                let message = format!("{option}: the emulator of the machine {} has no such thing", system.machine);
                Err(Failure::unable(message, format!("leave {option} out, or run on QEMU")))
            }
            None => Ok(()),
        }
    }

    /// As many as the kernel has, and one more where guests share several that QEMU emulates in threads: such a machine's first CPU
    /// cannot run guests beside others, and the kernel leaves it out (kernel/arch/x86_64/guest/svm_tcg.c).
    fn emulated_cpus(&self, built: &Built) -> u32 {
        let cpus = self.cpus.unwrap_or(built.system.cpus);
        let arguments = built.system.emulator.iter().flat_map(|emulator| &emulator.arguments);
        let in_threads = !self.icount && arguments.into_iter().any(|argument| argument == "tcg,thread=multi");
        cpus + u32::from(in_threads && cpus > 1 && !built.resolved.vms.is_empty())
    }

    /// The emulator's command line for `built`.
    pub fn command_line(&self, built: &Built) -> Result<CommandLine, Failure> {
        let system = &built.system;
        let emulator = system.emulator.as_ref().ok_or_else(|| {
            let message = format!("the machine {} has no [emulator], so it cannot be run here", system.machine);
            Failure::unable(message, "add the table, or make an image for the real machine with `ashlar image`")
        })?;
        let disk = self.disk.clone().unwrap_or_else(|| built.image.with_file_name("disk.img"));
        if let Some(bytes) = emulator.disk {
            make_disk(&disk, bytes, &system.disk_images)?;
        }
        let settings = Settings {
            kernel: &built.kernel,
            image: &built.image,
            disk: &disk,
            disc: &disc(built),
            cpus: self.emulated_cpus(built),
            memory_mib: self.memory.unwrap_or(system.machine_memory >> 20),
        };
        let mut command = CommandLine::from_template(emulator, &settings);
        if self.icount {
            // Counting needs all CPUs in one thread, whatever the machine's description says.
            command = command.setting("-accel", "tcg,thread=single").setting("-icount", "shift=0,sleep=off");
        }
        if self.gdb {
            command = command.with(["-s", "-S"]);
        }
        if let Some(iso) = &self.iso {
            command = command.booting_iso(iso);
        }
        command.arguments.extend(self.extra.iter().cloned());
        Ok(command)
    }
}

/// Installs what the emulator of `built` is made of, and makes the disc image if it boots from one.
pub fn prepare(built: &Built, output: &Output) -> Result<(), Failure> {
    let Some(emulator) = &built.system.emulator else { return Ok(()) };
    packages::need(&emulator.packages, output)?;
    if emulator.arguments.iter().any(|argument| argument.contains("{disc}")) {
        let disc = disc(built);
        image::write_iso(&built.kernel, &built.image, &disc.with_extension(""), &disc)
            .map_err(|error| Failure::unable(error.to_string(), error.remedy()))?;
    }
    Ok(())
}

/// Where the disc image is, if the emulator needs one.
fn disc(built: &Built) -> PathBuf {
    built.image.with_file_name("disc.iso")
}

/// Makes a file of zeros, which takes no space until it is written, with the guests' images in it, unless there is one of that size.
/// It is made beside its place and renamed, so that a run that was broken off leaves no half disk.
fn make_disk(path: &Path, bytes: u64, images: &[DiskImage]) -> Result<(), Failure> {
    if std::fs::metadata(path).is_ok_and(|file| file.len() == bytes) {
        return Ok(());
    }
    let unwritable = |error| {
        Failure::unable(format!("{} cannot be written: {error}", path.display()), "check permissions and free space")
    };
    let new = path.with_extension("new");
    let mut disk = File::create(&new).map_err(unwritable)?;
    disk.set_len(bytes).map_err(unwritable)?;
    for image in images {
        let unreadable = |error| {
            Failure::unable(
                format!("{} cannot be read: {error}", image.path.display()),
                "run `ashlar build`, or check the path",
            )
        };
        let mut from = File::open(&image.path).map_err(unreadable)?;
        let length = from.metadata().map_err(unreadable)?.len();
        if image.at.checked_add(length).is_none_or(|end| end > bytes) {
            let message = format!("{} does not fit into the machine's disk", image.path.display());
            return Err(Failure::unable(message, "choose a machine with a larger disk"));
        }
        copy_sparse(&mut from, &mut disk, image.at).map_err(unwritable)?;
    }
    std::fs::rename(&new, path).map_err(unwritable)
}

/// Copies what is not zero.
fn copy_sparse(from: &mut File, to: &mut File, at: u64) -> std::io::Result<()> {
    let mut piece = vec![0; 64 << 10];
    let mut place = at;
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        if piece[..read].iter().any(|byte| *byte != 0) {
            to.write_all_at(&piece[..read], place)?;
        }
        place += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::make_disk;
    use system::DiskImage;
    use testing::Folder;

    #[test]
    fn a_disk_is_made_once_with_its_images() {
        let folder = Folder::new("disk");
        let path = folder.write("image", [7; 100_000]);
        let images = [DiskImage { name: "./image".into(), path, at: 4096 }];
        let disk = folder.join("disk.img");
        assert!(make_disk(&disk, 100_000, &images).is_err(), "too small");
        assert!(!disk.exists());
        make_disk(&disk, 1 << 20, &images).unwrap();
        let bytes = std::fs::read(&disk).unwrap();
        assert_eq!((bytes.len(), bytes[4095], bytes[4096], bytes[104_095], bytes[104_096]), (1 << 20, 0, 7, 7, 0));
        std::fs::write(&disk, vec![1; 1 << 20]).unwrap();
        make_disk(&disk, 1 << 20, &images).unwrap();
        assert_eq!(std::fs::read(&disk).unwrap()[4096], 1, "what was written stays");
    }
}
