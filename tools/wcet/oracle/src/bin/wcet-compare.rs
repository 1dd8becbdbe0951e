//! Compares the analysis with measurements.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Duration;

use campaign::Shard;
use clap::Parser;
use wcet_oracle::adversarial;
use wcet_oracle::compare::{compare, page, record, Row, Sum};
use wcet_oracle::measure::build::Target;
use wcet_oracle::measure::set::{programs, Program};
use wcet_oracle::measure::Error::Refused;

/// Measures and bounds the programs of tests/wcet, and holds one against the other
#[derive(Parser)]
#[command(name = "wcet-compare", version)]
struct Cli {
    /// These programs; by default all.
    programs: Vec<String>,
    /// For this target; by default all.
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// Where compiled programs go; by default a temporary directory.
    #[arg(long, value_name = "DIRECTORY")]
    into: Option<PathBuf>,
    /// Writes the reference page of the documentation.
    #[arg(long)]
    page: bool,
    /// Takes rows that earlier runs printed as JSON, instead of measuring.
    #[arg(long, value_name = "FILE")]
    rows: Vec<PathBuf>,
    /// A JSON object for each program and target instead of text.
    #[arg(long)]
    json: bool,
    /// Seconds after which the paths of a program are not refined further. Far more than any takes: what is tried is
    /// limited by the solver's own steps, which do not depend on the machine.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,
    /// Takes the programs and targets in an order that this seed gives, and of these the share of `--shard`.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Takes only this share, such as 1/4.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Writes the verdicts as the record of the shard, for `ashlar report`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Takes so many generated programs for each instruction set, from `--seed` on, instead of the set.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["programs", "page", "rows"])]
    adversarial: Option<usize>,
    /// Runs the programs on the Verilog of a core, which is fetched and compiled, instead of the targets that emulators run.
    #[arg(long, conflicts_with_all = ["target", "page", "rows"])]
    core: bool,
    /// Takes answers of the solver from this file, and adds what it had to be asked: a run behind a change then solves only
    /// what that changes.
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Programs that are analysed at a time.
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    jobs: usize,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(faults) if faults.is_empty() => ExitCode::SUCCESS,
        Ok(faults) => {
            faults.iter().for_each(|fault| eprintln!("{fault}"));
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("wcet-compare: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    if let Some(file) = &cli.answers {
        smt::keep_answers(file).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let rows = if cli.rows.is_empty() { measured(cli)? } else { told(&cli.rows)? };
    if let Some(questions) = smt::questions() {
        eprintln!("solver: {} answers were kept, {} questions were new", questions.kept, questions.new);
        if questions.contradicted > 0 {
            return Err("the solver does not answer as the file of answers says: delete that".into());
        }
    }
    print(cli, &rows)?;
    if let Some(path) = &cli.record {
        let campaign = match cli {
            Cli { core: true, .. } => "timing-core",
            Cli { adversarial: Some(_), .. } => "timing-adversarial",
            _ => "timing",
        };
        record(campaign, &rows, cli.seed, cli.shard.unwrap_or(Shard::ALL)).write(path)?;
    }
    Ok(rows.iter().flat_map(Row::faults).collect())
}

/// Rows from files, in the order of programs and targets.
fn told(files: &[PathBuf]) -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let mut rows = Vec::new();
    for file in files {
        for line in std::fs::read_to_string(file)?.lines() {
            rows.push(serde_json::from_str::<Row>(line)?);
        }
    }
    let place = |row: &Row| Target::ALL.iter().position(|target| target.name() == row.target);
    rows.sort_by(|a, b| (&a.program, place(a)).cmp(&(&b.program, place(b))));
    Ok(rows)
}

/// Generated programs for each instruction set that are on the page.
const ON_THE_PAGE: usize = 125;

/// What is measured and analysed.
enum Subject {
    OfTheSet(Program),
    Generated(u64),
}

impl Subject {
    fn row(&self, target: Target, into: &Path, timeout: Duration) -> Result<Row, wcet_oracle::compare::Error> {
        match self {
            Subject::OfTheSet(program) => compare(program, target, into, timeout),
            Subject::Generated(seed) => {
                let program = adversarial::program(*seed, target, into).map_err(|cause| {
                    wcet_oracle::compare::Error::Measure {
                        program: format!("{seed:016x}"),
                        target: target.name(),
                        cause,
                    }
                })?;
                match compare(&program, target, into, timeout) {
                    // Its control flow is not known: so it has no loops to count, and no bound that could be wrong.
                    Err(wcet_oracle::compare::Error::Measure { cause: cause @ Refused(_), .. }) => {
                        Ok(Row::refused(&program, target, cause.to_string()))
                    }
                    row => row,
                }
            }
        }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Subject::OfTheSet(program) => f.write_str(&program.name),
            Subject::Generated(seed) => write!(f, "adversarial-{seed:016x}"),
        }
    }
}

