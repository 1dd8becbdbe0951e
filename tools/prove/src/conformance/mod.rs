//! Conformance of the C to the specifications: each layer's `Spec.v`, extracted to OCaml, and the hosted build of its C perform
//! the same random operations, and every result is compared.
//!
//! `proof/extract` has the operations. The faults of `proof/extract/planted.toml` must be detected: a comparison that misses
//! them is worthless.

pub mod specification_mutants;

use crate::coq::compile::{make_folder, Copy};
use crate::coq::overlay::Links;
use crate::error::Error;
use crate::finding::Finding;
use crate::mutants::code::Mutant;
use crate::progress::{Progress, Steps};
use crate::sources::generated::c2coq;
use crate::sources::tree::{logical, read, ROOT};
use campaign::{Record, Shard};
use project::copies::{mirror, Edit};
use project::{folders, Project};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Operations in which a planted fault must show.
const PLANTED_OPERATIONS: u64 = 20_000;
/// Mutants run as programs.
const MOST_SHOWN: usize = 20;
const PLANTED: &str = "proof/extract/planted.toml";
/// Of each layer: what is extracted, and its operations.
const EXTRACTION: &str = "extraction.v";
const OPERATIONS: &str = "operations.ml";
/// What the specification's side of every layer is linked with.
const COMMON: [&str; 2] = ["conform.ml", "charged.ml"];

/// Operations of one layer on which its extracted specification and the C agreed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Run {
    pub layer: String,
    pub operations: u64,
    pub seed: u64,
}

#[derive(Debug, Deserialize)]
struct Planted {
    #[serde(default)]
    planted: Vec<Fault>,
}

/// An edit below `kernel` or `proof` that the comparison of a layer must see.
#[derive(Debug, Deserialize)]
struct Fault {
    layer: String,
    #[serde(flatten)]
    edit: Edit,
}

/// Layers that have such a pair of programs, of these those of the shard.
pub fn layers(project: &Project, shard: Shard) -> Vec<String> {
    let extract = project.proof().join("extract");
    let all = folders(&extract).into_iter().filter(|layer| extract.join(layer).join(OPERATIONS).is_file());
    all.enumerate().filter(|(place, _)| shard.has(*place)).map(|(_, layer)| layer).collect()
}

/// What a comparison found.
pub struct Compared {
    /// Layers that agree.
    pub runs: Vec<Run>,
    pub findings: Vec<Finding>,
    pub record: Record,
}

/// Compares each layer of the shard over `operations` random operations, then checks that its planted faults are detected.
pub fn conform(
    project: &Project,
    copy: &Copy,
    operations: u64,
    seed: u64,
    shard: Shard,
    progress: &dyn Progress,
) -> Result<Compared, Error> {
    let layers = layers(project, shard);
    let faults: Vec<Fault> = planted(project)?.into_iter().filter(|fault| layers.contains(&fault.layer)).collect();
    let work = project.build().join("conform");
    let record = Record::new("prove-operations", seed, shard);
    let mut found = Compared { runs: Vec::new(), findings: Vec::new(), record };
    let steps = Steps::new(progress, layers.len() + faults.len());
    drivers(project.root(), "")?;
    for layer in &layers {
        steps.next(&format!("specification of {layer}, {operations} operations"));
        let program = specification(project, copy, layer, &work.join(layer))?;
        let difference = compare(&program, &driver(project.root(), layer), operations, seed)?;
        let (word, agree) = if difference.is_none() { ("agrees", true) } else { ("differs", false) };
        found.record.push(layer, word, agree).detail.insert("operations".into(), operations.into());
        match difference {
            None => found.runs.push(Run { layer: layer.clone(), operations, seed }),
            Some(difference) => {
                let text = format!("C and specification differ\n{difference}");
                found.findings.push(Finding::at("conformance", &format!("proof/layers/{layer}/Spec.v"), None, text));
            }
        }
        if !faults.iter().any(|fault| fault.layer == *layer) {
            found.findings.push(Finding::at("conformance", PLANTED, None, format!("no fault is planted in {layer}")));
        }
    }
    // Where the real ones differ, a planted fault shows nothing.
    let faults = if found.findings.is_empty() { faults } else { vec![] };
    for fault in &faults {
        steps.next(&format!("a fault planted in {}", fault.edit.file));
        let unseen = unseen(project, copy, fault, seed)?;
        let word = if unseen.is_none() { "detected" } else { "missed" };
        let id = format!("{}: planted {} => {}", fault.layer, fault.edit.replace, fault.edit.by);
        found.record.push(id, word, unseen.is_none()).detail.insert("place".into(), fault.edit.file.as_str().into());
        if let Some(unseen) = unseen {
            found.findings.push(Finding::at("conformance", PLANTED, None, format!("{}: {unseen}", fault.edit.file)));
        }
    }
    Ok(found)
}

