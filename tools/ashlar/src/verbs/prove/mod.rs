//! `prove`: builds the proofs, asks Coq what they say and rest on, and holds that against what the tree claims.
//!
//! In this order: guards on the sources, which take a second; the build; questions to Coq about every claimed theorem;
//! then, where asked for, mutants of the C, of the specifications and of the assumptions, specifications against the C, and
//! the independent checker. A guard that finds
//! something ends the run before the build: proofs about other code than the one that boots say nothing.

mod build;
mod certified;
mod checker;
mod conform;
mod coq;
mod excerpt;
mod finding;
mod forbidden;
mod fresh;
mod links;
mod mutants;
mod mutants_page;
mod page;
mod report;
mod results;
#[cfg(test)]
mod tests;
mod theorems;
mod tree;
mod trial;
mod words;
mod wrong;

use crate::cli::{ProveOptions, Sample};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use build::{cannot_write, Copy, Cost};
use finding::Finding;
use report::Report;
use results::Results;
use std::path::Path;
use std::time::{Duration, Instant};
use tree::Tree;
use trial::Trials;

/// A file that takes longer is split or sped up; five times as long, and it is given up.
const FILE_SECONDS: f64 = 60.0;
const FILE_LIMIT: Duration = Duration::from_secs(300);
const QED_SECONDS: f64 = 5.0;
/// Of one processor.
const ALL_SECONDS: f64 = 2.0 * 30.0 * 60.0;
/// Random operations of each specification in an audit.
const AUDIT_OPERATIONS: u64 = 1_000_000;

pub fn prove(options: &ProveOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let started = Instant::now();
    let (tree, listed) = Tree::read(project)?;
    let mut report = Report { findings: listed, unlisted: tree.unlisted(), ..Report::default() };
    let claims = guards(project, &tree, &mut report)?;
    if let Some(layer) = &options.layer {
        certified_layer(layer, &report.layers)?;
    }
    if report.findings.is_empty() {
        let _lock = lock(&project.build())?;
        after_guards(options, project, &tree, &claims, &mut report, output)?;
    }
    report.seconds = (started.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    report.show(output);
    match report.findings.len() {
        0 => Ok(()),
        1 => Err(Failure::Finding("1 finding".into())),
        count => Err(Failure::Finding(format!("{count} findings"))),
    }
}

/// What the sources alone show.
fn guards(project: &Project, tree: &Tree, report: &mut Report) -> Result<certified::Claims, Failure> {
    for file in tree.files.iter().filter(|file| tree.folder.join(file).is_file()) {
        report.findings.extend(forbidden::forbidden(&format!("proof/{file}"), &tree.text(file)?));
    }
    report.findings.extend(fresh::stale(project)?);
    let (claims, bad) = certified::claims(tree)?;
    report.findings.extend(bad);
    for file in theorems::FILES.iter().filter(|file| tree.files.iter().any(|listed| listed == *file)) {
        let (theorems, bad) = theorems::read(file, &tree.text(file)?);
        report.theorems.extend(theorems);
        report.findings.extend(bad);
    }
    let order = tree::read(&project.root().join("kernel/layers.order"))?;
    let order: Vec<String> = order
        .lines()
        .map(|line| line.split('#').next().unwrap_or("").trim().to_string())
        .filter(|name| !name.is_empty())
        .collect();
    let (layers, bad) = certified::layers(&order, tree, &claims)?;
    report.layers = layers;
    report.findings.extend(bad);
    Ok(claims)
}

/// Before a long build: only certified functions have mutants that are tried.
fn certified_layer(name: &str, layers: &[certified::Layer]) -> Result<(), Failure> {
    if layers.iter().any(|layer| layer.name == name && layer.certified() > 0) {
        return Ok(());
    }
    let remedy = format!("{} lists the layers", certified::FILE);
    Err(Failure::unable(format!("no function of a layer `{name}` is certified"), remedy))
}

fn after_guards(
    options: &ProveOptions,
    project: &Project,
    tree: &Tree,
    claims: &certified::Claims,
    report: &mut Report,
    output: &Output,
) -> Result<(), Failure> {
    let folder = project.build().join("proof");
    let anew = options.full || options.audit;
    if anew && folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
    }
    if options.write && !report.theorems.is_empty() {
        // Before the build: the old script asks about theorems that may be gone.
        let script = project.root().join(theorems::SCRIPT);
        std::fs::write(&script, theorems::script(&report.theorems)).map_err(|error| cannot_write(&script, &error))?;
    }
    let copy = Copy::make(tree, &folder)?;
    let (costs, refused) = copy.build(FILE_LIMIT, output)?;
    if anew {
        report.findings.extend(over_budget(&costs));
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
        campaigns(options, project, &copy, report, output)?;
    }
    Ok(())
}

