//! The command line of the checker; the library does the work.

mod print;

use clap::Parser;
use drivercheck::check::{run, Options, Report};
use drivercheck::differential::{differential, Tally};
use drivercheck::driver::{read, Driver, Source};
use drivercheck::own;
use drivercheck::report::{picture, sarif};
use drivercheck::result::{Comparison, DriversResult, Summary};
use drivercheck::seeded;
use drivercheck_command::{Cli, Command, Flags, Format, Kind};
use output::print_line;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Much of the work is small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
            let source = Source {
                root: flags.root.clone(),
                files: files.clone(),
                protocols: protocol.clone(),
                protocol_dir: flags.root.join("protocols"),
                project: flags.project.clone(),
                include,
                scratch: flags.scratch.join("headers"),
                ..Source::default()
            };
            verify(cli.format, flags, &[read(&source)?])
        }
        Command::Verify { names, flags } => {
            let drivers = chosen(names, flags)?.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            if let Some(project) = &flags.project {
                drivers.iter().try_for_each(|driver| own::check_ports(project, &flags.root, driver))?;
            }
            verify(cli.format, flags, &drivers)
        }
        Command::Seeded { kind, only, seed, shard, record, flags } => {
            let kind = match kind {
                None => seeded::Kind::All,
                Some(Kind::Faults) => seeded::Kind::Faults,
                Some(Kind::Variations) => seeded::Kind::Variations,
            };
            let tell = |outcome: &seeded::Outcome| print::outcome(cli.format, outcome, flags.traces);
            let scratch = flags.scratch.join("seeded");
            let all = seeded::seeded(&flags.root, &scratch, &options(flags), kind, only, *seed, *shard, &tell)?;
            if let Some(path) = record {
                let written = all.record(kind, *seed, *shard).write(path);
                written.map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
            }
            let is_good = all.faults.iter().chain(&all.variations).all(|outcome| outcome.is_good);
            if cli.format == Format::Json {
                let seeded::Outcomes { faults, variations } = all;
                json(&DriversResult::Seeded { faults, variations })?;
            }
            Ok(u8::from(!is_good))
        }
        Command::Differential { pairs, seed, shard, record, verdicts, root, scratch } => {
            let scratch = scratch.join(format!("{}of{}", shard.index, shard.count));
            let mut tell = |tally: &Tally| print::tally(cli.format, tally);
            let tally = differential(root, &scratch, *pairs, *seed, *shard, &mut tell)?;
            if let Some(path) = record {
                let written = tally.record(*seed, *shard).write(path);
                written.map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
            }
            if let Some(path) = verdicts {
                let written = std::fs::write(path, &tally.verdicts);
                written.map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
            }
            let is_good = tally.disagreements.is_empty();
            if cli.format == Format::Json {
                json(&DriversResult::Differential { differential: tally })?;
            }
            Ok(u8::from(!is_good))
        }
        Command::Protocol { files } => {
            let mut all = Vec::new();
            for file in files {
                let checked = protocol::load(file).map_err(|report| report.to_string())?;
                all.push(protocol::sizes::sizes(&checked, &protocol::decompose::choose(&checked.flat.automaton)));
            }
            match cli.format {
                Format::Json => json(&DriversResult::Protocols { protocols: all })?,
                Format::Human => print_line(protocol::sizes::table(&all).trim_end()),
            }
            Ok(0)
        }
    }
}

/// The drivers that are meant: in a user's project its own, and by name those of the tree too.
fn chosen(names: &[String], flags: &Flags) -> Result<Vec<Source>, Box<dyn std::error::Error>> {
    let scratch = flags.scratch.join("headers");
    let mut all = Vec::new();
    if let Some(project) = &flags.project {
        all.extend(own::drivers(project, &flags.root, &scratch)?);
        if all.is_empty() && names.is_empty() {
            return Err("the project has no driver; `ashlar new driver NAME` makes one".into());
        }
    }
    if flags.project.is_none() || !names.is_empty() {
        let mut places = directories(&flags.root.join("user/drivers"))?;
        places.extend(directories(&flags.root.join("user/services"))?.into_iter().filter(|one| is_checked(one)));
        for place in places {
            let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
            all.push((name, seeded::source(&flags.root, &place, &scratch)?));
        }
    }
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|(known, _)| known == *name)) {
        let known: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!("there is no driver or service called {unknown}; there are {}", known.join(", ")).into());
    }
    Ok(all.into_iter().filter(|(name, _)| names.is_empty() || names.contains(name)).map(|(_, one)| one).collect())
}

