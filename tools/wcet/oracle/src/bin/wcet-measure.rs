//! Prints what is measured.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use wcet_oracle::measure::build::{build, Target};
use wcet_oracle::measure::set::programs;
use wcet_oracle::measure::subject::{measure, Measurement};
use wcet_oracle::measure::Error;

/// Compiles the programs of tests/wcet, runs all their cases, and prints how often their loops ran, as JSON
#[derive(Parser)]
#[command(name = "wcet-measure", version)]
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
    measured: Option<Measurement>,
    refused: Option<String>,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wcet-measure: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> Result<(), Error> {
    let wanted = programs()?.into_iter().filter(|one| cli.programs.is_empty() || cli.programs.contains(&one.name));
    std::fs::create_dir_all(&cli.into).map_err(|cause| Error::Read { path: cli.into.clone(), cause })?;
    for program in wanted {
        for target in Target::ALL {
            let file = build(&program, target, &cli.into)?;
            let (measured, refused) = match measure_on(&file, target) {
                Ok(measured) => (Some(measured), None),
                Err(Error::Refused(reasons)) => (None, Some(reasons.join("; "))),
                Err(error) => return Err(error),
            };
            let report = Report { program: program.name.clone(), target: target.name(), file, measured, refused };
            println!("{}", serde_json::to_string(&report).map_err(|error| Error::Setup(error.to_string()))?);
        }
    }
    Ok(())
}

fn measure_on(file: &Path, target: Target) -> Result<Measurement, Error> {
    let machine =
        wcet_hardware::machine::load(&target.machine_file()).map_err(|faults| Error::Setup(faults.to_string()))?;
    measure(file, Some(&machine))
}