/// Asks Coq about every claimed theorem.
fn questions(
    options: &ProveOptions,
    project: &Project,
    claims: &certified::Claims,
    copy: &Copy,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut names = certified::theorems(claims);
    names.extend(report.theorems.iter().map(|theorem| theorem.name.clone()));
    report.answers = coq::ask(copy, &names)?;
    report.asked = true;
    report.findings.extend(certified::hold(claims, &report.answers));
    let main = project.root().join("proof").join(theorems::MAIN);
    let setting = if report.theorems.is_empty() { String::new() } else { theorems::setting(&tree::read(&main)?) };
    let mut generated = vec![(page::FILE, page::page(&setting, &report.theorems, &report.layers, &report.answers))];
    if !report.theorems.is_empty() {
        generated.push((theorems::SCRIPT, theorems::script(&report.theorems)));
    }
    if options.write {
        let list = (theorems::LIST, theorems::list(&report.theorems, &report.answers));
        for (file, text) in generated.iter().chain([&list]) {
            let path = project.root().join(file);
            std::fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
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

/// What takes long: mutants, specifications against the C, the independent checker.
fn campaigns(
    options: &ProveOptions,
    project: &Project,
    copy: &Copy,
    report: &mut Report,
    output: &Output,
) -> Result<(), Failure> {
    if options.audit || options.mutants.is_some() {
        let reasons = mutants::reasons(project)?;
        let (layer, sample) = (options.layer.as_deref(), options.mutants.and_then(Sample::count));
        let choice = mutants::Choice { sample, layer, seed: options.seed, shard: options.shard };
        let results = Results::read(&project.build().join("mutants.jsonl"));
        let trials = Trials { project, copy, keys: copy.keys(&build::version()?)?, results };
        let campaign = mutants::campaign(&trials, &report.layers, &choice, &reasons, output)?;
        let all = sample.is_none() && layer.is_none() && options.shard.count == 1;
        report.findings.extend(campaign.findings(&reasons, all));
        let page = mutants_page::page(&mutants::known(&trials, &report.layers, &reasons)?, &reasons);
        report.findings.extend(mutants_stand(options, project, &page, all)?);
        report.campaign = Some(campaign);
    }
    wrong_ones(options, project, copy, report, output)?;
    if let Some(operations) = options.operations.or(options.audit.then_some(AUDIT_OPERATIONS)) {
        let (runs, findings) = conform::conform(project, copy, operations, options.seed, output)?;
        report.conformance = runs;
        report.findings.extend(findings);
        let broken = report.campaign.as_ref().map(|campaign| campaign.broken()).unwrap_or_default();
        report.shown = conform::show_wrong(project, &broken, options.seed, output)?;
        if report.shown.wrong * 2 < report.shown.run {
            let text = "most mutants that break a proof answer rightly when they are run";
            report.findings.push(Finding::of("mutant", text));
        }
        let broken = report.specifications.as_ref().map(|trials| trials.killed()).unwrap_or_default();
        report.shown_specifications = wrong::shown::show_wrong(project, copy, &broken, options.seed, output)?;
    }
    if options.audit {
        output.note("the independent checker");
        let shown: Vec<&str> =
            theorems::FILES.into_iter().filter(|file| copy.files.iter().any(|has| has == file)).collect();
        let modules: Vec<String> = if shown.is_empty() {
            copy.files.iter().map(|file| tree::logical(file)).collect()
        } else {
            shown.into_iter().map(tree::logical).collect()
        };
        report.findings.extend(checker::check(copy, &modules)?);
    }
    Ok(())
}

/// Specifications and assumptions that are wrong on purpose.
fn wrong_ones(
    options: &ProveOptions,
    project: &Project,
    copy: &Copy,
    report: &mut Report,
    output: &Output,
) -> Result<(), Failure> {
    if options.audit || options.spec_mutants.is_some() {
        let reasons = wrong::specs::reasons(project)?;
        let (sample, layer) = (options.spec_mutants, options.layer.as_deref());
        let choice = mutants::Choice { sample, layer, seed: options.seed, shard: options.shard };
        let trials = wrong::specs::campaign(project, copy, &choice, &reasons, output)?;
        let all = sample.is_none() && options.shard.count == 1;
        report.findings.extend(wrong::specs::findings(&trials, &reasons, all));
        report.specifications = Some(trials);
    }
    if options.audit || options.assumption_mutants.is_some() {
        let most = options.assumption_mutants.filter(|_| !options.audit).unwrap_or(usize::MAX);
        let (trials, bad) = wrong::assumptions::campaign(project, copy, most, options.seed, output)?;
        report.findings.extend(bad);
        report.findings.extend(wrong::assumptions::findings(&trials));
        report.assumptions = Some(trials);
    }
    Ok(())
}

/// Writes the page about mutants, or, if all were tried, compares it.
fn mutants_stand(options: &ProveOptions, project: &Project, page: &str, all: bool) -> Result<Option<Finding>, Failure> {
    let path = project.root().join(mutants_page::FILE);
    if options.write {
        std::fs::write(&path, page).map_err(|error| cannot_write(&path, &error))?;
        return Ok(None);
    }
    let stale = all && std::fs::read_to_string(&path).unwrap_or_default() != page;
    let why = "this file is not what the mutants give; `ashlar prove --mutants all --write` writes it";
    Ok(stale.then(|| Finding::at("stale-file", mutants_page::FILE, None, why)))
}

fn over_budget(costs: &[Cost]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |file: &str, line: Option<usize>, text: String| {
        findings.push(Finding::at("over-budget", &format!("proof/{file}"), line, text));
    };
    for cost in costs {
        if cost.seconds > FILE_SECONDS {
            find(&cost.file, None, format!("takes {:.0} s, more than {FILE_SECONDS} s", cost.seconds));
        }
        if let Some((line, seconds)) = cost.longest_qed.filter(|(_, seconds)| *seconds > QED_SECONDS) {
            find(
                &cost.file,
                Some(line),
                format!("this end of a proof takes {seconds:.0} s, more than {QED_SECONDS} s"),
            );
        }
    }
    let all: f64 = costs.iter().map(|cost| cost.seconds).sum();
    if all > ALL_SECONDS {
        find("_CoqProject", None, format!("all files take {all:.0} s, more than {ALL_SECONDS} s"));
    }
    findings
}

/// One `prove` at a time in a tree: the file whose lock is held until it is dropped.
fn lock(folder: &Path) -> Result<std::fs::File, Failure> {
    build::make_folder(folder)?;
    let path = folder.join("proof.lock");
    let file = std::fs::File::create(&path).map_err(|error| cannot_write(&path, &error))?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)
        .map_err(|error| cannot_write(&path, &error.into()))?;
    Ok(file)
}
