//! Prints what the stages of the timing analysis find in an executable. Later these become verbs of `ashlar`.
//!
//! Knows: arguments, and how results are written for people. Does not know: any analysis.

mod error;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use timing_flow::Options;
use timing_lift::Lifter;
use timing_load::{Lines, Program};

use error::Error;

#[derive(Parser)]
#[command(name = "timing", version, about = "Stages of the timing analysis, one at a time")]
struct Cli {
    #[command(subcommand)]
    stage: Stage,
}

#[derive(Subcommand)]
enum Stage {
    /// Functions, basic blocks and loops that entry points reach
    Flow {
        file: PathBuf,
        /// Where control enters: a symbol or an address. By default the file's entry point.
        #[arg(long, value_name = "SYMBOL")]
        entry: Vec<String>,
        /// Targets of an indirect jump, call or return.
        #[arg(long, value_name = "ADDRESS=SYMBOL,...")]
        targets: Vec<String>,
        /// How deep a function calls itself.
        #[arg(long, value_name = "SYMBOL=DEPTH")]
        recursion: Vec<String>,
        /// A function that switches stacks, and where new stacks begin.
        #[arg(long, value_name = "SYMBOL=SYMBOL,...")]
        switch: Vec<String>,
        /// Print basic blocks with their instructions.
        #[arg(long)]
        blocks: bool,
    },
}

fn main() -> ExitCode {
    let Stage::Flow { file, entry, targets, recursion, switch, blocks } = Cli::parse().stage;
    match flow(&file, &entry, [&targets, &switch, &recursion], blocks) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Findings(lines)) => {
            lines.iter().for_each(|line| eprintln!("{line}"));
            eprintln!("{} errors", lines.len());
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("timing: {error}");
            ExitCode::from(2)
        }
    }
}

fn flow(file: &PathBuf, entries: &[String], stated: [&[String]; 3], blocks: bool) -> Result<(), Error> {
    let data = std::fs::read(file).map_err(|cause| Error::Read { path: file.clone(), cause })?;
    let program = Program::parse(&data).map_err(|errors| {
        Error::Findings(errors.iter().map(|error| format!("{}: {error}", file.display())).collect())
    })?;
    let mut addresses = entries.iter().map(|name| address(&program, name)).collect::<Result<Vec<_>, _>>()?;
    if addresses.is_empty() {
        addresses.push(program.entry);
    }
    let options = options(&program, stated)?;
    let lifter = Lifter::new(&program).map_err(|cause| Error::Setup(cause.to_string()))?;
    let graph = timing_flow::analyse(&lifter, &addresses, &options)
        .map_err(|errors| Error::Findings(errors.iter().map(ToString::to_string).collect()))?;
    report::print(&graph, &lifter, &Lines::parse(&data), blocks);
    Ok(())
}

/// The address that a symbol, a symbol and an offset (`name+0x10`), or a number names.
fn address(program: &Program, name: &str) -> Result<u64, Error> {
    let number = |text: &str| text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let symbol = |text: &str| program.symbol(text).map(|symbol| symbol.address);
    let offset = || {
        let (base, offset) = name.rsplit_once('+')?;
        Some(symbol(base)?.wrapping_add(number(offset)?))
    };
    number(name).or_else(|| symbol(name)).or_else(offset).ok_or_else(|| Error::NoSymbol(name.to_string()))
}

fn options(program: &Program, [targets, switches, recursion]: [&[String]; 3]) -> Result<Options, Error> {
    let pair = |text: &str| -> Result<(String, String), Error> {
        let parts = text.split_once('=').ok_or_else(|| Error::NoPair(text.to_string()))?;
        Ok((parts.0.to_string(), parts.1.to_string()))
    };
    let lists = |texts: &[String]| -> Result<BTreeMap<u64, BTreeSet<u64>>, Error> {
        let list = |text: &String| {
            let (place, names) = pair(text)?;
            let names = names.split(',').map(|name| address(program, name)).collect::<Result<_, _>>()?;
            Ok((address(program, &place)?, names))
        };
        texts.iter().map(list).collect()
    };
    let mut depths = BTreeMap::new();
    for text in recursion {
        let (function, depth) = pair(text)?;
        let depth = depth.parse().map_err(|_| Error::NoPair(text.clone()))?;
        depths.insert(address(program, &function)?, depth);
    }
    Ok(Options { targets: lists(targets)?, switches: lists(switches)?, recursion: depths })
}
