//! The certified files of the kernel, the configuration of each, and where its Coq terms are written.
//!
//! A layer's debug checks (`LAYER_check.c`) and tests are not certified: they are not part of the kernel that boots.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::ast::{Function, Stmt, StmtKind};
use crate::coq;
use crate::finding::{Code, Finding};
use crate::mutate::{self, function_mutants, Mutant};
use crate::{check, print, Checked, Options};

/// A layer as it is certified.
#[derive(Debug, PartialEq, Eq)]
pub struct Certified {
    /// The layer's name; of a second build of a layer a name of its own.
    pub name: &'static str,
    pub layer: &'static str,
    /// The build's choice of locks.
    pub lock: &'static str,
    /// Below `proof/`.
    pub code: &'static str,
    /// Sources of the layer; without any, all but its tests and debug walks.
    pub sources: &'static [&'static str],
}

/// The certified layers, lowest first. A layer, or a file of one, joins the proofs by joining this table.
pub const CERTIFIED: &[Certified] = &[
    Certified {
        name: "spinlock",
        layer: "spinlock",
        lock: "TICKET",
        code: "layers/spinlock/Code.v",
        sources: &["spinlock.c", "spinlock_ticket.c"],
    },
    Certified {
        name: "spinlock-mcs",
        layer: "spinlock",
        lock: "MCS",
        code: "layers/spinlock/CodeMcs.v",
        sources: &["spinlock.c", "spinlock_mcs.c"],
    },
    Certified { name: "timer", layer: "timer", lock: "TICKET", code: "layers/timer/Code.v", sources: &[] },
    Certified { name: "container", layer: "container", lock: "TICKET", code: "layers/container/Code.v", sources: &[] },
    Certified { name: "frame", layer: "frame", lock: "TICKET", code: "layers/frame/Code.v", sources: &[] },
    Certified { name: "pagemap", layer: "pagemap", lock: "TICKET", code: "layers/pagemap/Code.v", sources: &[] },
    Certified { name: "share", layer: "share", lock: "TICKET", code: "layers/share/Code.v", sources: &[] },
    Certified { name: "queue", layer: "queue", lock: "TICKET", code: "layers/queue/Code.v", sources: &[] },
    Certified { name: "uctx", layer: "uctx", lock: "TICKET", code: "layers/uctx/Code.v", sources: &[] },
    Certified { name: "thread", layer: "thread", lock: "TICKET", code: "layers/thread/Code.v", sources: &[] },
    Certified {
        name: "sched",
        layer: "sched",
        lock: "TICKET",
        code: "layers/sched/Code.v",
        sources: &[
            "sched_cpu.c",
            "sched_alarm.c",
            "sched_ready.c",
            "sched_event.c",
            "sched_budget.c",
            "sched_pick.c",
            "sched_wake.c",
            "sched.c",
            "sched_loan.c",
        ],
    },
    Certified { name: "cv", layer: "cv", lock: "TICKET", code: "layers/cv/Code.v", sources: &[] },
    Certified { name: "buffer", layer: "buffer", lock: "TICKET", code: "layers/buffer/Code.v", sources: &[] },
    Certified { name: "notify", layer: "notify", lock: "TICKET", code: "layers/notify/Code.v", sources: &[] },
    Certified { name: "device", layer: "device", lock: "TICKET", code: "layers/device/Code.v", sources: &[] },
];

#[derive(Debug, thiserror::Error)]
pub enum CoqError {
    #[error("the C is outside the subset")]
    Subset(Box<Checked>),
    #[error("the C has no image in Coq")]
    Refused(Vec<Finding>),
    #[error("no certified layer is named `{0}`")]
    Unknown(String),
    #[error("{path} cannot be read: {error}", path = path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error(transparent)]
    Check(#[from] crate::Error),
}

/// A generated file.
#[derive(Debug, PartialEq, Eq)]
pub struct CoqFile {
    pub layer: String,
    /// Below `proof/`.
    pub path: PathBuf,
    pub text: String,
}

impl Certified {
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.layer == name
    }

    /// Paths of the sources, the layer's own file first.
    pub fn paths(&self, kernel: &Path) -> Result<Vec<PathBuf>, CoqError> {
        let dir = kernel.join("layers").join(self.layer);
        if !self.sources.is_empty() {
            return Ok(self.sources.iter().map(|source| dir.join(source)).collect());
        }
        layer_files(&dir)
    }

