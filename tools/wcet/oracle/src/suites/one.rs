//! One program of a suite for one target: compiled, bounded, run, and the two beside each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wcet_binary::load::Lines;
use wcet_paths::analysis::{analyse_and_show, load_machine, Request, Stated};
use wcet_report::{Report, Verdict};

use super::{Error, Program, Suite};
use crate::compare::contradicted;
use crate::foreign::directory;
use crate::measure::build::{compile, Target};
use crate::measure::subject::{describe, MeasuredLoop, COPIES, ENTRY};

/// What became of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    Bounded,
    /// Some loops have no bound.
    Open,
    Refused,
    /// There was none when its process was ended.
    None,
}

/// A loop of a function, over all contexts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SuiteLoop {
    pub function: String,
    pub address: String,
    pub source: Option<String>,
    pub bound: Option<u64>,
    /// How often its header ran for one entry of it, at most.
    pub measured: Option<u64>,
    /// Why there is no bound.
    pub remark: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub program: String,
    pub part: String,
    pub target: String,
    pub answer: Answer,
    /// Why it is refused.
    pub errors: Vec<String>,
    pub loops: Vec<SuiteLoop>,
    pub cycles: Option<u64>,
    /// Instructions of the run that were looked at; 0 if it was not run.
    pub instructions: u64,
    /// Whether that was the whole run.
    pub complete: bool,
    /// What the run contradicts.
    pub broken: Vec<String>,
    /// Of a processor for the analysis, with its solver.
    pub seconds: f64,
}

impl Row {
    /// Of a program whose process was ended after so many seconds.
    pub fn none(program: &Program, target: Target, seconds: f64) -> Row {
        Row {
            program: program.name.clone(),
            part: program.part.clone(),
            target: target.name().to_string(),
            answer: Answer::None,
            errors: Vec::new(),
            loops: Vec::new(),
            cycles: None,
            instructions: 0,
            complete: false,
            broken: Vec::new(),
            seconds,
        }
    }

    /// Bounds and other claims that are wrong.
    pub fn faults(&self) -> Vec<String> {
        let below = |one: &&SuiteLoop| one.bound.zip(one.measured).is_some_and(|(bound, measured)| bound < measured);
        let of_loops = self.loops.iter().filter(below).map(|one| {
            let (bound, measured) = (one.bound.unwrap_or_default(), one.measured.unwrap_or_default());
            format!("loop at {} of {}: measured {measured}, bound {bound}", one.address, one.function)
        });
        let all = of_loops.chain(self.broken.iter().cloned());
        all.map(|fault| format!("{} for {}: {fault}", self.program, self.target)).collect()
    }

    pub fn bounded(&self) -> usize {
        self.loops.iter().filter(|one| one.bound.is_some()).count()
    }
}

/// Compiles, bounds and runs `program`; what is compiled goes to `into`.
pub fn row(suite: &Suite, program: &Program, target: Target, into: &Path) -> Result<Row, Error> {
    let file = build(suite, program, target, into)?;
    let path = target.machine_file();
    let machine = load_machine(None, &path.to_string_lossy(), &[]).map_err(|errors| {
        let errors: Vec<String> = errors.into_iter().map(|error| error.message).collect();
        Error::Machine(target.machine(), errors.join("; "))
    })?;
    let data = std::fs::read(&file).map_err(|error| Error::File(file.clone(), error.to_string()))?;
    let lines = Lines::parse(&data);
    let recursion = recursion(suite, program, &data)?;
    let request = Request {
        file: file.to_string_lossy().into_owned(),
        data,
        entry: Some(ENTRY.to_string()),
        machine: Some(machine),
        stated: Stated { copies: COPIES, as_loaded: true, recursion, ..Stated::default() },
        timeout: Some(Duration::from_secs(suite.timeout)),
        ..Request::default()
    };
    let mut seen = None;
    let (started, mut running) = (processor_seconds(), 0.0);
    let report = analyse_and_show(&request, &mut |_, _, _| {}, &mut |claims| {
        let began = processor_seconds();
        seen = Some(contradicted(&file, &claims, suite.instructions).map(|(broken, counts)| {
            let loops = 0..claims.expanded.loops.len();
            let loops: Vec<MeasuredLoop> =
                loops.map(|number| describe(claims.expanded, number, &counts, &lines)).collect();
            Run { broken, loops, instructions: counts.cases.iter().sum(), complete: counts.complete }
        }));
        running += processor_seconds() - began;
    });
    let seconds = processor_seconds() - started - running;
    let run = seen.transpose().map_err(Error::Program)?.unwrap_or_default();
    Ok(Row {
        answer: match report.verdict {
            Verdict::Unbounded => Answer::Open,
            Verdict::Refused => Answer::Refused,
            _ => Answer::Bounded,
        },
        errors: errors(&report),
        loops: loops(&report, &run.loops),
        cycles: report.wcet_cycles,
        instructions: run.instructions,
        complete: run.complete,
        broken: run.broken.into_iter().collect(),
        ..Row::none(program, target, seconds)
    })
}