fn directories(of: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let entries = std::fs::read_dir(of)?.collect::<Result<Vec<_>, _>>()?;
    let mut all: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    all.sort();
    Ok(all)
}

/// Whether a service is written like a driver.
fn is_checked(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let text = std::fs::read_to_string(directory.join(format!("{name}.c")));
    text.is_ok_and(|text| text.contains("driver_protocols"))
}

fn verify(format: Format, flags: &Flags, drivers: &[Driver]) -> Answer {
    if flags.compare {
        return compare(format, flags, drivers);
    }
    let mut rows = Vec::new();
    for driver in drivers {
        let mut report = run(driver, &options(flags), &|row| print::row(format, row, true))?;
        seeded::replay_all(&flags.root, &flags.scratch.join("replay"), driver, &mut report.rows)?;
        print::end(format, driver, &report);
        if let Some(directory) = &flags.pictures {
            std::fs::create_dir_all(directory)?;
            let banner = format!("Generated by `ashlar drivers verify` for the driver {}", driver.name);
            for (name, picture) in picture::pictures(driver, &report)? {
                std::fs::write(directory.join(format!("{}-{name}.svg", driver.name)), picture.standalone(&banner))?;
            }
        }
        rows.extend(report.rows);
    }
    if let Some(path) = &flags.sarif {
        std::fs::write(path, serde_json::to_string_pretty(&sarif::sarif(&rows))?)?;
    }
    let summary = Summary::of(&rows);
    let Summary { proved, violated, unknown } = summary;
    let is_good = proved == rows.len();
    match format {
        Format::Json => json(&DriversResult::Checks { results: rows, summary })?,
        Format::Human => print_line(format!("{proved} proved, {violated} violated, {unknown} unknown")),
    }
    Ok(u8::from(!is_good))
}

fn json(result: &DriversResult) -> Result<(), serde_json::Error> {
    print_line(serde_json::to_string_pretty(result)?);
    Ok(())
}

/// What each technique saves: all checks with it and without.
fn compare(format: Format, flags: &Flags, drivers: &[Driver]) -> Answer {
    let with = |change: &dyn Fn(&mut drivercheck::check::Options)| {
        let mut options = options(flags);
        options.coverage = false;
        change(&mut options);
        options
    };
    let variants = [
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
        for (name, options) in &variants {
            let report: Report = run(driver, options, &|_| {})?;
            let line = Comparison::new(&driver.name, name, &report);
            print::comparison(format, &line);
            table.push(line);
        }
    }
    if format == Format::Json {
        json(&DriversResult::Comparison { comparison: table })?;
    }
    Ok(0)
}

/// What the flags ask of each check.
fn options(flags: &Flags) -> Options {
    Options {
        decompose: !flags.no_decomposition,
        seed: !flags.no_key_predicates,
        transform: !flags.no_transformation,
        grant_whole: !flags.no_whole_protocols,
        limit: Duration::from_secs(flags.limit),
        rules: flags.rule.clone(),
        subprotocol: flags.subprotocol.clone(),
        threads: flags.threads,
        until: None,
        coverage: true,
        memory: true,
    }
}

#[cfg(test)]
mod tests {
    use super::{chosen, Cli, Command};
    use clap::Parser;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Each driver, and each service that is written like one, is verified whole by some test of `tests/cli`.
    #[test]
    fn every_driver_is_verified_by_a_test() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let cli = Cli::parse_from(["drivers".as_ref(), "verify".as_ref(), "--root".as_ref(), root.as_os_str()]);
        let Command::Verify { names, flags } = cli.command else { panic!("that is the command") };
        let all: BTreeSet<String> =
            chosen(&names, &flags).unwrap().iter().map(|source| source.files[0].file_stem()).map(text).collect();
        assert!(["ahci", "block", "switch"].iter().all(|name| all.contains(*name)), "{all:?}");
        let mut verified = BTreeSet::new();
        for entry in std::fs::read_dir(root.join("tests/cli")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let test: toml::Table = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let arguments: Vec<&str> =
                test["arguments"].as_array().unwrap().iter().filter_map(|one| one.as_str()).collect();
            // Whole: with no option but the format.
            let Some(names) = arguments.strip_prefix(&["drivers", "verify"]) else { continue };
            let Some(names) = names.strip_suffix(&["--format", "json"]) else { continue };
            if !names.iter().any(|name| name.starts_with("--")) {
                verified.extend(names.iter().map(|name| name.to_string()));
            }
        }
        assert_eq!(all, verified);
    }

    fn text(name: Option<&std::ffi::OsStr>) -> String {
        name.unwrap_or_default().to_string_lossy().into_owned()
    }
}
