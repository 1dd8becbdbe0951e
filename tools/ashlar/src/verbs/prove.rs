//! `prove`: the crate `prove` does the work; this shows its result.

use super::bench::table::Table;
use crate::cli::ProveOptions;
use crate::failure::Failure;
use crate::output::Output;
use project::Project;
use prove::{Options, Progress};

pub fn prove(options: &ProveOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let report = prove::prove(&library_options(options), project, output)?;
    output.json(&report.to_json());
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

impl Progress for Output {
    fn note(&self, text: &str) {
        Output::note(self, text);
    }
}

fn library_options(options: &ProveOptions) -> Options {
    Options {
        full: options.full,
        audit: options.audit,
        mutants: options.mutants,
        spec_mutants: options.spec_mutants,
        assumption_mutants: options.assumption_mutants,
        layer: options.layer.clone(),
        operations: options.operations,
        seed: options.seed,
        shard: options.shard,
        write: options.write,
    }
}
