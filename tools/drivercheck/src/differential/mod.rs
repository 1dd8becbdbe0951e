//! The checker checked: random small protocols and drivers, of which every run is taken on this machine against the run-time
//! monitor. PROVED though a run breaks the rule, or VIOLATED though none does, is a disagreement.

mod drivers;
mod host;
mod judge;
mod protocols;

use crate::check::{run_here, CheckError, Options, Row};
use crate::driver::Framework;
use crate::solver::{Solver, SolverError};
use campaign::{item_seed, Record, Shard};
use host::{Host, HostError, Pair};
pub use judge::{Disagreement, Truth};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testing::Random;

/// Drivers that are compiled together, and checked by one thread.
const BATCH: usize = 64;
/// States of a driver that are looked at, at most.
const STATES: usize = 2000;
/// Of processor time, for each check.
const LIMIT: Duration = Duration::from_secs(1);
/// Parsing and lowering recurse with the nesting of the C program.
const STACK: usize = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum DifferentialError {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("driver {0} is refused, though it should not be: {1}\n{2}")]
    Refused(usize, CheckError, String),
    #[error(transparent)]
    Solver(#[from] SolverError),
    #[error("{0}")]
    Framework(String),
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    #[error("a worker has failed")]
    Worker,
}

/// How many pairs, and how they came out.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
pub struct Tally {
    pub pairs: usize,
    /// Pairs of which every run was seen.
    pub whole: usize,
    /// Pairs that break no rule, as far as was seen.
    pub good: usize,
    pub checks: usize,
    pub proved: usize,
    pub violated: usize,
    pub unknown: usize,
    pub disagreements: Vec<Found>,
    /// A line for each check, to compare checkers with.
    #[serde(skip)]
    pub verdicts: String,
}

/// A disagreement, and the files that show it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Found {
    pub pair: usize,
    pub says: String,
    pub folder: PathBuf,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.pairs += other.pairs;
        self.whole += other.whole;
        self.good += other.good;
        self.checks += other.checks;
        self.proved += other.proved;
        self.violated += other.violated;
        self.unknown += other.unknown;
        self.disagreements.extend(other.disagreements);
        self.verdicts.push_str(&other.verdicts);
    }

    /// As the record of a shard of the campaign `drivers-differential`: one item for all pairs that agree, one for each that
    /// does not.
    pub fn record(&self, seed: u64, shard: Shard) -> Record {
        let mut record = Record::new("drivers-differential", seed, shard);
        let item = record.push(format!("pairs-{}of{}", shard.index, shard.count), "agree", true);
        for (name, number) in [
            ("pairs", self.pairs),
            ("whole", self.whole),
            ("good_drivers", self.good),
            ("checks", self.checks),
            ("proved", self.proved),
            ("violated", self.violated),
            ("unknown", self.unknown),
        ] {
            item.detail.insert(name.into(), number.into());
        }
        for found in &self.disagreements {
            record.push(format!("pair-{}", found.pair), &found.says, false);
        }
        record
    }
}

/// The pair with a number; the same seed gives the same one.
fn pair(seed: u64, number: usize, place: usize) -> Pair {
    let mut random = Random(item_seed(seed, number as u64));
    let count = if random.one_in(4) { 2 } else { 1 };
    let name = |index: usize| format!("{}{place}", ["p", "q"][index]);
    let protocols: Vec<_> =
        (0..count).map(|index| protocols::protocol(&mut random, &name(index), 1 + index as u32)).collect();
    let driver = drivers::driver(&mut random, &protocols, place);
    Pair { protocols, driver }
}