fn planted(project: &Project) -> Result<Vec<Fault>, Error> {
    let text = read(&project.root().join(PLANTED))?;
    let planted: Planted = toml::from_str(&text).map_err(|error| Error::BadFile {
        file: PLANTED,
        message: error.to_string(),
        form: "give layer, file, replace, by",
    })?;
    Ok(planted.planted)
}

/// Builds the C side of a layer of the tree at `root`; of all, if `layer` is empty.
fn drivers(root: &Path, layer: &str) -> Result<(), Error> {
    let (jobs, layer) = (format!("-j{}", crate::coq::compile::jobs()), format!("LAYER={layer}"));
    let mut command = Command::new("make");
    command.args(["--no-print-directory", &jobs, "-C"]).arg(root.join("kernel")).args(["conform", &layer]);
    run(&mut command, "the C side of the comparison does not build").map(|_| ())
}

pub fn driver(root: &Path, layer: &str) -> PathBuf {
    root.join("build/kernel/hosted-ticket/conform").join(layer)
}

/// Extracts and compiles the specification's side in `folder`.
pub fn specification(project: &Project, copy: &Copy, layer: &str, folder: &Path) -> Result<PathBuf, Error> {
    make_folder(folder)?;
    let extract = project.proof().join("extract");
    let own = [EXTRACTION, OPERATIONS].map(|name| (extract.join(layer), name));
    for (from, name) in COMMON.into_iter().map(|name| (extract.clone(), name)).chain(own) {
        let target = folder.join(name);
        std::fs::copy(from.join(name), &target).map_err(|error| Error::unwritable(&target, error))?;
    }
    let mut coqc = Command::new("coqc");
    coqc.args(["-q", "-w", "-extraction", "-Q"]).arg(&copy.folder).args([ROOT, EXTRACTION]).current_dir(folder);
    run(&mut coqc, "the specification cannot be extracted")?;
    let mut ocaml = Command::new("ocamlfind");
    ocaml.args(["ocamlopt", "-O3", "-w", "-a", "-package", "zarith,unix", "-linkpkg"]);
    ocaml.args([format!("{layer}_spec.mli"), format!("{layer}_spec.ml")]).args(COMMON);
    ocaml.args([OPERATIONS, "-o", "conform"]);
    run(ocaml.current_dir(folder), "the extracted specification does not compile")?;
    Ok(folder.join("conform"))
}

/// Runs both sides; the difference, if there is one.
fn compare(program: &Path, driver: &Path, operations: u64, seed: u64) -> Result<Option<String>, Error> {
    run_sides(program, driver, &[operations.to_string(), seed.to_string()])
}

/// Whether the two differ; looks for no short sequence that shows it.
pub fn differ(program: &Path, driver: &Path, seed: u64) -> Result<bool, Error> {
    let arguments = [PLANTED_OPERATIONS.to_string(), seed.to_string(), "whether".into()];
    Ok(run_sides(program, driver, &arguments)?.is_some())
}

fn run_sides(program: &Path, driver: &Path, arguments: &[String]) -> Result<Option<String>, Error> {
    let done = Command::new(program)
        .arg(driver)
        .args(arguments)
        .output()
        .map_err(|error| Error::not_started(&program.display().to_string(), error))?;
    let said = String::from_utf8_lossy(&done.stdout).trim().to_string();
    match done.status.code() {
        Some(0) => Ok(None),
        Some(1) => Ok(Some(said)),
        _ => {
            let complaint = String::from_utf8_lossy(&done.stderr).trim().to_string();
            Err(Error::Refused { what: "the comparison itself failed", output: format!("{said}\n{complaint}") })
        }
    }
}

