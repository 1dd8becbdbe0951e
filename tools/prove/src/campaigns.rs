//! The long campaigns of a run: mutants, specifications against the C, the independent checker.

use crate::coq::compile::Copy;
use crate::coq::{checker, compile};
use crate::mutants::code::trial::Trials;
use crate::mutants::code::verdicts::Verdicts;
use crate::mutants::trials::{Fate, Wrong};
use crate::mutants::{code, listed, specifications};
use crate::sources::{theorems, tree};
use crate::{conformance, pages, Error, Finding, Options, Progress, Report, Sample};
use campaign::Record;
use project::Project;

/// Random operations of each specification in an audit.
const AUDIT_OPERATIONS: u64 = 1_000_000;

/// What takes long: mutants, specifications against the C, the independent checker.
pub fn run(
    options: &Options,
    project: &Project,
    copy: &Copy,
    report: &mut Report,
    progress: &dyn Progress,
) -> Result<(), Error> {
    if options.audit || options.mutants.is_some() {
        let reasons = code::reasons(project)?;
        let (layer, sample) = (options.layer.as_deref(), options.mutants.and_then(Sample::count));
        let choice = code::Choice { sample, layer, seed: options.seed, shard: options.shard };
        let results = Verdicts::read(&project.build().join("mutants.jsonl"));
        let trials = Trials { project, copy, keys: copy.keys(&compile::version()?)?, results };
        let campaign = code::campaign(&trials, &report.layers, &choice, &reasons, progress)?;
        let all = sample.is_none() && layer.is_none() && options.shard.count == 1;
        report.findings.extend(campaign.findings(&reasons, all));
        report.records.push(campaign.record(&reasons, options.seed, options.shard));
        let page = pages::mutants::page(&code::known(&trials, &report.layers, &reasons)?, &reasons);
        report.findings.extend(mutants_stand(options, project, &page, all)?);
        report.campaign = Some(campaign);
    }
    wrong_ones(options, project, copy, report, progress)?;
    if let Some(operations) = options.operations.or(options.audit.then_some(AUDIT_OPERATIONS)) {
        let (seed, shard) = (options.seed, options.shard);
        let found = conformance::conform(project, copy, operations, seed, shard, progress)?;
        report.conformance = found.runs;
        report.findings.extend(found.findings);
        report.records.push(found.record);
        let broken = report.campaign.as_ref().map(|campaign| campaign.broken()).unwrap_or_default();
        report.shown = conformance::show_wrong(project, &broken, seed, shard, progress)?;
        if report.shown.wrong * 2 < report.shown.run {
            let text = "most mutants that break a proof give right results when they are run";
            report.findings.push(Finding::of("mutant", text));
        }
        let broken = report.specifications.as_ref().map(|trials| trials.killed()).unwrap_or_default();
        report.shown_specifications =
            conformance::specification_mutants::show_wrong(project, copy, &broken, seed, shard, progress)?;
    }
    if options.audit {
        progress.note("the independent checker");
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

/// Specifications, assumptions and definitions that are wrong on purpose.
fn wrong_ones(
    options: &Options,
    project: &Project,
    copy: &Copy,
    report: &mut Report,
    progress: &dyn Progress,
) -> Result<(), Error> {
    if options.audit || options.spec_mutants.is_some() {
        let reasons = specifications::reasons(project)?;
        let (sample, layer) = (options.spec_mutants, options.layer.as_deref());
        let choice = code::Choice { sample, layer, seed: options.seed, shard: options.shard };
        let trials = specifications::campaign(project, copy, &choice, &reasons, progress)?;
        let record = Record::new("prove-spec-mutants", options.seed, options.shard);
        let good = |wrong: &Wrong, fate: &Fate| specifications::fault(wrong, fate, &reasons).is_none();
        report.records.push(trials.record(record, good));
        let all = sample.is_none() && options.shard.count == 1;
        report.findings.extend(specifications::findings(&trials, &reasons, all));
        report.specifications = Some(trials);
    }
    for (list, most, name) in [
        (listed::ASSUMPTIONS, options.assumption_mutants, "prove-assumption-mutants"),
        (listed::DEFINITIONS, options.definition_mutants, "prove-definition-mutants"),
    ] {
        if !options.audit && most.is_none() {
            continue;
        }
        let most = most.filter(|_| !options.audit).unwrap_or(usize::MAX);
        let part = (options.seed, options.shard);
        let campaign = listed::campaign(project, copy, list, most, part, progress)?;
        let record = Record::new(name, options.seed, options.shard);
        let good = |wrong: &Wrong, fate: &Fate| campaign.fault(wrong, fate).is_none();
        report.records.push(campaign.trials.record(record, good));
        report.findings.extend(campaign.findings());
        let of = if list == listed::ASSUMPTIONS { &mut report.assumptions } else { &mut report.definitions };
        *of = Some(campaign.trials);
    }
    Ok(())
}

/// Writes the page about mutants, or what it says of one layer; without `--write` it is compared, if all were tried.
fn mutants_stand(options: &Options, project: &Project, page: &str, all: bool) -> Result<Option<Finding>, Error> {
    let path = project.root().join(pages::mutants::FILE);
    if options.write {
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        let page = match &options.layer {
            Some(layer) if !old.is_empty() => pages::mutants::refreshed(&old, page, layer),
            _ => page.to_string(),
        };
        std::fs::write(&path, page).map_err(|error| Error::unwritable(&path, error))?;
        return Ok(None);
    }
    let stale = all && std::fs::read_to_string(&path).unwrap_or_default() != page;
    let why = "this file is not what the mutants give; `ashlar prove --mutants all --write` writes it";
    Ok(stale.then(|| Finding::at("stale-file", pages::mutants::FILE, None, why)))
}
