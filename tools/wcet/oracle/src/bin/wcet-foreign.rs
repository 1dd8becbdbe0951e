//! Builds a kernel of `tests/foreign`, and bounds it from each of its entries.

use std::path::PathBuf;
use std::process::ExitCode;

use campaign::{Record, Shard};
use clap::Parser;
use wcet_oracle::foreign;
use wcet_report::Verdict;

/// Builds a kernel of `tests/foreign`, and bounds it from each of its entries.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// Its name there.
    #[arg(default_value = "sel4-omap3")]
    kernel: String,
    /// This executable, instead of building one.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Writes the reference page of the documentation.
    #[arg(long, conflicts_with_all = ["entry", "shard"])]
    page: bool,
    /// These entries; by default all.
    #[arg(long, value_name = "NAME")]
    entry: Vec<String>,
    /// Takes the entries in an order that this seed gives, and of these the share of `--shard`.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Takes only this share, such as 1/4.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Writes the outcome as the record of the shard, for `ashlar report`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("wcet-foreign: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether every entry was followed, to a bound or to loops that have none.
fn run(cli: &Cli) -> Result<bool, Box<dyn std::error::Error>> {
    let kernel = foreign::read(&cli.kernel)?;
    let file = match &cli.file {
        Some(file) => file.clone(),
        None => foreign::build(&cli.kernel, &kernel)?,
    };
    let known: Vec<String> = kernel.entry.iter().map(foreign::Entry::name).collect();
    if let Some(name) = cli.entry.iter().find(|name| !known.contains(name)) {
        return Err(format!("{} has no entry `{name}`; choose of: `{}`", cli.kernel, known.join("`, `")).into());
    }
    let wanted = |name: &String| cli.entry.is_empty() || cli.entry.contains(name);
    let entries: Vec<_> = kernel.entry.iter().filter(|one| wanted(&one.name())).collect();
    let shard = cli.shard.unwrap_or(Shard::ALL);
    let entries = campaign::share(entries, cli.seed, shard);
    let mut found = foreign::bound(&kernel, &file, &entries, &|entry| eprintln!("{entry}"))?;
    let campaign = if cli.kernel == foreign::KERNELS[0] { "timing-foreign" } else { "timing-rtos" };
    let mut record = Record::new(campaign, cli.seed, shard);
    for one in &found {
        let bounded = one.unaided.loops.iter().filter(|one| one.bound.is_some()).count();
        let cycles = one.aided.wcet_cycles.map_or_else(|| "no bound".to_string(), |cycles| format!("{cycles} cycles"));
        println!("{}: {bounded} of {} loops unaided; {cycles}", one.entry, one.unaided.loops.len());
        println!(
            "    {:.0} s for the loops, {:.0} s for the bound",
            one.unaided.analysis.seconds, one.aided.analysis.seconds
        );
        for error in &one.aided.errors {
            let place = error.symbol.as_deref().or(error.address.as_deref()).unwrap_or_default();
            println!("    {} {place}: {}; {}", error.code, error.message, error.remedy);
        }
        let verdict = match one.aided.verdict {
            Verdict::Bounded => "bounded",
            Verdict::Unbounded => "open",
            _ => "refused",
        };
        record.push(&one.entry, verdict, verdict != "refused");
    }
    if found.len() == kernel.entry.len() {
        let nowhere = foreign::unknown(&kernel, &file, &found)?;
        if !nowhere.is_empty() {
            return Err(format!("stated of no loop that an entry reaches: {}", nowhere.join(", ")).into());
        }
    }
    if cli.page {
        let place = |one: &foreign::Bounded| kernel.entry.iter().position(|entry| entry.name() == one.entry);
        found.sort_by_key(place);
        std::fs::write(foreign::page_file(&cli.kernel), foreign::page(&cli.kernel, &kernel, &found))?;
    }
    if let Some(path) = &cli.record {
        record.write(path)?;
    }
    Ok(record.items.iter().all(|item| item.good))
}