/// Plants one fault in a copy and compares; why it was not seen, if it was not.
fn unseen(project: &Project, copy: &Copy, fault: &Fault, seed: u64) -> Result<Option<String>, Error> {
    let text = read(&project.root().join(&fault.edit.file))?;
    let damaged = match fault.edit.apply(&text) {
        Ok(damaged) => damaged,
        Err(complaint) => return Ok(Some(complaint)),
    };
    let work = project.build().join("planted");
    let real = project.build().join("conform").join(&fault.layer).join("conform");
    let (program, driver) = match fault.edit.file.strip_prefix("proof/") {
        Some(file) => {
            let links = Links::make(copy, &work.join("proof"))?;
            links.replace(file, &damaged)?;
            if let Err(refused) = links.copy.compile(file, crate::FILE_LIMIT)? {
                return Ok(Some(format!("with the fault, {} does not compile: {}", logical(file), refused.message)));
            }
            let program = specification(project, &links.copy, &fault.layer, &work.join(&fault.layer))?;
            (program, driver(project.root(), &fault.layer))
        }
        None => (real, damaged_driver(project, &fault.layer, &fault.edit.file, &damaged)?),
    };
    let seen = differ(&program, &driver, seed)?;
    Ok((!seen).then(|| format!("`{}` is not detected in {PLANTED_OPERATIONS} operations", fault.edit.by)))
}

/// Builds the C side of a layer in a copy of the tree whose file `file` has another text.
fn damaged_driver(project: &Project, layer: &str, file: &str, text: &str) -> Result<PathBuf, Error> {
    let root = project.build().join("planted/tree");
    for folder in ["kernel", "proof/extract"] {
        mirror(project.root(), &root, folder, false).map_err(|error| Error::unwritable(&root, error))?;
    }
    let path = root.join(file);
    std::fs::write(&path, text).map_err(|error| Error::unwritable(&path, error))?;
    drivers(&root, layer)?;
    Ok(driver(&root, layer))
}

/// Mutants that were run as programs, and how many of them answered wrongly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shown {
    pub run: usize,
    pub wrong: usize,
}

/// Runs mutants that break a proof as programs, to see that what the proofs refuse is really wrong.
pub fn show_wrong(
    project: &Project,
    mutants: &[&Mutant],
    seed: u64,
    shard: Shard,
    progress: &dyn Progress,
) -> Result<Shown, Error> {
    let layers = layers(project, shard);
    let mutants: Vec<&&Mutant> = mutants.iter().filter(|one| layers.contains(&one.layer)).take(MOST_SHOWN).collect();
    let steps = Steps::new(progress, mutants.len());
    let mut shown = Shown::default();
    for mutant in mutants {
        let out = project.build().join("planted/mutant");
        make_folder(&out)?;
        let (number, folder) = (mutant.number.to_string(), out.display().to_string());
        let done = c2coq(project, &["mutate", "--number", &number, "--out", &folder])?;
        let name = Path::new(&mutant.file).file_name().unwrap_or_default();
        let text = if done.status.success() { read(&out.join(name))? } else { continue };
        let driver = damaged_driver(project, &mutant.layer, &mutant.file, &text)?;
        let program = project.build().join("conform").join(&mutant.layer).join("conform");
        let wrong = differ(&program, &driver, seed)?;
        shown = Shown { run: shown.run + 1, wrong: shown.wrong + usize::from(wrong) };
        steps.next(&format!(
            "{} {}",
            mutant.description(),
            if wrong { "gives wrong results" } else { "is not detected" }
        ));
    }
    Ok(shown)
}

fn run(command: &mut Command, complaint: &'static str) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| Error::not_started(&name, error))?;
    let (said, complained) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    if done.status.success() {
        return Ok(said.into_owned());
    }
    Err(Error::Refused { what: complaint, output: format!("{}\n{}", said.trim(), complained.trim()) })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_planted_faults_of_the_tree_can_be_read() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(super::PLANTED);
        let planted: super::Planted = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert!(planted.planted.iter().all(|fault| fault.edit.replace != fault.edit.by));
    }
}