/// Tries the pairs of a shard. `tell` is called after each batch.
pub fn differential(
    root: &Path,
    scratch: &Path,
    pairs: usize,
    seed: u64,
    shard: Shard,
    tell: &mut dyn FnMut(&Tally),
) -> Result<Tally, DifferentialError> {
    let framework = Framework::new(root, scratch).map_err(|error| DifferentialError::Framework(error.to_string()))?;
    let host = Host::new(root, scratch, &framework)?;
    let numbers: Vec<usize> = (0..pairs).filter(|number| shard.has(*number)).collect();
    let mut tally = Tally::default();
    let mut solver = Solver::new()?;
    for batch in numbers.chunks(BATCH) {
        // Expressions live as long as their thread.
        solver.forget_expressions();
        let done = std::thread::scope(|scope| {
            let work = || one_batch(&host, &framework, scratch, seed, batch, &mut solver);
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
            thread.map_err(|_| DifferentialError::Worker)?.join().map_err(|_| DifferentialError::Worker)?
        })?;
        tally.add(done);
        tell(&tally);
    }
    Ok(tally)
}

fn one_batch(
    host: &Host,
    framework: &Framework,
    scratch: &Path,
    seed: u64,
    numbers: &[usize],
    solver: &mut Solver,
) -> Result<Tally, DifferentialError> {
    let pairs: Vec<Pair> = numbers.iter().enumerate().map(|(place, number)| pair(seed, *number, place)).collect();
    let texts = host.expand(&pairs)?;
    let all = host.run(&pairs, &texts, STATES)?;
    let mut tally = Tally::default();
    let options = Options { limit: LIMIT, threads: 1, memory: false, ..Options::default() };
    for (index, pair) in pairs.iter().enumerate() {
        let runs = &all[index];
        let truths = judge::truths(pair, runs);
        let driver = framework.driver(&format!("pair_{}", numbers[index]), &texts[index], pair.protocols.clone());
        let rows = run_here(&driver, &options, solver)
            .map_err(|error| DifferentialError::Refused(numbers[index], error, pair.driver.text.clone()))?;
        for row in &rows {
            let Row { rule, protocol, subprotocol, verdict, .. } = row;
            let _ = writeln!(tally.verdicts, "{} {rule} {protocol} {subprotocol}: {verdict}", numbers[index]);
        }
        tally.pairs += 1;
        tally.whole += usize::from(runs.is_whole);
        tally.good += usize::from(truths.values().all(|truth| *truth != Truth::Broken));
        tally.checks += rows.len();
        let count = |verdict: &str| rows.iter().filter(|row| row.verdict == verdict).count();
        tally.proved += count("PROVED");
        tally.violated += count("VIOLATED");
        tally.unknown += count("UNKNOWN");
        if count("UNKNOWN") > 0 {
            keep(&scratch.join(format!("unknown-{seed}-{}", numbers[index])), pair, "not decided", &rows)?;
        }
        for found in judge::disagreements(&truths, &rows) {
            let says = match found {
                Disagreement::Missed(rule) => format!("rule {rule} is PROVED, but a run breaks it"),
                Disagreement::False(rule) => format!("rule {rule} is VIOLATED, but no run breaks it"),
            };
            let folder = scratch.join(format!("pair-{seed}-{}", numbers[index]));
            keep(&folder, pair, &says, &rows)?;
            tally.disagreements.push(Found { pair: numbers[index], says, folder });
        }
    }
    Ok(tally)
}

/// Writes what shows a disagreement: protocols and driver, as `drivers check` takes them, and what was said.
fn keep(folder: &Path, pair: &Pair, says: &str, rows: &[Row]) -> Result<(), DifferentialError> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| DifferentialError::File(path.clone(), error))
    };
    std::fs::create_dir_all(folder).map_err(|error| DifferentialError::File(folder.to_path_buf(), error))?;
    let mut driver = String::from("#include \"ashlar/driver.h\"\n");
    for checked in &pair.protocols {
        write(&format!("{}.proto", checked.protocol.name), &checked.protocol.source.text)?;
        driver.push_str(&format!("#include \"{}_protocol.h\"\n", checked.protocol.name));
    }
    write("driver.c", &(driver + &pair.driver.text))?;
    let mut said = format!("{says}\n\n");
    for row in rows {
        said.push_str(&format!("{} rule {} {} in {:.2} s\n", row.verdict, row.rule, row.subprotocol, row.seconds));
        said.extend(row.reason.iter().map(|reason| format!("    {reason}\n")));
        said.extend(row.trace.iter().map(|trace| format!("{trace}\n")));
    }
    write("says.txt", &said)
}