    /// The layer's tree; with the invariant walks as in debug builds.
    pub fn checked(&self, kernel: &Path, debug: bool) -> Result<Checked, CoqError> {
        self.checked_in(kernel, &Build { lock: self.lock, debug, trace: false })
    }

    /// The layer's tree in a build.
    fn checked_in(&self, kernel: &Path, build: &Build) -> Result<Checked, CoqError> {
        let defines = crate::defines(build.lock, build.debug, build.trace);
        let checked = check(&self.paths(kernel)?, &Options { defines, ..Options::default() })?;
        if checked.faults.is_empty() {
            Ok(checked)
        } else {
            Err(CoqError::Subset(Box::new(checked)))
        }
    }

    /// A tree of this layer as Coq.
    pub fn file(&self, checked: &Checked) -> Result<CoqFile, CoqError> {
        coq_file(self.layer, self.code, checked)
    }
}

/// A tree as Coq, for a file below `proof/`.
fn coq_file(layer: &str, path: &str, checked: &Checked) -> Result<CoqFile, CoqError> {
    let text = coq::layer(layer, &checked.program.units, &checked.sources).map_err(|refusals| {
        let finding = |refusal: coq::Refusal| Finding {
            code: Code::NoCoqTerm,
            file: checked.sources.get(refusal.span.file).path.clone(),
            line: Some(checked.sources.position(refusal.span.file, refusal.span.start).0),
            message: refusal.message,
            remedy: refusal.remedy,
        };
        CoqError::Refused(refusals.into_iter().map(finding).collect())
    })?;
    Ok(CoqFile { layer: layer.to_string(), path: PathBuf::from(path), text })
}

/// The C files of a layer's folder but its tests and debug walks, the layer's own file first.
fn layer_files(dir: &Path) -> Result<Vec<PathBuf>, CoqError> {
    let read = |error| CoqError::Read { path: dir.to_path_buf(), error };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(read)? {
        let path = entry.map_err(read)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.ends_with(".c") && !name.ends_with("_test.c") && !name.ends_with("_check.c") {
            paths.push(path);
        }
    }
    paths.sort_by_key(|path| path.with_extension(""));
    Ok(paths)
}

/// The functions of each layer, lowest layer first, in the order of its files: of all layers, translated or not.
pub fn functions(kernel: &Path) -> Result<Vec<(String, Vec<String>)>, CoqError> {
    let mut layers = Vec::new();
    for (layer, checked) in booted(kernel)? {
        let mut names = Vec::new();
        for unit in &checked.program.units {
            let mut defined: Vec<_> = unit.functions.iter().filter(|function| function.body.is_some()).collect();
            defined.sort_by_key(|function| function.span);
            names.extend(defined.into_iter().map(|function| function.name.clone()));
        }
        layers.push((layer, names));
    }
    Ok(layers)
}

/// The trees of all layers in the build that boots, lowest layer first, with the order's names.
pub fn booted(kernel: &Path) -> Result<Vec<(String, Checked)>, CoqError> {
    built(kernel, &Build::BOOTED)
}

/// The same in another build.
pub fn built(kernel: &Path, build: &Build) -> Result<Vec<(String, Checked)>, CoqError> {
    let order = crate::read_order(&kernel.join("layers.order"))?;
    let mut layers = Vec::new();
    for layer in order.names() {
        let paths = layer_files(&kernel.join("layers").join(layer))?;
        let defines = crate::defines(build.lock, build.debug, build.trace);
        let checked = check(&paths, &Options { defines, ..Options::default() })?;
        if !checked.faults.is_empty() {
            return Err(CoqError::Subset(Box::new(checked)));
        }
        layers.push((layer.clone(), checked));
    }
    Ok(layers)
}

/// The name of the contracts, and of their folder below `proof/`.
pub const ARCH: &str = "arch";

/// The trees of the contracts of `arch`, which stand beside the kernel's folder; none if there are none. `debug`: with the checks
/// that `arch` makes in debug builds.
pub fn contracts(kernel: &Path, debug: bool) -> Result<Option<Checked>, CoqError> {
    let folder = kernel.join("../proof").join(ARCH);
    if !folder.is_dir() {
        return Ok(None);
    }
    let defines = crate::defines("TICKET", debug, false);
    let include_dirs = vec![kernel.to_path_buf(), kernel.join("arch")];
    let checked = check(&layer_files(&folder)?, &Options { defines, include_dirs, ..Options::default() })?;
    if checked.faults.is_empty() {
        Ok(Some(checked))
    } else {
        Err(CoqError::Subset(Box::new(checked)))
    }
}

