//! A driver's files: preprocessed as for its image, parsed, made into the program model.
//!
//! The compiler's preprocessor runs as a separate process, with DRIVERCHECK defined, so that EMIT and AWAIT stay calls.

use crate::lower::{lower, Names};
use crate::program::{Place, Program};
use crate::source_map::Lines;
use crate::Fault;
use lang_c::driver::{parse_preprocessed, Config, Flavor};
use protocol::{generate, Checked};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Faults hold places, which belong to a thread: this is text once it leaves.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error("{0} cannot be read or written: {1}")]
    File(PathBuf, std::io::Error),
    #[error("gcc cannot be run: {0}; install the package `gcc`")]
    Compiler(std::io::Error),
    #[error("the driver cannot be preprocessed:\n{0}")]
    Preprocess(String),
    #[error("{0}")]
    Protocol(String),
    #[error("{}", list(.0))]
    Faults(Vec<Fault>),
}

fn list(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("{}: {}", fault.place, fault.message)).collect::<Vec<_>>().join("\n")
}

/// Where things are found.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The driver's C files, or one preprocessed file.
    pub files: Vec<PathBuf>,
    /// Protocol files; without any, those whose headers the driver includes, from `protocol_dir`.
    pub protocols: Vec<PathBuf>,
    pub protocol_dir: PathBuf,
    pub include: Vec<PathBuf>,
    /// Directory for generated headers.
    pub scratch: PathBuf,
}

/// A driver as text; its model is made where it is used, as expressions belong to a thread.
pub struct Driver {
    pub name: String,
    pub path: PathBuf,
    pub text: String,
    pub protocols: Vec<Checked>,
}

pub fn read(source: &Source) -> Result<Driver, DriverError> {
    let Some(path) = source.files.first() else {
        return Err(DriverError::Protocol("no file of a driver is given".to_string()));
    };
    let known = if source.protocols.is_empty() { all_in(&source.protocol_dir)? } else { source.protocols.clone() };
    let mut checked = Vec::new();
    for path in &known {
        checked.push(protocol::load(path).map_err(|report| DriverError::Protocol(report.to_string()))?);
    }
    let text = preprocess(source, &checked)?;
    // A protocol counts if the driver includes its header, or if it was named.
    let is_spoken = |one: &Checked| text.contains(&format!("{}_protocol.h\"", one.protocol.name));
    let protocols: Vec<Checked> =
        checked.into_iter().filter(|one| !source.protocols.is_empty() || is_spoken(one)).collect();
    if protocols.is_empty() {
        return Err(DriverError::Protocol("the driver includes no protocol's header; name protocols".to_string()));
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Driver { name, path: path.clone(), text, protocols })
}

impl Driver {
    pub fn model(&self) -> Result<Program, DriverError> {
        let program = model(&self.text, &self.path, &self.protocols)?;
        // A proof about a driver that does nothing says nothing.
        if program.awaits.is_empty() {
            let message = "the driver waits for no message: nothing to check".to_string();
            let place = Place { file: self.path.display().to_string().into(), line: 1 };
            return Err(DriverError::Faults(vec![Fault { place, message }]));
        }
        Ok(program)
    }
}

/// The program model of a preprocessed text.
fn model(text: &str, path: &Path, protocols: &[Checked]) -> Result<Program, DriverError> {
    let lines = Lines::new(text, &path.display().to_string());
    let config = Config { cpp_command: String::new(), cpp_options: Vec::new(), flavor: Flavor::GnuC11 };
    // Parser and lowering recurse with the nesting of the text: give them room.
    let parsed = parse_preprocessed(&config, text.to_string()).map_err(|error| {
        let mut expected: Vec<&str> = error.expected.iter().copied().collect();
        expected.sort_unstable();
        let message = format!("syntax: expected one of {}", expected.join(", "));
        DriverError::Faults(vec![Fault { place: lines.place(error.offset), message }])
    })?;
    lower(&parsed.unit, &lines, protocols, &Names::default()).map_err(DriverError::Faults)
}

fn all_in(directory: &Path) -> Result<Vec<PathBuf>, DriverError> {
    let failed = |error| DriverError::File(directory.to_path_buf(), error);
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "proto") {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

fn preprocess(source: &Source, protocols: &[Checked]) -> Result<String, DriverError> {
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|error| DriverError::File(path.to_path_buf(), error));
    if let [file] = source.files.as_slice() {
        if file.extension().is_some_and(|extension| extension == "i") {
            return read(file);
        }
    }
    std::fs::create_dir_all(&source.scratch).map_err(|error| DriverError::File(source.scratch.clone(), error))?;
    for checked in protocols {
        let path = source.scratch.join(format!("{}_protocol.h", checked.protocol.name));
        let text = generate::header::header(&checked.protocol, "Generated by `drivercheck`; changes here are lost.");
        if !std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            std::fs::write(&path, text).map_err(|error| DriverError::File(path, error))?;
        }
    }
    let mut all = String::new();
    for file in &source.files {
        let mut command = Command::new("gcc");
        command.args(["-E", "-std=gnu11", "-ffreestanding", "-mgeneral-regs-only", "-DDRIVERCHECK"]);
        command.arg("-I").arg(&source.scratch);
        for directory in &source.include {
            command.arg("-I").arg(directory);
        }
        let output = command.arg(file).output().map_err(DriverError::Compiler)?;
        if !output.status.success() {
            return Err(DriverError::Preprocess(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        all.push_str(&String::from_utf8_lossy(&output.stdout));
        all.push('\n');
    }
    Ok(all)
}
