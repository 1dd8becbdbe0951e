//! The files that a description names: programs, guest kernels, initial ramdisks, mapped files. Here they are found and
//! checked; `resolve` gives them their addresses.

mod abi_note;
pub mod disk_image;
mod firmware;
mod guest;
mod program;
mod pvh;

pub use program::{Program, Segment};

use crate::codes::Code;
use crate::description::{Description, Name, Process};
use crate::load::beside;
use crate::Assets;
use diagnostics::{input_file, suggest, Diagnostic, Report};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Larger than any program, kernel or ramdisk in practice.
const MOST_BYTES: u64 = 1 << 30;

/// Contents of all files that could be read, programs by name and others by path.
#[derive(Debug, Clone, Default)]
pub struct Files {
    pub programs: BTreeMap<String, Program>,
    pub contents: BTreeMap<PathBuf, Vec<u8>>,
}

/// Why a file is not usable.
pub(crate) struct Flaw {
    pub code: Code,
    pub message: String,
    pub remedy: &'static str,
}

/// What must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Files that the tool makes may be missing still.
    Present,
    /// Everything must be there.
    All,
}

/// The files that `process` names, its guest's included.
pub fn named_files(process: &Process) -> impl Iterator<Item = &Name> {
    let guest = process.vm.iter().flat_map(|vm| vm.kernel.iter().chain(&vm.initrd).chain(&vm.firmware));
    process.files.iter().map(|(_, file)| file).chain(guest)
}

/// Where the file named `name` is: a path if it holds a `/`, a program if it ends in `.elf`, else a named file.
pub fn path_of(description: &Description, assets: &Assets, name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(beside(&description.source.path, name));
    }
    match name.strip_suffix(".elf") {
        Some(program) => assets.programs.get(program).cloned(),
        None => assets.files.get(name).cloned(),
    }
}

/// Reads and checks every file that the description names.
pub fn read_all(description: &Description, assets: &Assets, strictness: Strictness, report: &mut Report) -> Files {
    let mut reader = Reader { description, assets, strictness, report, files: Files::default(), told: BTreeSet::new() };
    for process in &description.processes {
        if let Some(program) = &process.program {
            reader.program(program);
        }
        for (_, file) in &process.files {
            reader.file(file, |_| Ok(()));
        }
        if let Some(vm) = &process.vm {
            if let Some(kernel) = &vm.kernel {
                reader.file(kernel, guest::check_kernel);
            }
            if let Some(initrd) = &vm.initrd {
                reader.file(initrd, guest::check_initrd);
            }
            if let Some(image) = &vm.firmware {
                reader.file(image, firmware::check);
            }
        }
        reader.guest_fits(process);
    }
    reader.files
}

struct Reader<'a> {
    description: &'a Description,
    assets: &'a Assets,
    strictness: Strictness,
    report: &'a mut Report,
    files: Files,
    /// Paths whose fault is reported already: a file with several users is reported once.
    told: BTreeSet<PathBuf>,
}

impl Reader<'_> {
    fn fault(&mut self, name: &Name, flaw: Flaw) {
        let fault = Diagnostic::new(flaw.code, flaw.message, flaw.remedy);
        self.report.push(fault.at(&self.description.source, &name.span, "named here"));
    }

    fn program(&mut self, name: &Name) {
        let Some(path) = self.assets.programs.get(&name.value).cloned() else { return };
        if self.files.programs.contains_key(&name.value) {
            return;
        }
        let Some(bytes) = self.bytes(name, &path) else { return };
        // A build replaces what an earlier version of the tree, or a build that was killed, has left.
        let stays = self.strictness == Strictness::All || self.assets.finished.contains(&name.value);
        match program::parse(&bytes) {
            Ok((program, other_abi)) => {
                self.files.programs.insert(name.value.clone(), program);
                self.program_flaws(name, &path, other_abi.filter(|_| stays));
            }
            Err(flaws) if stays && self.told.insert(path.clone()) => self.program_flaws(name, &path, flaws),
            Err(_) => {}
        }
    }

    fn program_flaws(&mut self, name: &Name, path: &Path, flaws: impl IntoIterator<Item = Flaw>) {
        for mut flaw in flaws {
            flaw.message = format!("{}: {}", path.display(), flaw.message);
            self.fault(name, flaw);
        }
    }

    fn file(&mut self, name: &Name, check: fn(&[u8]) -> Result<(), Flaw>) {
        let Some(path) = path_of(self.description, self.assets, &name.value) else {
            let known: Vec<&str> = self.assets.files.keys().map(String::as_str).collect();
            let message = format!("there is no file named `{}`", name.value);
            let remedy = format!("{}; a path has a `/` in it", suggest::remedy(&name.value, "named file", &known));
            let fault = Diagnostic::new(Code::UnknownName, message, remedy);
            return self.report.push(fault.at(&self.description.source, &name.span, "no such file"));
        };
        if !self.files.contents.contains_key(&path) {
            let Some(bytes) = self.bytes(name, &path) else { return };
            self.files.contents.insert(path.clone(), bytes);
        }
        if let Err(mut flaw) = check(&self.files.contents[&path]) {
            if self.told.insert(path.clone()) {
                flaw.message = format!("{}: {}", path.display(), flaw.message);
                self.fault(name, flaw);
            }
        }
    }

    fn bytes(&mut self, name: &Name, path: &Path) -> Option<Vec<u8>> {
        let error = match input_file::bytes(path, MOST_BYTES) {
            Ok(bytes) => return Some(bytes),
            Err(error) => error,
        };
        let is_path = name.value.contains('/');
        let made_later = !is_path && error.is_missing();
        if made_later && self.strictness == Strictness::Present || !self.told.insert(path.to_path_buf()) {
            return None;
        }
        let (code, remedy) = if made_later {
            (Code::NotBuilt, "run `ashlar build`, which makes it")
        } else {
            (Code::MissingFile, "correct the path (relative to this description), or put the file there")
        };
        let message = format!("{} cannot be read: {error}", path.display());
        self.fault(name, Flaw { code, message, remedy });
        None
    }

    /// The guest's kernel, unpacked, and its initial ramdisk fit into its memory.
    fn guest_fits(&mut self, process: &Process) {
        let Some(vm) = &process.vm else { return };
        let contents = |name: &Option<Name>| {
            let path = path_of(self.description, self.assets, &name.as_ref()?.value)?;
            self.files.contents.get(&path)
        };
        let Some(end) = contents(&vm.kernel).and_then(|kernel| guest::memory_end(kernel)) else { return };
        let initrd = contents(&vm.initrd).map_or(0, |initrd| initrd.len() as u64);
        let least = end.saturating_add(initrd);
        let Some(memory) = vm.memory.as_ref().filter(|memory| memory.value < least) else { return };
        let message = format!("the guest's kernel and initial ramdisk need {} MiB of memory", (least >> 20) + 1);
        let fault = Diagnostic::new(Code::GuestMemory, message, format!("give at least {}MiB", (least >> 20) + 1));
        self.report.push(fault.at(&self.description.source, &memory.span, "too little"));
    }
}
