//! A driver's files: preprocessed as for its image, parsed, made into the program model.

use crate::clients::TOWARDS_DRIVER;
use crate::hash::HashMap;
use crate::lower::{lower, Asked, Names};
use crate::preprocess::Build;
use crate::program::{Place, Program};
use crate::source_map::{marker, Lines};
use crate::subset;
use crate::syntax::{parse, parse_behind, primitives, primitives_of, Beginning};
use crate::Fault;
use lang_c::ast::TranslationUnit;
use protocol::{generate, Checked};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Faults hold places, which belong to a thread: this is text once it leaves.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error("{0} cannot be read or written: {1}")]
    File(PathBuf, std::io::Error),
    #[error("make or the compiler cannot be run: {0}; install the packages `make` and `gcc`")]
    Compiler(std::io::Error),
    #[error("the driver cannot be preprocessed:\n{0}")]
    Preprocess(String),
    #[error("{0}")]
    Protocol(String),
    #[error("whether driver {0} is given the ports that it says it has cannot be told, mend first:\n{unread}", unread = .1.join("\n"))]
    Descriptions(String, Vec<String>),
    #[error("{}", list(.0))]
    Faults(Vec<Fault>),
}

fn list(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("{}: {}", fault.place, fault.message)).collect::<Vec<_>>().join("\n")
}

/// Where things are found.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The root of the sources, with the build of user programs.
    pub root: PathBuf,
    /// The driver's name, if it is not that of its first file.
    pub name: Option<String>,
    /// The driver's C files, or one preprocessed file.
    pub files: Vec<PathBuf>,
    /// Protocol files; without any, those whose headers the driver includes, from `protocol_dir`.
    pub protocols: Vec<PathBuf>,
    pub protocol_dir: PathBuf,
    /// The user's project that the driver belongs to: its protocols count too.
    pub project: Option<PathBuf>,
    pub include: Vec<PathBuf>,
    /// Further flags of its compiler.
    pub flags: Vec<String>,
    /// Directory for generated headers.
    pub scratch: PathBuf,
}

/// A driver as text; its model is made where it is used, as expressions belong to a thread.
pub struct Driver {
    pub name: String,
    pub path: PathBuf,
    pub text: String,
    pub protocols: Vec<Checked>,
    /// What relative places are shown below.
    base: String,
    /// ... and places in this folder, with `/` behind; empty if there is none.
    project: String,
    framework: Vec<String>,
    /// The framework's primitives: name and text.
    primitives: HashMap<String, String>,
    /// What the text begins with, parsed before.
    beginning: Option<Arc<Beginning>>,
    /// The syntax tree, once it was asked for.
    unit: OnceLock<TranslationUnit>,
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
    if let Some(project) = &source.project {
        let own = protocol::load_own(&project.join("protocols"), &source.protocol_dir);
        checked.extend(own.map_err(|report| DriverError::Protocol(report.to_string()))?);
    }
    write_headers(source, &checked)?;
    let build = Build::of(&source.root, &source.scratch)?.with_flags(&source.flags);
    let text = preprocess(source, &build)?;
    let primitives = primitives(&build.framework_text()?)?;
    // A protocol counts if the driver includes its header, or if it was named.
    let is_spoken = |one: &Checked| text.contains(&format!("{}_protocol.h\"", one.protocol.name));
    let protocols: Vec<Checked> =
        checked.into_iter().filter(|one| !source.protocols.is_empty() || is_spoken(one)).collect();
    if protocols.is_empty() {
        return Err(DriverError::Protocol("the driver includes no protocol's header; name protocols".to_string()));
    }
    // What cannot be parsed is refused, with its places, when the model is made.
    let protocols = match parse(&text, &Lines::new(&text, "", "", &[])) {
        Ok(unit) => crate::clients::as_spoken(&unit, protocols)?,
        Err(_) => protocols,
    };
    one_number_each(&protocols)?;
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = source.name.clone().unwrap_or_else(stem);
    let project = source.project.as_ref().map(|project| format!("{}/", project.display())).unwrap_or_default();
    let base = source.root.join("user").display().to_string() + "/";
    let base = base.strip_prefix("./").unwrap_or(&base).to_string();
    Ok(Driver {
        name,
        path: path.clone(),
        text,
        protocols,
        base,
        project,
        framework: build.framework,
        primitives,
        beginning: None,
        unit: OnceLock::new(),
    })
}

/// What all drivers share that are given as text: the framework, preprocessed.
pub struct Framework {
    base: String,
    directories: Vec<String>,
    primitives: HashMap<String, String>,
    /// The text of `ashlar/driver.h` and what it includes.
    pub text: String,
    beginning: Option<Arc<Beginning>>,
    build: Build,
}

impl Framework {
    pub fn new(root: &Path, scratch: &Path) -> Result<Framework, DriverError> {
        std::fs::create_dir_all(scratch).map_err(|error| DriverError::File(scratch.to_path_buf(), error))?;
        let build = Build::of(root, scratch)?;
        let text = build.framework_text()?;
        let base = root.join("user").display().to_string() + "/";
        let unit = parse(&text, &Lines::new(&text, "ashlar/driver.h", "", &[]))?;
        let primitives = primitives_of(&unit, &text);
        let beginning = Beginning::of(&text, unit).map(Arc::new);
        Ok(Framework { base, primitives, directories: build.framework.clone(), text, beginning, build })
    }

    /// A file's text as the build preprocesses it, without markers of lines.
    pub fn expand(&self, file: &Path) -> Result<String, DriverError> {
        self.build.expand(file)
    }

