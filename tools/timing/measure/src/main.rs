//! Prints what is measured. Knows: arguments. Does not know: any measuring.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use timing_context::Expanded;
use timing_lift::Lifter;
use timing_load::{Lines, Program};
use timing_measure::build::{build, Target};
use timing_measure::count::{count, Counts};
use timing_measure::set::programs;
use timing_measure::Error;

/// Compiles the programs of tests/timing, runs all their cases, and prints how often their loops ran, as JSON
#[derive(Parser)]
#[command(name = "timing-measure", version)]
struct Cli {
    /// These programs; by default all.
    programs: Vec<String>,
    /// Where compiled programs go.
    #[arg(long, value_name = "DIRECTORY")]
    into: PathBuf,
}

#[derive(Serialize)]
struct Report {
    program: String,
    target: &'static str,
    file: PathBuf,
    refused: Option<String>,
    cases: usize,
    instructions: u64,
    loops: Vec<LoopReport>,
}

#[derive(Serialize)]
struct LoopReport {
    function: String,
    /// Where it is called, from the entry on.
    calls: Vec<String>,
    address: String,
    source: Option<String>,
    measured: u64,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("timing-measure: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> Result<(), Error> {
    let wanted = programs()?.into_iter().filter(|one| cli.programs.is_empty() || cli.programs.contains(&one.name));
    let unwritable = |cause| Error::Read { path: cli.into.clone(), cause };
    std::fs::create_dir_all(&cli.into).map_err(unwritable)?;
    for program in wanted {
        for target in Target::ALL {
            let file = build(&program, target, &cli.into)?;
            let (report, refused) = match report(&file) {
                Ok((counts, loops)) => (Some((counts, loops)), None),
                Err(Error::Refused(reasons)) => (None, Some(reasons.join("; "))),
                Err(error) => return Err(error),
            };
            let (cases, instructions, loops) = report
                .map_or((0, 0, Vec::new()), |(counts, loops)| (counts.cases.len(), counts.cases.iter().sum(), loops));
            let name = program.name.clone();
            let report = Report { program: name, target: target.name(), file, refused, cases, instructions, loops };
            println!("{}", serde_json::to_string(&report).map_err(|error| Error::Setup(error.to_string()))?);
        }
    }
    Ok(())
}

fn report(file: &PathBuf) -> Result<(Counts, Vec<LoopReport>), Error> {
    let data = std::fs::read(file).map_err(|cause| Error::Read { path: file.clone(), cause })?;
    let program = Program::parse(&data).map_err(|errors| Error::Refused(texts(&errors)))?;
    let lifter = Lifter::new(&program).map_err(|error| Error::Setup(error.to_string()))?;
    let entry = program.symbol("entry").ok_or_else(|| Error::NoEntry { path: file.clone() })?.address;
    let graph = timing_flow::analyse(&lifter, &[entry], &timing_flow::Options::default())
        .map_err(|errors| Error::Refused(texts(&errors)))?;
    let expanded = timing_context::expand(&graph, entry, &timing_context::Options::default())
        .map_err(|errors| Error::Refused(texts(&errors)))?;
    let counts = count(file, &program, &expanded)?;
    let loops = loops(&expanded, &counts, &program, &Lines::parse(&data));
    Ok((counts, loops))
}

fn texts<E: ToString>(errors: &[E]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn loops(expanded: &Expanded<'_>, counts: &Counts, program: &Program, lines: &Lines) -> Vec<LoopReport> {
    let one = |(one, measured): (&timing_context::Loop, &u64)| {
        let address = expanded.block(one.header).start();
        let mut calls = Vec::new();
        let mut caller = expanded.contexts[one.context].caller;
        while let Some((context, block)) = caller {
            calls.insert(0, program.describe(expanded.function(context).blocks[block].last().address));
            caller = expanded.contexts[context].caller;
        }
        LoopReport {
            function: expanded.function(one.context).name.clone(),
            calls,
            address: format!("{address:#x}"),
            source: lines.place(address).map(|place| place.to_string()),
            measured: *measured,
        }
    };
    expanded.loops.iter().zip(&counts.loops).map(one).collect()
}
