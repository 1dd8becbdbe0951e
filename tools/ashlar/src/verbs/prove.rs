//! `prove`: the crate `prove` does the work; this shows its result.

use crate::cli::ProveOptions;
use campaign::{Record, Shard};
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use prove::{Options, Progress, Report, Sample};

pub fn prove(options: &ProveOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    if options.binary {
        return super::prove_binary::prove_binary(options, project, output);
    }
    if options.record.is_some() && campaigns(options) != 1 {
        let remedy = "give one of --mutants, --spec-mutants, --assumption-mutants, --definition-mutants, --operations";
        return Err(Failure::unable("--record takes the verdicts of one campaign", remedy));
    }
    let report = proved(&library_options(options), project, output)?;
    if let (Some(path), Some(record)) = (&options.record, report.records.first()) {
        let failed =
            |error| Failure::unable(format!("{} cannot be written: {error}", path.display()), "choose another file");
        record.write(path).map_err(failed)?;
    }
    output.json(&report.result());
    let mut rows = report.table().into_iter();
    if let Some(head) = rows.next() {
        let mut table = Table::new(head.each_ref().map(String::as_str));
        rows.for_each(|row| table.row(row.to_vec()));
        output.human(&table.render());
    }
    report.lines(output.is_verbose()).iter().for_each(|line| output.human(line));
    match report.findings.len() {
        0 => Ok(()),
        1 => Err(Failure::Finding("1 finding".into())),
        count => Err(Failure::Finding(format!("{count} findings"))),
    }
}

/// The crate's work, with its steps shown.
fn proved(options: &Options, project: &Project, output: &Output) -> Result<Report, Failure> {
    let report = prove::prove(options, project, &Steps(output));
    output.end_steps();
    report.map_err(|error| match error.remedy() {
        Some(remedy) => Failure::unable(error.to_string(), remedy),
        None => Failure::Finding(error.to_string()),
    })
}

struct Steps<'a>(&'a Output);

impl Progress for Steps<'_> {
    fn note(&self, text: &str) {
        self.0.note(text);
    }

    fn step(&self, done: usize, total: usize, text: &str) {
        self.0.step(text, done, done, total);
    }
}

/// The campaigns of the proofs that `ashlar campaign` runs in shards.
#[derive(Debug, Clone, Copy)]
pub enum ProofCampaign {
    Code,
    Specifications,
    Assumptions,
    Definitions,
    Operations,
}

/// Runs one shard of a campaign of `items` mutants, or of so many operations of each specification.
pub fn shard(
    campaign: ProofCampaign,
    items: usize,
    seed: u64,
    shard: Shard,
    project: &Project,
    output: &Output,
) -> Result<Record, Failure> {
    let mut options = Options { seed, shard, ..Options::default() };
    match campaign {
        ProofCampaign::Code => options.mutants = Some(Sample::Some(items)),
        // A shard takes as many as it is asked for, since some mutants are not valid Coq.
        ProofCampaign::Specifications => options.spec_mutants = Some(items.div_ceil(shard.count)),
        ProofCampaign::Assumptions => options.assumption_mutants = Some(items),
        ProofCampaign::Definitions => options.definition_mutants = Some(items),
        ProofCampaign::Operations => options.operations = Some(items as u64),
    }
    let report = proved(&options, project, output)?;
    let findings: Vec<String> = report.findings.iter().map(|finding| finding.to_string()).collect();
    // Without a record the proofs themselves are at fault.
    report.records.into_iter().next().ok_or_else(|| Failure::Finding(findings.join("\n")))
}

/// How many campaigns are asked for.
fn campaigns(options: &ProveOptions) -> usize {
    let asked = [
        options.mutants.is_some(),
        options.spec_mutants.is_some(),
        options.assumption_mutants.is_some(),
        options.definition_mutants.is_some(),
        options.operations.is_some(),
    ];
    if options.audit {
        return asked.len();
    }
    asked.into_iter().filter(|asked| *asked).count()
}

fn library_options(options: &ProveOptions) -> Options {
    Options {
        full: options.full,
        audit: options.audit,
        mutants: options.mutants,
        spec_mutants: options.spec_mutants,
        assumption_mutants: options.assumption_mutants,
        definition_mutants: options.definition_mutants,
        layer: options.layer.clone(),
        operations: options.operations,
        seed: options.seed,
        shard: options.shard,
        write: options.write,
    }
}