/// The generated files of the layers, or of all with the constants they share.
pub fn files(kernel: &Path, layers: &[String]) -> Result<Vec<CoqFile>, CoqError> {
    if let Some(unknown) = layers.iter().find(|layer| CERTIFIED.iter().all(|known| !known.is_named(layer))) {
        return Err(CoqError::Unknown(unknown.clone()));
    }
    let chosen = |known: &&Certified| layers.is_empty() || layers.iter().any(|layer| known.is_named(layer));
    let mut files = Vec::new();
    let mut trees = Vec::new();
    for certified in CERTIFIED.iter().filter(chosen) {
        let checked = certified.checked(kernel, false)?;
        files.push(certified.file(&checked)?);
        trees.push(checked);
    }
    if layers.is_empty() {
        let programs: Vec<_> = trees.iter().map(|checked| (&checked.program.units[..], &checked.sources)).collect();
        let text = coq::shared_constants(&programs);
        files.insert(0, CoqFile { layer: "lang".to_string(), path: PathBuf::from("lang/Constants.v"), text });
        if let Some(checked) = contracts(kernel, false)? {
            files.push(coq_file(ARCH, "arch/Code.v", &checked)?);
        }
    }
    Ok(files)
}

/// A configuration of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Build {
    pub lock: &'static str,
    pub debug: bool,
    pub trace: bool,
}

impl Build {
    /// The build that boots if nothing else is asked for.
    pub const BOOTED: Build = Build { lock: "TICKET", debug: false, trace: false };

    /// The build of this name, as the folder of its image has it behind the processor's: `mcs-debug`.
    pub fn named(name: &str) -> Option<Build> {
        Build::all().find(|build| build.short_name() == name)
    }

    pub fn short_name(&self) -> String {
        let debug = if self.debug { "-debug" } else { "" };
        let trace = if self.trace { "-trace" } else { "" };
        format!("{}{debug}{trace}", self.lock.to_lowercase())
    }

    fn all() -> impl Iterator<Item = Build> {
        let locks = ["TICKET", "MCS", "BIG"].into_iter();
        let debugs = locks.flat_map(|lock| [(lock, false), (lock, true)]);
        debugs.flat_map(|(lock, debug)| [false, true].map(|trace| Build { lock, debug, trace }))
    }

    fn name(&self) -> String {
        let debug = if self.debug { " with DEBUG" } else { "" };
        let trace = if self.trace { " with TRACE" } else { "" };
        format!("LOCK_{}{debug}{trace}", self.lock)
    }
}

/// What makes a certified tree depend on the build. Choices of locks give the same tree, except in the layer that has the
/// locks; debug builds add functions and objects, and change none; trace builds add calls that record an event, and change
/// nothing else.
pub fn dependent(kernel: &Path) -> Result<Vec<Finding>, CoqError> {
    let mut findings = Vec::new();
    for certified in CERTIFIED {
        let base = certified.checked(kernel, false)?;
        let expected = definitions(&base);
        for build in Build::all() {
            if certified.layer == "spinlock" && build.lock != certified.lock {
                continue;
            }
            let mut other = certified.checked_in(kernel, &build)?;
            if build.trace {
                without_records(&mut other);
            }
            let found = definitions(&other);
            let differs = |name: &str| {
                format!("layer {}: {name} is another one in a build with {}", certified.name, build.name())
            };
            let gone =
                expected.iter().filter(|(name, (text, _))| found.get(*name).is_none_or(|(other, _)| other != text));
            let more = build.debug || build.trace;
            let added = found.iter().filter(|(name, _)| !more && !expected.contains_key(*name));
            let report = |(name, (_, place)): (&String, &(String, (PathBuf, u32)))| Finding {
                code: Code::OtherTree,
                file: place.0.clone(),
                line: Some(place.1),
                message: differs(name),
                remedy: "take away the condition that makes it depend on the build".to_string(),
            };
            findings.extend(gone.chain(added).map(report));
        }
    }
    // Of the builds that differ, the first is named.
    findings.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    findings.dedup_by(|a, b| (&a.file, a.line) == (&b.file, b.line));
    Ok(findings)
}

/// The function that records an event in a trace build.
const RECORD: &str = "trace_event";

/// Takes the calls that record an event out of a tree.
fn without_records(checked: &mut Checked) {
    for unit in &mut checked.program.units {
        let records = unit.functions.iter().position(|function: &Function| function.name == RECORD);
        let Some(records) = records else { continue };
        for body in unit.functions.iter_mut().filter_map(|function| function.body.as_mut()) {
            without_calls(body, records);
        }
    }
}