    /// A driver that is given as text behind the framework's, preprocessed like it.
    pub fn driver(&self, name: &str, text: &str, protocols: Vec<Checked>) -> Driver {
        Driver {
            name: name.to_string(),
            path: PathBuf::from(format!("{name}.c")),
            text: format!("{}# 1 \"{name}.c\"\n{text}", self.text),
            protocols,
            base: self.base.clone(),
            project: String::new(),
            framework: self.directories.clone(),
            primitives: self.primitives.clone(),
            beginning: self.beginning.clone(),
            unit: OnceLock::new(),
        }
    }
}

impl Driver {
    /// The model for rules 1 to 5.
    pub fn model(&self) -> Result<Program, DriverError> {
        self.model_for(Asked::States)
    }

    pub fn model_for(&self, asked: Asked) -> Result<Program, DriverError> {
        self.model_with(asked, &Names::default())
    }

    /// The model of a server of several clients of which one alone says anything.
    pub fn model_of_one_client(&self, asked: Asked) -> Result<Program, DriverError> {
        let mut names = Names::default();
        names.clients.others_are_silent = true;
        self.model_with(asked, &names)
    }

    fn model_with(&self, asked: Asked, names: &Names) -> Result<Program, DriverError> {
        let program = self.lowered(asked, names)?;
        // A proof about a driver that does nothing says nothing.
        if program.awaits.is_empty() {
            let message = "the driver waits for no message: nothing to check".to_string();
            let path = self.path.display().to_string();
            let shown = path.strip_prefix(&self.project).unwrap_or(&path);
            let place = Place { file: shown.into(), line: 1 };
            return Err(DriverError::Faults(vec![Fault { place, message }]));
        }
        Ok(program)
    }

    fn lowered(&self, asked: Asked, names: &Names) -> Result<Program, DriverError> {
        let name = self.path.display().to_string();
        let lines = Lines::new(&self.text, &name, &self.base, &self.framework).relative_to(&self.project);
        let mut faults = subset::words(&lines, &self.text);
        let unit = match self.unit(&lines) {
            Err(DriverError::Faults(more)) => {
                faults.extend(more);
                return Err(DriverError::Faults(faults));
            }
            other => other?,
        };
        faults.extend(subset::forms(unit, &lines));
        match lower(unit, &lines, &self.protocols, names, &self.primitives, asked) {
            Ok(program) if faults.is_empty() => return Ok(program),
            Ok(_) => {}
            Err(more) => faults.extend(more),
        }
        faults.sort();
        faults.dedup();
        Err(DriverError::Faults(faults))
    }

    /// The syntax tree, which all models have in common.
    fn unit(&self, lines: &Lines) -> Result<&TranslationUnit, DriverError> {
        if let Some(unit) = self.unit.get() {
            return Ok(unit);
        }
        let unit = match &self.beginning {
            Some(beginning) => parse_behind(beginning, &self.text, lines)?,
            None => parse(&self.text, lines)?,
        };
        Ok(self.unit.get_or_init(|| unit))
    }
}

/// The number of a protocol is that of its port, of which a driver has one for each protocol.
fn one_number_each(protocols: &[Checked]) -> Result<(), DriverError> {
    for (index, one) in protocols.iter().enumerate() {
        if let Some(other) = protocols[..index].iter().find(|other| {
            let is_both = one.protocol.name.strip_suffix(TOWARDS_DRIVER) == Some(&other.protocol.name);
            other.protocol.number == one.protocol.number && !is_both
        }) {
            let (number, first, second) = (one.protocol.number, &other.protocol.name, &one.protocol.name);
            return Err(DriverError::Protocol(format!(
                "the driver speaks `{first}` and `{second}`, which both have the number {number}: \
                 give one of them another number, 1 to 15, behind its name in {second}.proto"
            )));
        }
    }
    Ok(())
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

fn write_headers(source: &Source, protocols: &[Checked]) -> Result<(), DriverError> {
    std::fs::create_dir_all(&source.scratch).map_err(|error| DriverError::File(source.scratch.clone(), error))?;
    for checked in protocols {
        let path = source.scratch.join(format!("{}_protocol.h", checked.protocol.name));
        let text = generate::header::header(&checked.protocol, "Generated by `drivercheck`; changes here are lost.");
        if !std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            std::fs::write(&path, text).map_err(|error| DriverError::File(path, error))?;
        }
    }
    Ok(())
}

fn preprocess(source: &Source, build: &Build) -> Result<String, DriverError> {
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|error| DriverError::File(path.to_path_buf(), error));
    if let [file] = source.files.as_slice() {
        if file.extension().is_some_and(|extension| extension == "i") {
            return read(file);
        }
    }
    let mut all = String::new();
    for file in &source.files {
        all.push_str(&build.preprocess(file, &source.include)?);
        all.push('\n');
    }
    // The driver's own files, as the markers name them: they may not give lines other places.
    let named: BTreeSet<String> = all.lines().filter_map(|line| Some(marker(line)?.1)).collect();
    let mut faults = Vec::new();
    for name in named.iter().filter(|name| !build.is_framework(name)) {
        let path = build.path(name);
        if !path.is_file() {
            continue;
        }
        for (line, message) in subset::directives::refused(&read(&path)?) {
            faults.push(Fault { place: Place { file: name.as_str().into(), line }, message });
        }
    }
    if faults.is_empty() {
        Ok(all)
    } else {
        Err(DriverError::Faults(faults))
    }
}
