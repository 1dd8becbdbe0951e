//! Compiles the proofs, asks Coq what they state and which axioms they use, and compares that with what the tree claims.
//!
//! In this order: checks of the sources, which take a second; the build; queries to Coq about every claimed theorem; then, if
//! asked for, the campaigns: mutants of the C, of the specifications and of the assumptions, specifications against the C, and
//! the independent checker. A finding in the sources ends the run before the build: proofs about other code than the one that
//! boots are worthless.

mod budget;
mod campaigns;
mod conformance;
mod coq;
mod error;
mod finding;
mod mutants;
mod options;
mod pages;
mod progress;
mod report;
mod result;
mod sources;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use finding::Finding;
pub use options::{Options, Sample};
pub use progress::{Progress, Silent};
pub use report::Report;
pub use result::ProveResult;

use coq::compile::{make_folder, Copy};
use coq::query;
use project::Project;
use sources::tree::Tree;
use sources::{certified, closure, forbidden, generated, theorems, tree};
use std::path::Path;
use std::time::{Duration, Instant};

/// A file that takes so much processor time is given up.
const FILE_LIMIT: Duration = Duration::from_secs(300);

pub fn prove(options: &Options, project: &Project, progress: &dyn Progress) -> Result<Report, Error> {
    let started = Instant::now();
    let (tree, listed) = Tree::read(project)?;
    let mut report = Report { findings: listed, unlisted: tree.unlisted(), ..Report::default() };
    let claims = guards(options, project, &tree, &mut report)?;
    if let Some(layer) = &options.layer {
        certified_layer(layer, &report.layers)?;
    }
    if report.findings.is_empty() {
        let _lock = lock(&project.build())?;
        after_guards(options, project, &tree, &claims, &mut report, progress)?;
    }
    report.seconds = (started.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    Ok(report)
}

/// What the sources alone show.
fn guards(options: &Options, project: &Project, tree: &Tree, report: &mut Report) -> Result<certified::Claims, Error> {
    for file in tree.files.iter().filter(|file| tree.folder.join(file).is_file()) {
        report.findings.extend(forbidden::forbidden(&format!("proof/{file}"), &tree.text(file)?));
    }
    report.findings.extend(generated::stale(project)?);
    let (claims, bad) = certified::claims(tree)?;
    report.findings.extend(bad);
    for file in theorems::FILES.iter().filter(|file| tree.files.iter().any(|listed| listed == *file)) {
        let (theorems, bad) = theorems::read(file, &tree.text(file)?);
        report.theorems.extend(theorems);
        report.findings.extend(bad);
    }
    if !report.theorems.is_empty() {
        let items = closure::closure(tree)?;
        let path = project.root().join(closure::FILE);
        if options.write {
            std::fs::write(&path, closure::page(&items)).map_err(|error| Error::unwritable(&path, error))?;
        }
        report.findings.extend(closure::changed(&items, &std::fs::read_to_string(&path).unwrap_or_default()));
    }
    let order = tree::read(&project.root().join("kernel/layers.order"))?;
    let order: Vec<String> = order
        .lines()
        .map(|line| line.split('#').next().unwrap_or("").trim().to_string())
        .filter(|name| !name.is_empty())
        .collect();
    let (layers, bad) = certified::layers(&order, tree, &claims, &generated::functions(project)?)?;
    report.layers = layers;
    report.findings.extend(bad);
    Ok(claims)
}

/// Before a long build: only certified functions have mutants that are tried.
fn certified_layer(name: &str, layers: &[certified::Layer]) -> Result<(), Error> {
    if layers.iter().any(|layer| layer.name == name && layer.certified() > 0) {
        return Ok(());
    }
    Err(Error::UnknownLayer(name.to_string()))
}

fn after_guards(
    options: &Options,
    project: &Project,
    tree: &Tree,
    claims: &certified::Claims,
    report: &mut Report,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let folder = project.build().join("proof");
    let anew = options.full || options.audit;
    if anew && folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| Error::unwritable(&folder, error))?;
    }
    if options.write && !report.theorems.is_empty() {
        // Before the build: the old script asks about theorems that may be gone.
        let script = project.root().join(theorems::SCRIPT);
        std::fs::write(&script, theorems::script(&report.theorems))
            .map_err(|error| Error::unwritable(&script, error))?;
    }
    let copy = Copy::make(tree, &folder)?;
    let (costs, refused) = copy.build(FILE_LIMIT, progress)?;
    if anew {
        report.findings.extend(budget::over_budget(&costs));
    }
    let broken = copy.files.len() - costs.len();
    report.costs = costs;
    report.findings.extend(refused.into_iter().map(Finding::from));
    if broken > 0 {
        if report.findings.iter().all(|finding| finding.kind != "broken-proof") {
            report.findings.push(Finding::at(
                "bad-list",
                "proof/_CoqProject",
                None,
                "the files need each other in a circle",
            ));
        }
        return Ok(());
    }
    questions(options, project, claims, &copy, report)?;
    if report.findings.is_empty() {
        campaigns::run(options, project, &copy, report, progress)?;
    }
    Ok(())
}

/// Asks Coq about every claimed theorem.
fn questions(
    options: &Options,
    project: &Project,
    claims: &certified::Claims,
    copy: &Copy,
    report: &mut Report,
) -> Result<(), Error> {
    let mut names = certified::theorems(claims);
    names.extend(report.theorems.iter().map(|theorem| theorem.name.clone()));
    report.answers = query::ask(copy, &names)?;
    report.asked = true;
    report.findings.extend(certified::hold(claims, &report.answers));
    let page = pages::theorems::page(&report.theorems, &report.layers, &copy.files, &report.answers);
    let mut generated = vec![(pages::theorems::FILE, page)];
    if !report.theorems.is_empty() {
        generated.push((theorems::SCRIPT, theorems::script(&report.theorems)));
    }
    if options.write {
        let list = (theorems::LIST, theorems::list(&report.theorems, &report.answers));
        for (file, text) in generated.iter().chain([&list]) {
            let path = project.root().join(file);
            std::fs::write(&path, text).map_err(|error| Error::unwritable(&path, error))?;
        }
    }
    let committed = |file: &str| std::fs::read_to_string(project.root().join(file)).unwrap_or_default();
    report.findings.extend(theorems::hold(&report.theorems, &report.answers, &committed(theorems::LIST)));
    for (file, text) in generated {
        if committed(file) != text {
            let why = "this file is not what the proofs give; `ashlar prove --write` writes it";
            report.findings.push(Finding::at("stale-file", file, None, why));
        }
    }
    Ok(())
}

/// One `prove` at a time in a tree: the file whose lock is held until it is dropped.
fn lock(folder: &Path) -> Result<std::fs::File, Error> {
    make_folder(folder)?;
    let path = folder.join("proof.lock");
    let file = std::fs::File::create(&path).map_err(|error| Error::unwritable(&path, error))?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)
        .map_err(|error| Error::unwritable(&path, error.into()))?;
    Ok(file)
}