/// Takes the calls of a function out of statements, and the conditions under which nothing else was done.
fn without_calls(statements: &mut Vec<Stmt>, function: usize) {
    let is_call = |statement: &Stmt| matches!(&statement.kind, StmtKind::Call(call) if call.function.0 == function);
    statements.retain(|statement| match &statement.kind {
        StmtKind::If(_, yes, no) => !no.is_empty() || yes.is_empty() || !yes.iter().all(is_call),
        _ => !is_call(statement),
    });
    for statement in statements {
        match &mut statement.kind {
            StmtKind::Block(inner) | StmtKind::While(_, inner) | StmtKind::For { body: inner, .. } => {
                without_calls(inner, function);
            }
            StmtKind::If(_, yes, no) => {
                without_calls(yes, function);
                without_calls(no, function);
            }
            StmtKind::Skip
            | StmtKind::Local(..)
            | StmtKind::Assign(..)
            | StmtKind::Call(_)
            | StmtKind::Break
            | StmtKind::Return(_) => {}
        }
    }
}

/// What a layer's Coq terms define, with its place in the C.
fn definitions(checked: &Checked) -> BTreeMap<String, (String, (PathBuf, u32))> {
    let place = |span: crate::source::Span| {
        (checked.sources.get(span.file).path.clone(), checked.sources.position(span.file, span.start).0)
    };
    coq::definitions(&checked.program.units)
        .into_iter()
        .map(|(name, text, span)| (name, (text, place(span))))
        .filter(|(_, (_, (file, _)))| file.as_os_str() != "<command line>")
        .collect()
}

/// All mutants of the certified layers, numbered.
pub fn mutants(kernel: &Path) -> Result<Vec<Mutant>, CoqError> {
    let mut mutants = Vec::new();
    for certified in CERTIFIED {
        let checked = certified.checked(kernel, false)?;
        for unit in &checked.program.units {
            let mut functions: Vec<_> = unit.functions.iter().filter(|function| function.body.is_some()).collect();
            functions.sort_by_key(|function| function.span);
            for function in functions {
                for mutant in function_mutants(unit, function, &checked.sources) {
                    let layer = certified.name.to_string();
                    let code = certified.code.to_string();
                    let file = format!("kernel/layers/{}/{}", certified.layer, mutant.file);
                    mutants.push(Mutant { number: mutants.len(), layer, code, file, ..mutant });
                }
            }
        }
    }
    Ok(mutants)
}

/// The mutated file of Coq terms, and the mutated C file as the hosted tests need it.
pub fn mutated(kernel: &Path, mutant: &Mutant) -> Result<(CoqFile, String), CoqError> {
    let unknown = || CoqError::Unknown(mutant.layer.clone());
    let certified = CERTIFIED.iter().find(|certified| certified.code == mutant.code).ok_or_else(unknown)?;
    let change = |debug| {
        let mut checked = certified.checked(kernel, debug)?;
        let unit =
            checked.program.units.iter_mut().find(|unit| unit.path.file_name() == Path::new(&mutant.file).file_name());
        let unit = unit.filter(|unit| unit.functions.iter().any(|function| function.name == mutant.function));
        let unit = unit.ok_or_else(unknown)?;
        mutate::apply(unit, &mutant.function, mutant.at);
        let c = print::c(unit);
        Ok::<_, CoqError>((checked, c))
    };
    let (checked, _) = change(false)?;
    let (_, c) = change(true)?;
    Ok((certified.file(&checked)?, c))
}

/// What is wrong with a committed file: nothing, or the definition where it parts from a fresh one.
pub fn stale(fresh: &CoqFile, path: &Path, committed: &str) -> Option<Finding> {
    if committed == fresh.text {
        return None;
    }
    let at = fresh.text.lines().zip(committed.lines()).take_while(|(fresh, old)| fresh == old).count();
    // The definition that holds the first line that differs.
    let definition = fresh.text.lines().take(at + 1).filter_map(|line| line.strip_prefix("Definition ")).last();
    let name = definition.and_then(|rest| rest.split([' ', ':']).next()).unwrap_or("its beginning");
    Some(Finding {
        code: Code::StaleCode,
        file: path.to_path_buf(),
        line: u32::try_from(at + 1).ok(),
        message: format!("layer {}: {} is not what the C gives", fresh.layer, name.trim_end_matches("_code")),
        remedy: "run c2coq coq, and mend the proofs".to_string(),
    })
}
