//! The command line of the checker; the library does the work.

mod cli;
mod print;

use clap::Parser;
use cli::{Cli, Command, Flags, Format};
use drivercheck::check::{run, Report};
use drivercheck::driver::{read, Driver, Source};
use drivercheck::{picture, sarif, seeded};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

type Answer = Result<u8, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match answer(&cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("drivercheck: {error}");
            ExitCode::from(2)
        }
    }
}

/// 0: everything is proved; 1: it is not.
fn answer(cli: &Cli) -> Answer {
    match &cli.command {
        Command::Check { files, protocol, include, flags } => {
            let mut include = include.clone();
            include.extend(files.first().and_then(|file| file.parent()).map(Path::to_path_buf));
            include.extend([flags.root.join("user/lib/include"), flags.root.join("kernel")]);
            let source = Source {
                files: files.clone(),
                protocols: protocol.clone(),
                protocol_dir: flags.root.join("protocols"),
                include,
                scratch: flags.scratch.join("headers"),
            };
            verify(cli.format, flags, &[read(&source)?])
        }
        Command::Verify { names, flags } => {
            let mut drivers = Vec::new();
            for directory in directories(&flags.root.join("user/drivers"))? {
                let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if names.is_empty() || names.contains(&name) {
                    drivers.push(read(&seeded::source(&flags.root, &directory, &flags.scratch.join("headers"))?)?);
                }
            }
            if drivers.is_empty() {
                return Err("there is no such driver in user/drivers".into());
            }
            verify(cli.format, flags, &drivers)
        }
        Command::Seeded { only, shard, flags } => {
            let tell = |outcome: &seeded::Outcome| print::outcome(cli.format, outcome, flags.traces);
            let scratch = flags.scratch.join("seeded");
            let all = seeded::seeded(&flags.root, &scratch, &flags.options(), only, cli::shard(shard)?, &tell)?;
            if cli.format == Format::Json {
                let value = json!({ "faults": all.faults, "variations": all.variations });
                println!("{}", serde_json::to_string_pretty(&value)?);
            }
            let is_good = all.faults.iter().chain(&all.variations).all(|outcome| outcome.is_good);
            Ok(u8::from(!is_good))
        }
        Command::Protocol { files } => {
            let mut all = Vec::new();
            for file in files {
                let checked = protocol::load(file).map_err(|report| report.to_string())?;
                all.push(protocol::sizes::sizes(&checked, &protocol::decompose::choose(&checked.flat.automaton)));
            }
            match cli.format {
                Format::Json => println!("{}", serde_json::to_string_pretty(&json!({ "protocols": all }))?),
                Format::Human => print!("{}", protocol::sizes::table(&all)),
            }
            Ok(0)
        }
    }
}

fn directories(of: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let entries = std::fs::read_dir(of)?.collect::<Result<Vec<_>, _>>()?;
    let mut all: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    all.sort();
    Ok(all)
}

fn verify(format: Format, flags: &Flags, drivers: &[Driver]) -> Answer {
    if flags.compare {
        return compare(format, flags, drivers);
    }
    let mut rows = Vec::new();
    for driver in drivers {
        let mut report = run(driver, &flags.options(), &|row| print::row(format, row, true))?;
        seeded::replay_all(&flags.root, &flags.scratch.join("replay"), driver, &mut report.rows)?;
        print::end(format, driver, &report);
        if let Some(directory) = &flags.pictures {
            std::fs::create_dir_all(directory)?;
            for (name, text) in picture::pictures(driver, &report) {
                std::fs::write(directory.join(format!("{}-{name}.svg", driver.name)), text)?;
            }
        }
        rows.extend(report.rows);
    }
    if let Some(path) = &flags.sarif {
        std::fs::write(path, serde_json::to_string_pretty(&sarif::sarif(&rows))?)?;
    }
    let count = |verdict: &str| rows.iter().filter(|row| row.verdict == verdict).count();
    let (proved, violated, unknown) = (count("PROVED"), count("VIOLATED"), count("UNKNOWN"));
    match format {
        Format::Json => {
            let summary = json!({ "proved": proved, "violated": violated, "unknown": unknown });
            println!("{}", serde_json::to_string_pretty(&json!({ "results": rows, "summary": summary }))?);
        }
        Format::Human => println!("{proved} proved, {violated} violated, {unknown} unknown"),
    }
    Ok(u8::from(proved < rows.len()))
}

/// What each means saves: all checks with it and without.
fn compare(format: Format, flags: &Flags, drivers: &[Driver]) -> Answer {
    let with = |change: &dyn Fn(&mut drivercheck::check::Options)| {
        let mut options = flags.options();
        options.coverage = false;
        change(&mut options);
        options
    };
    let ways = [
        ("all", with(&|_| {})),
        ("without decomposition", with(&|options| options.decompose = false)),
        ("without key predicates", with(&|options| options.seed = false)),
        ("without transformation", with(&|options| options.transform = false)),
        ("without whole protocols", with(&|options| options.grant_whole = false)),
        (
            "without any",
            with(&|options| {
                (options.decompose, options.seed, options.transform) = (false, false, false);
                options.grant_whole = false;
            }),
        ),
    ];
    let mut table = Vec::new();
    for driver in drivers {
        for (name, options) in &ways {
            let report: Report = run(driver, options, &|_| {})?;
            let line = print::Comparison::new(&driver.name, name, &report);
            print::comparison(format, &line);
            table.push(line);
        }
    }
    if format == Format::Json {
        println!("{}", serde_json::to_string_pretty(&json!({ "comparison": table }))?);
    }
    Ok(0)
}
