//! The options of verbs that prove, bound, check and test.

use builder::EmulatorName;
use campaign::Shard;
use clap::{ArgGroup, Args, ValueEnum};
use prove::Sample;
use std::ffi::OsString;
use std::path::PathBuf;

/// Every run checks the sources for forbidden words, compares generated code with the C, builds the proofs, asks Coq what
/// each theorem states and rests on, and compares that with the committed list and page.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("sampled").multiple(true))]
pub struct ProveOptions {
    /// Compile only what has changed. This is the default.
    #[arg(long, conflicts_with_all = ["full", "audit"])]
    pub quick: bool,
    /// Compile everything anew and hold it against the time budget.
    #[arg(long)]
    pub full: bool,
    /// Like --full, then every mutant of the C, of the specifications, of the assumptions and of the definitions, a million
    /// operations of each specification, and the independent checker.
    #[arg(long)]
    pub audit: bool,
    /// Try this many mutants of the C, spread over the layers, or `all` of them with all benign rewritings. Verdicts of
    /// earlier runs are used again.
    #[arg(long, value_name = "N|all", group = "sampled")]
    pub mutants: Option<Sample>,
    /// Try this many mutants of the specifications, spread over their files.
    #[arg(long, value_name = "N", group = "sampled")]
    pub spec_mutants: Option<usize>,
    /// Try mutants of the assumptions about scheduler, hardware and locks: all, or this many from number SEED on.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000")]
    pub assumption_mutants: Option<usize>,
    /// Try mutants of the definitions below the main theorems: all, or this many from number SEED on.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000")]
    pub definition_mutants: Option<usize>,
    /// Try only mutants of this layer.
    #[arg(long, value_name = "LAYER", requires = "sampled")]
    pub layer: Option<String>,
    /// Compare each extracted specification with the C on this many random operations.
    #[arg(long, value_name = "N")]
    pub operations: Option<u64>,
    /// Seed of random choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Take only part I of N of the mutants, or of the layers with --operations.
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    pub shard: Shard,
    /// Write the verdicts of the campaign to this file, for `ashlar report`.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Rewrite the committed files that are generated from the proofs: assumptions.txt, Assumptions.v, the page of the book;
    /// with --binary the list of validated functions, validated.txt.
    #[arg(long)]
    pub write: bool,
    /// Validate the machine code of the kernel that boots against the terms of the proofs, function by function, instead of
    /// compiling the proofs. With --mutants N, N instructions are changed, and each change must be refused.
    #[arg(long, conflicts_with_all = ["full", "audit", "spec_mutants", "assumption_mutants", "definition_mutants", "operations", "record", "layer"])]
    pub binary: bool,
    /// With --binary: only these functions.
    #[arg(value_name = "FUNCTION", requires = "binary")]
    pub functions: Vec<String>,
    /// With --binary: this image instead of the kernel that boots.
    #[arg(long, value_name = "FILE", requires = "binary")]
    pub image: Option<PathBuf>,
    /// With --binary: the kernels with ticket and with MCS locks, and the debug builds of both, one after the other.
    #[arg(long, requires = "binary", conflicts_with_all = ["image", "mutants"])]
    pub all_images: bool,
    /// With --binary: questions to the solver that a function may take.
    #[arg(long, value_name = "N", requires = "binary", default_value_t = 2000)]
    pub limit: u64,
}

/// Everything after the verb goes to the analyser: `ashlar timing --help` lists its options.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct TimingOptions {
    /// Options and arguments of the analyser.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "...")]
    pub arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct DriversOptions {
    /// A command of the checker and its options: `ashlar drivers -- --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub arguments: Vec<OsString>,
}

/// In a project of your own these are its tests: each NAME.toml in its folder tests boots a system, each NAME.c runs on this PC.
/// Elsewhere they are those of Ashlar.
#[derive(Debug, Args)]
pub struct TestOptions {
    /// Run only the tests whose name contains this.
    pub filter: Option<String>,
    /// Print the names of the tests and run none.
    #[arg(long)]
    pub list: bool,
    /// Write the results into this file too, as JUnit XML.
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub junit: Option<PathBuf>,
    /// Run the tests that can be run on this emulator, on it. Its packages are installed if you are root.
    #[arg(long, value_enum, value_name = "NAME", default_value_t)]
    pub emulator: EmulatorName,
    /// Show the consoles of whole-system tests while they run, one test at a time.
    #[arg(long)]
    pub show: bool,
    /// Use this many cores; by default all.
    #[arg(long, value_name = "N", conflicts_with = "show")]
    pub cores: Option<usize>,
}

/// The seed alone determines the items, so a shard does the same on every machine. Shards that already have a record in
/// the folder --out are not run again; shards that end without a record are.
#[derive(Debug, Args)]
pub struct CampaignOptions {
    /// Its name; without it, every campaign is listed.
    pub name: Option<String>,
    /// Where the shards run.
    #[arg(long, value_enum, default_value_t = EngineName::Local)]
    pub engine: EngineName,
    /// Split into this many shards; by default one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub shards: Option<u32>,
    /// Run only this shard, here, and write its record: for a CI matrix, and for the engines.
    #[arg(long, value_name = "I/N", conflicts_with_all = ["shards", "engine", "jobs", "sbatch"])]
    pub shard: Option<Shard>,
    /// The seed that determines the items.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The number of items; by default what is usual for the campaign.
    #[arg(long, value_name = "N")]
    pub items: Option<usize>,
    /// Folder of the records; by default build/campaigns/NAME.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Engine local: this many shards at a time; by default one for each core.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Engine slurm: a further argument of sbatch, such as --sbatch=--partition=night (repeatable).
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// Processes of this machine.
    Local,
    /// A job array of the Slurm cluster that `sbatch` submits to; its nodes see this tree and the folder of the records.
    Slurm,
}

#[derive(Debug, Args)]
pub struct ReportOptions {
    /// Records of shards.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}
