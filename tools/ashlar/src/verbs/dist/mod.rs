//! `dist`: packs a distribution, in which projects are built and run as in the tree, without the sources of kernel, proofs and
//! tools. Its folders have the names of the tree's.

mod contents;
mod evidence;
mod licences;

use super::book;
use crate::cli::{DistOptions, Verb};
use crate::results::{DistEvidence, DistResult};
use builder::{build_kernel, build_programs, build_unit_library, KernelOptions, Lock};
use evidence::Evidence;
use output::{Failure, Output};
use project::Project;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The kernels that are packed: of each kind of lock a release, a debug and a trace build.
fn kernels() -> Vec<KernelOptions> {
    let kinds = |lock| {
        [(false, false), (true, false), (false, true)].map(|(debug, trace)| KernelOptions { lock, debug, trace })
    };
    [Lock::Ticket, Lock::Mcs, Lock::Big].into_iter().flat_map(kinds).collect()
}

pub fn dist(options: &DistOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let kernels = kernels();
    let progress = output.progress(5);
    progress.step("building the kernels");
    kernels.iter().try_for_each(|kernel| build_kernel(kernel, project, output))?;
    progress.step("building the programs");
    for debug in [false, true] {
        build_programs(&KernelOptions { debug, ..KernelOptions::default() }, project, output)?;
    }
    build_unit_library(project, output)?;
    progress.step("building the book");
    book::html(project, &output.only_failures())?;
    progress.step(if options.evidence { "making the evidence" } else { "comparing the evidence" });
    let evidence = evidence::all(project, options.evidence, output)?;
    progress.step("packing");
    let name = format!("ashlar-{VERSION}");
    let stage = project.build().join("dist");
    let archive = options.output.clone().unwrap_or_else(|| project.build().join(format!("{name}-x86_64.tar.xz")));
    let folder = stage.join(&name);
    empty(&folder)?;
    contents::copy(project, &folder, &kernels)?;
    licences::copy(project, &folder)?;
    write_evidence(&evidence, &folder)?;
    write(&folder.join(project::DISTRIBUTION_FILE), &contents::description(project, VERSION, &kernels))?;
    contents::write_checksums(&folder)?;
    pack(&stage, &name, &archive)?;
    let sha256 = hash(&archive)?;
    output.human(&format!("archive   {}", project.shown(&archive)));
    output.human(&format!("sha256    {sha256}"));
    evidence.iter().for_each(|one| output.human(&format!("{:9} {}", one.name, one.state())));
    let evidence =
        evidence.iter().map(|one| DistEvidence { name: one.name.into(), state: one.state().into() }).collect();
    output.json(&DistResult { archive, sha256, evidence });
    Ok(())
}

/// Refuses what only the source tree can do.
pub fn needs_no_sources(verb: &Verb, project: &Project) -> Result<(), Failure> {
    let what = match verb {
        Verb::Prove(_) => "the proofs",
        Verb::Bench(_) => "the benchmarks",
        Verb::Book(_) => "the sources of the book; its pages are in the folder book",
        Verb::Campaign(_) => "what the campaigns change",
        Verb::Dist(_) => "what a distribution is made of",
        Verb::Test(_) if project.own().is_none() => "tests of its own",
        _ => return Ok(()),
    };
    let remedy = match verb {
        Verb::Test(_) => "go into a project, which has tests; `ashlar new NAME` makes one",
        _ => "use Ashlar's source tree",
    };
    Err(Failure::unable(format!("a distribution does not have {what}"), remedy))
}

fn write_evidence(evidence: &[Evidence], folder: &Path) -> Result<(), Failure> {
    let folder = folder.join("evidence");
    for one in evidence {
        if let Some(text) = one.text() {
            write(&folder.join(format!("{}.json", one.name)), text)?;
        }
    }
    write(&folder.join("README.md"), &evidence::page(evidence))
}

/// Packs the folder `name` of `stage`. Two archives of the same files are the same.
fn pack(stage: &Path, name: &str, archive: &Path) -> Result<(), Failure> {
    let new = archive.with_extension("new");
    if let Some(folder) = archive.parent() {
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    let mut tar = Command::new("tar");
    tar.args([
        "--sort=name",
        "--mtime=@0",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        // One who unpacks it for others gives them what he may read.
        "--mode=u=rwX,go=rX",
        "--use-compress-program=xz -T0",
    ]);
    run(tar.arg("-cf").arg(&new).arg("-C").arg(stage).arg(name))?;
    std::fs::rename(&new, archive).map_err(|error| unwritable(archive, &error))
}

/// Runs a program that says nothing if it succeeds.
fn run(command: &mut Command) -> Result<(), Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr).trim().to_string();
            Err(Failure::unable(format!("{program} failed: {said}"), "check permissions and free space"))
        }
        Err(error) => {
            Err(Failure::unable(format!("{program} cannot be started: {error}"), format!("install {program}")))
        }
    }
}

fn empty(folder: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unwritable(folder, &error)),
        _ => std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error)),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(path, text)).map_err(|error| unwritable(path, &error))
}

fn hash(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::unable(format!("{} cannot be read: {error}", path.display()), "build the tree again")
    })?;
    Ok(Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::unable(format!("{} cannot be written: {error}", path.display()), "check permissions and free space")
}

/// Every file in `folder` and below, sorted.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| Failure::unable(format!("{} cannot be read: {error}", folder.display()), "restore it");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        match entry.file_type().map_err(unreadable)?.is_dir() {
            true => files.extend(files_in(&entry.path())?),
            false => files.push(entry.path()),
        }
    }
    files.sort();
    Ok(files)
}
