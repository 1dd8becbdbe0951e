//! Fetches a suite of `tests/foreign`, and bounds its programs for each target.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use campaign::{Record, Shard};
use clap::Parser;
use wcet_oracle::measure::build::Target;
use wcet_oracle::suites::{self, Answer, Program, Row, Suite};

/// Fetches a suite of `tests/foreign`, and bounds its programs for each target.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// These programs; by default all.
    programs: Vec<String>,
    /// For these targets; by default all.
    #[arg(long, value_name = "TARGET")]
    target: Vec<String>,
    /// Of this part of the suite, such as `kernel`; by default of all.
    #[arg(long, value_name = "PART")]
    part: Vec<String>,
    /// Where the suite's sources, programs and rows go.
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
    /// Takes the rows that are there from an earlier run: of one that was ended, or of the programs that a change does not concern.
    #[arg(long)]
    resume: bool,
    /// Writes the reference page of the documentation from the rows that are there, and runs nothing.
    #[arg(long, conflicts_with_all = ["shard", "record"])]
    page: bool,
    /// Takes programs and targets in an order that this seed gives, and of these the share of `--shard`.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Takes only this share, such as 1/4.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Writes the outcome as the record of the shard, for `ashlar report`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Prints the row of one program and target.
    #[arg(long, hide = true)]
    one: bool,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("wcet-suites: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether every program had an answer, and no claim of one is wrong.
fn run(cli: &Cli) -> Result<bool, Box<dyn std::error::Error>> {
    let suite = suites::read()?;
    let into = std::path::absolute(cli.into.clone().unwrap_or_else(suites::build_folder))?;
    let (programs, rows) = (into.join("programs"), into.join("rows"));
    [&programs, &rows].into_iter().try_for_each(std::fs::create_dir_all)?;
    let work = work(cli, suites::fetch(&suite, &into)?)?;
    if cli.one {
        end_with_parent();
        for (program, target) in &work {
            println!("{}", serde_json::to_string(&suites::row(&suite, program, *target, &programs)?)?);
        }
        return Ok(true);
    }
    let file = |program: &Program, target: Target| rows.join(format!("{}.{}.json", program.name, target.name()));
    if cli.page {
        let found: Vec<Row> = work.iter().filter_map(|(program, target)| kept(&file(program, *target))).collect();
        let path = suites::directory().join("../../docs/src/reference/timing-suites.md");
        std::fs::write(path, suites::page(&suite, &found, work.len()))?;
        return Ok(true);
    }
    let shard = cli.shard.unwrap_or(Shard::ALL);
    let work = match cli.shard {
        Some(shard) => campaign::share(work, cli.seed, shard),
        None => work,
    };
    let mut record = Record::new("timing-suites", cli.seed, shard);
    for (number, (program, target)) in work.iter().enumerate() {
        let file = file(program, *target);
        let kept = if cli.resume { kept(&file) } else { None };
        let row = match kept {
            Some(row) => row,
            None => {
                eprint!("[{}/{}] {} for {}", number + 1, work.len(), program.name, target.name());
                let row = apart(&suite, program, *target, &into)?;
                eprintln!(
                    ": {:?}, {} of {} loops bounded, {:.1} s{}",
                    row.answer,
                    row.bounded(),
                    row.loops.len(),
                    row.seconds,
                    row.errors.first().map_or(String::new(), |error| format!("; {error}"))
                );
                std::fs::write(&file, serde_json::to_string(&row)?)?;
                row
            }
        };
        let (verdict, is_good) = verdict(&suite, &row);
        row.faults().iter().for_each(|fault| eprintln!("{fault}"));
        let item = record.push(format!("{}-{}", row.program, row.target), verdict, is_good);
        item.detail.insert("loops".into(), row.loops.len().into());
        item.detail.insert("loops_bounded".into(), row.bounded().into());
        item.detail.insert("seconds".into(), row.seconds.into());
        item.detail.insert("faults".into(), row.faults().into());
    }
    if let Some(path) = &cli.record {
        record.write(path)?;
    }
    Ok(record.items.iter().all(|item| item.good))
}

/// A word for what became of a program, and whether that is as it should be: loops without a bound and refusals are counted by
/// the page, a wrong bound and a missing answer are findings.
fn verdict(suite: &Suite, row: &Row) -> (&'static str, bool) {
    match row.answer {
        _ if !row.faults().is_empty() => ("wrong", false),
        Answer::None => ("none", false),
        _ if row.seconds > suite.limit as f64 => ("late", false),
        Answer::Bounded => ("bounded", true),
        Answer::Open => ("open", true),
        Answer::Refused => ("refused", true),
    }
}

/// The programs and targets that are asked for.
fn work(cli: &Cli, programs: Vec<Program>) -> Result<Vec<(Program, Target)>, Box<dyn std::error::Error>> {
    let known = |name: &String| programs.iter().any(|program| program.name == *name);
    if let Some(name) = cli.programs.iter().find(|name| !known(name)) {
        return Err(format!("the suite has no program `{name}`").into());
    }
    let names = Target::ALL.map(Target::name);
    if let Some(name) = cli.target.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("there is no target `{name}`; choose of: {}", names.join(", ")).into());
    }
    let targets = Target::ALL.into_iter().filter(|target| asked(&cli.target, target.name()));
    let targets: Vec<Target> = targets.collect();
    let wanted = |program: &Program| asked(&cli.programs, &program.name) && asked(&cli.part, &program.part);
    let programs = programs.into_iter().filter(wanted);
    Ok(programs.flat_map(|program| targets.iter().map(move |target| (program.clone(), *target))).collect())
}

/// Whether a name is among those asked for.
fn asked(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|one| one == name)
}

/// The row that a file has, if it has one.
fn kept(file: &Path) -> Option<Row> {
    serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()
}

/// The row of a program, from a process of its own: one that takes too long is ended, and what one takes of memory ends with it.
fn apart(suite: &Suite, program: &Program, target: Target, into: &Path) -> Result<Row, Box<dyn std::error::Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--one", &program.name, "--target", target.name(), "--into"]).arg(into);
    let file = into.join(format!("rows/one-{}.part", std::process::id()));
    command.stdin(Stdio::piped()).stdout(std::fs::File::create(&file)?);
    let started = Instant::now();
    let mut child = command.spawn()?;
    // The limit is one of a processor's time, which other work may take from this.
    let last = Duration::from_secs(3 * suite.limit);
    if !ended(&mut child, started + last)? {
        child.kill()?;
        child.wait()?;
        std::fs::remove_file(&file)?;
        return Ok(Row::none(program, target, last.as_secs_f64()));
    }
    let text = std::fs::read_to_string(&file)?;
    std::fs::remove_file(&file)?;
    serde_json::from_str(&text).map_err(|_| format!("{} for {}: no row", program.name, target.name()).into())
}

/// The process that wants a row holds the other end of the input: with it this one ends.
fn end_with_parent() {
    std::thread::spawn(|| {
        // There is nothing to read but the end.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(2);
    });
}

/// Waits for a process until `last`, and says whether it has ended.
fn ended(child: &mut Child, last: Instant) -> std::io::Result<bool> {
    while child.try_wait()?.is_none() {
        if Instant::now() > last {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(true)
}