/// What this process and those that it awaited have taken of a processor: other work of the machine does not count.
fn processor_seconds() -> f64 {
    // Linux counts in hundredths. The name, which may contain anything, ends with the last bracket.
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let words = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    words.skip(11).take(4).filter_map(|word| word.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// What the run of a program did.
#[derive(Default)]
struct Run {
    broken: std::collections::BTreeSet<String>,
    loops: Vec<MeasuredLoop>,
    instructions: u64,
    complete: bool,
}

/// The compiled program's file.
fn build(suite: &Suite, program: &Program, target: Target, into: &Path) -> Result<PathBuf, Error> {
    let wrong = |error: std::io::Error| Error::File(program.folder.clone(), error.to_string());
    let mut sources = Vec::new();
    for one in std::fs::read_dir(&program.folder).map_err(wrong)? {
        let path = one.map_err(wrong)?.path();
        if path.extension().is_some_and(|extension| extension == "c") {
            sources.push(path);
        }
    }
    sources.sort();
    sources.push(directory().join(&suite.entry));
    let file = into.join(format!("{}.{}", program.name, target.name()));
    // The sources are those of others: their warnings are not for who runs this.
    let own = directory().join("../wcet");
    let options = ["-w", "-I", &own.to_string_lossy()].map(str::to_string);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    compile(&sources, target, &options, &file).map_err(Error::Program)?;
    Ok(file)
}

/// What is stated of the program's recursion, for each of the functions that the compiler made of one.
fn recursion(suite: &Suite, program: &Program, data: &[u8]) -> Result<Vec<String>, Error> {
    let stated: Vec<_> = suite.recursion.iter().filter(|one| one.program == program.name).collect();
    if stated.is_empty() {
        return Ok(Vec::new());
    }
    let loaded = wcet_binary::load::Program::parse(data).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Error::File(program.folder.clone(), errors.join("; "))
    })?;
    let names = loaded.symbols().iter().map(|symbol| symbol.name.as_str());
    let of = |name: &str| {
        stated
            .iter()
            .find(|one| name.strip_prefix(&one.symbol).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    let mut all: Vec<String> = names.filter_map(|name| Some(format!("{name}={}", of(name)?.depth))).collect();
    all.dedup();
    Ok(all)
}

/// Errors other than loops without a bound, each once.
fn errors(report: &Report) -> Vec<String> {
    let others = report.errors.iter().filter(|error| !error.message.starts_with("this loop has no bound"));
    let mut all: Vec<String> = others.map(|error| format!("{}: {}", error.code, error.message)).collect();
    all.dedup();
    all
}

/// The loops of the report, with what the run counted.
fn loops(report: &Report, counted: &[MeasuredLoop]) -> Vec<SuiteLoop> {
    let mut most: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for one in counted {
        let most = most.entry((format!("{:#x}", one.header), &one.function)).or_default();
        *most = one.most.max(*most);
    }
    let one = |found: &wcet_report::Loop| SuiteLoop {
        function: found.function.clone(),
        address: found.address.clone(),
        source: found.source.as_deref().map(|source| source.rsplit('/').next().unwrap_or(source).to_string()),
        bound: found.bound,
        measured: most.get(&(found.address.clone(), found.function.as_str())).copied(),
        remark: found.reason.clone(),
    };
    report.loops.iter().map(one).collect()
}