fn work(cli: &Cli) -> Result<Vec<(Subject, Target)>, Box<dyn std::error::Error>> {
    if let Some(count) = cli.adversarial {
        return Ok(generated(cli, count));
    }
    let wanted = programs()?.into_iter().filter(|one| cli.programs.is_empty() || cli.programs.contains(&one.name));
    let all: &[Target] = if cli.core { &[Target::RiscV32Core] } else { &Target::ALL };
    let targets = || all.iter().copied().filter(|target| cli.target.as_ref().is_none_or(|one| one == target.name()));
    let each = |program: Program| targets().map(move |target| (Subject::OfTheSet(program.clone()), target)).collect();
    let of_the_set = wanted.flat_map::<Vec<_>, _>(each);
    let generated = if cli.page { generated(cli, ON_THE_PAGE) } else { Vec::new() };
    Ok(of_the_set.chain(generated).collect())
}

/// Generated programs, so many for each instruction set.
fn generated(cli: &Cli, count: usize) -> Vec<(Subject, Target)> {
    let seeds = (0..count as u64).map(|number| campaign::item_seed(cli.seed, number));
    let wanted = |target: &Target| cli.target.as_ref().is_none_or(|one| one == target.name());
    let all: &[Target] = if cli.core { &[Target::RiscV32Core] } else { &adversarial::TARGETS };
    let each = |seed| all.iter().copied().filter(wanted).map(move |target| (Subject::Generated(seed), target));
    seeds.flat_map(each).collect()
}

fn measured(cli: &Cli) -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let into = match &cli.into {
        Some(directory) => directory.clone(),
        None => std::env::temp_dir().join(format!("wcet-compare-{}", std::process::id())),
    };
    std::fs::create_dir_all(&into)?;
    let work = match cli.shard {
        Some(shard) => campaign::share(work(cli)?, cli.seed, shard),
        None => work(cli)?,
    };
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..cli.jobs.max(1) {
            scope.spawn(|| loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some((subject, target)) = work.get(number) else { break };
                eprintln!("[{}/{}] {subject} for {}", number + 1, work.len(), target.name());
                let row = subject.row(*target, &into, Duration::from_secs(cli.timeout));
                if let Ok(mut done) = done.lock() {
                    if let (true, Ok(row)) = (cli.json, &row) {
                        println!("{}", serde_json::to_string(row).unwrap_or_else(|error| error.to_string()));
                    }
                    done.push((number, row));
                }
            });
        }
    });
    if cli.into.is_none() {
        std::fs::remove_dir_all(&into)?;
    }
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, row)| row).collect::<Result<Vec<Row>, _>>()?)
}

/// A line of the cycles observed, the bound, and how many times the first the second is.
fn cycles(row: &Row) -> String {
    let number = |cycles: Option<u64>| cycles.map_or("none".to_string(), |cycles| cycles.to_string());
    let ratio = tightness(std::slice::from_ref(row)).first().map_or(String::new(), |ratio| format!("{ratio:.2}"));
    format!("{:24} {:>8} {:>8} {ratio:>6}", row.program, number(row.observed), number(row.bound))
}

/// How many times a bound is what was observed, ascending, of the rows that have both.
fn tightness(rows: &[Row]) -> Vec<f64> {
    let ratio = |row: &Row| Some(row.bound? as f64 / row.observed.filter(|observed| *observed > 0)? as f64);
    let mut all: Vec<f64> = rows.iter().filter_map(ratio).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn print(cli: &Cli, rows: &[Row]) -> Result<(), Box<dyn std::error::Error>> {
    if cli.json {
        // Each row was printed when it was there.
    } else if cli.page {
        let path = wcet_oracle::measure::set::directory().join("../../docs/src/reference/timing-set.md");
        std::fs::write(path, page(rows))?;
    } else if cli.core {
        rows.iter().for_each(|row| println!("{}", cycles(row)));
    } else {
        println!("{}", page(rows));
    }
    let tightness = tightness(rows);
    if let Some(middle) = tightness.get(tightness.len() / 2) {
        eprintln!("cycles: {} programs, the bound in the middle {middle:.2} times what was observed", tightness.len());
    }
    let sum = Sum::of(rows);
    eprintln!(
        "{} loops, {} bounded ({:.1} %), {} exact ({:.1} %), {} below",
        sum.loops,
        sum.bounded,
        sum.bounded_percent(),
        sum.exact,
        sum.exact_percent(),
        sum.below
    );
    Ok(())
}
