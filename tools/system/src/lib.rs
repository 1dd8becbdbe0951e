//! System descriptions: from what a person writes to what the kernel boots.
//!
//! ```text
//! systems/NAME.toml + machines/MACHINE.toml   --load-->     System     names, no addresses; nothing built yet
//! System + programs and guest files           --resolve-->  Resolved   JSON: every id, slot and address
//! Resolved                                    --image-->    system.img boot table and payload; system_NAME.h
//! ```
//!
//! It never writes the user's files, and never stops at the first fault: every function reports all it can find.

mod check;
mod codes;
mod description;
mod environment;
mod file;
mod header;
mod image;
mod json_schema;
mod layout;
mod load;
mod memory;
mod pci_function;
mod picture;
mod ports;
mod programs;
mod project_file;
mod read;
mod reference;
mod resolve;
mod schema;
mod table;
mod threads;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pub use codes::Code;
pub use diagnostics::{Diagnostic, Label, Place, Report, Source};
pub use file::disk_image::DiskImage;
pub use image::{write_image, ImageError};
pub use json_schema::{description_schema, machine_schema, project_schema};
pub use load::{check, load, ConsoleInfo, Emulator, System};
pub use ports::{ports, ProcessPorts};
pub use programs::programs;
pub use project_file::{Made, OwnProgram, ProjectCode, ProjectFile};
pub use read::is_name;
pub use reference::reference;
pub use resolve::resolved::Resolved;
pub use resolve::{resolve, Resolution};
pub use threads::ThreadTime;

/// Codes of faults in system descriptions and projects.
pub const CODES: &[diagnostics::Table] = &[
    diagnostics::Table { subject: "System descriptions", codes: Code::TABLE, details: None },
    project_file::PROJECT_CODES,
];

/// Where to find what a description names: machine files, programs, guest files.
#[derive(Debug, Clone, Default)]
pub struct Assets {
    /// Folder of the machine files.
    pub machines: PathBuf,
    /// The machine that descriptions are read for, instead of the one that they name.
    pub machine: Option<String>,
    /// Every program that exists as source, with the ELF file that building it makes.
    pub programs: BTreeMap<String, PathBuf>,
    /// Those programs that are files of the user's, which no build makes new.
    pub finished: BTreeSet<String>,
    /// Every guest kernel, initial ramdisk or other file that has a name, with its place once fetched.
    pub files: BTreeMap<String, PathBuf>,
    /// Every disk image that has a name, with its place once made.
    pub disk_images: BTreeMap<String, PathBuf>,
}
