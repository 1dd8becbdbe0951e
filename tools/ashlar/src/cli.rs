//! Every verb, option and argument, defined once: help, completions, manual pages and their checks are made from this.

use bench::BenchOptions;
use builder::{EmulatorName, KernelOptions};
use campaign::Shard;
use clap::{ArgAction, ArgGroup, Args, Parser, Subcommand, ValueEnum};
use output::{Failure, Format, Output};
use prove::Sample;
use std::ffi::OsString;
use std::path::PathBuf;

/// Ashlar: a kernel, its user level and its guests, from one system description.
///
/// Standard output has the result: what was found, what was made, the consoles of a run. Standard error has progress, the
/// emulator's command line, and why a command did not succeed. With --format json, standard output is one JSON object.
///
/// Exit status: 0 good, 1 a finding (a fault in a description, a failed test, a console that never matched),
/// 2 could not run.
#[derive(Debug, Parser)]
#[command(name = "ashlar", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub verb: Verb,
    /// Print the result for people, or as JSON for programs.
    #[arg(long, global = true, value_enum, default_value_t = Format::Human, value_name = "FORM")]
    pub format: Format,
    /// Say more: the commands that run, and their output.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// No progress.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Make a project of your own, outside Ashlar's tree: a description, a program, tests.
    New(NewOptions),
    /// Say what this machine lacks, and the command that mends it.
    Doctor,
    /// Find every fault of a system description before anything is built.
    Check(CheckOptions),
    /// Build the kernel, the programs and the system image.
    Build(BuildOptions),
    /// Build a system and run it on the emulator.
    Run(RunOptions),
    /// Run a system under gdb, with the symbols of the kernel and of every program.
    Debug(DebugOptions),
    /// Record what runs when on each processor, for a viewer, and how long threads wait.
    Trace(TraceOptions),
    /// Make an ISO image that boots on BIOS and UEFI machines.
    Image(ImageOptions),
    /// Build the proofs, and check that they state and rest on what the tree claims.
    Prove(ProveOptions),
    /// Check drivers against their protocols: verify, seeded, protocol, check.
    Drivers(DriversOptions),
    /// Bound the time of a program, or of the kernel, from its binary.
    Timing(TimingOptions),
    /// Run a benchmark.
    Bench(BenchOptions),
    /// Run the tests.
    Test(TestOptions),
    /// Run a long campaign in shards, on this machine or on a cluster.
    Campaign(CampaignOptions),
    /// Merge what the shards of campaigns found.
    Report(ReportOptions),
    /// Pack a distribution: an archive with which projects are built and run without the source tree.
    Dist(DistOptions),
    /// Build the book with its pictures, and check its links and the names in it.
    Book(BookOptions),
    /// Explain a code such as ASH-S012.
    Explain(ExplainOptions),
    /// Print the completions of a shell: `ashlar completions bash > ~/.local/share/bash-completion/completions/ashlar`.
    Completions(CompletionsOptions),
    /// Write the manual pages, one for each command: `ashlar man DIRECTORY`.
    Man(ManOptions),
    /// Print the JSON schema of a description, or of what a command prints with `--format json`.
    Schema(SchemaOptions),
}

/// `check`, `build`, `run`, `image`, `test` and `timing --system` work in the project's folder and in those below it, and put
/// what they make into its folder `build`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct NewOptions {
    #[command(subcommand)]
    pub part: Option<NewPart>,
    /// The project's folder, whose last part is its name; it is empty or not there yet.
    #[arg(value_name = "NAME", required = true)]
    pub directory: Option<PathBuf>,
    /// What its program is written in.
    #[arg(long, value_enum, default_value_t)]
    pub language: Language,
}

/// What is added to a project.
#[derive(Debug, Subcommand)]
pub enum NewPart {
    /// Add a driver to the project around the current folder, with its protocol, a client, a machine, a system and a test.
    Driver(NewDriverOptions),
}

/// What is made is checked by `ashlar drivers verify` and boots by `ashlar run NAME`: a driver of QEMU's device `edu`, to be changed into one
/// of another device.
#[derive(Debug, Args)]
pub struct NewDriverOptions {
    /// The name of the driver, its protocol and its system: small letters, digits and `_`, at most 15.
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// What a project's program is written in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Language {
    #[default]
    C,
    Rust,
}

#[derive(Debug, Args)]
pub struct CheckOptions {
    /// A description: a path, a name in systems/, or a project's folder; otherwise the system of the project around the current
    /// folder, or three-linux.
    pub system: Option<String>,
    /// Draw the system into this SVG file: its processors, processes, channels and memory.
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct BookOptions {
    /// Change nothing: list the pictures that are out of date, and the names in the book that the tree does not have.
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct BuildOptions {
    /// A description: a path, a name in systems/, or a project's folder; otherwise the system of the project around the current
    /// folder, or three-linux.
    pub system: Option<String>,
    #[command(flatten)]
    pub kernel: KernelOptions,
}

/// At a terminal, what you type goes to the selected console: at first the first one that is not the kernel's. Press Ctrl-],
/// then a number (0 to 9) or a letter (a for 10 to k for 20) to select another. Ctrl-] l lists the consoles, Ctrl-] q ends
/// the run, Ctrl-] Ctrl-] types a Ctrl-].
#[derive(Debug, Args)]
#[command(after_help = RUN_KEYS)]
pub struct RunOptions {
    /// A description: a path, a name in systems/, or a project's folder; otherwise the system of the project around the current
    /// folder, or three-linux.
    pub system: Option<String>,
    /// No input, no colours, no terminal control.
    #[arg(long)]
    pub headless: bool,
    /// Show a live page: processors, memory, processes, guests and drivers with their state, and the consoles. The kernel is one
    /// that records what happens, as for `trace`.
    #[arg(long, conflicts_with_all = ["headless", "icount", "gdb", "iso"])]
    pub view: bool,
    /// Write a page of HTML when the run is over, with a picture of who had each processor when, the deadlines and the waits. The
    /// kernel is one that records what happens, as for `trace`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["view", "gdb", "iso"])]
    pub report: Option<PathBuf>,
    /// Exit with status 0 once every awaited console has printed a line that matches this regular expression; `up` stands
    /// for the key `up` of each console in the description.
    #[arg(long, value_name = "REGEX|up")]
    pub until: Option<String>,
    /// Show only these consoles (repeatable). With --until, wait for these alone; without --console, --until waits for
    /// those that have an `up` in the description.
    #[arg(long, value_name = "NAME")]
    pub console: Vec<String>,
    /// Do not show these consoles (repeatable).
    #[arg(long, value_name = "NAME")]
    pub mute: Vec<String>,
    /// Give up after this many seconds, with status 1 if something was awaited.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<f64>,
    /// Run on this emulator. Its packages are installed if you are root; otherwise you are told how.
    #[arg(long, value_enum, value_name = "NAME", default_value_t)]
    pub emulator: EmulatorName,
    /// CPUs of the emulated machine; otherwise as many as the system needs.
    #[arg(long, value_name = "N")]
    pub cpus: Option<u32>,
    /// Let time advance by 1 ns with each instruction, so that runs can be compared. Meant for one CPU.
    #[arg(long)]
    pub icount: bool,
    /// Wait for gdb on port 1234 before the first instruction.
    #[arg(long)]
    pub gdb: bool,
    /// Boot an ISO made by `image` instead of building the system anew.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["lock", "debug"])]
    pub iso: Option<PathBuf>,
    #[command(flatten)]
    pub kernel: KernelOptions,
}

/// gdb runs at the terminal, the consoles are shown while the machine runs, and Ctrl-C stops it. Besides gdb's own commands
/// there are `ashlar processes`, `ashlar break PROCESS PLACE`, `ashlar symbols PROCESS`, `ashlar faults` and
/// `ashlar violations`. Each stop takes the symbols of the process that runs there.
#[derive(Debug, Args)]
pub struct DebugOptions {
    /// A description: a path, a name in systems/, or a project's folder; otherwise the system of the project around the current
    /// folder, or three-linux.
    pub system: Option<String>,
    /// Stop where PROCESS comes to PLACE, a function or FILE:LINE (repeatable).
    #[arg(long = "break", value_name = "PROCESS:PLACE")]
    pub breaks: Vec<String>,
    /// Stop at every fault of a program, before anyone handles it.
    #[arg(long)]
    pub faults: bool,
    /// Stop where a driver breaks its protocol; the run-time monitor, which sees it, is in debug builds.
    #[arg(long, requires = "debug")]
    pub violations: bool,
    /// Run this command of gdb, in order, before it asks for others (repeatable).
    #[arg(long, value_name = "COMMAND")]
    pub execute: Vec<String>,
    /// End after these commands.
    #[arg(long)]
    pub batch: bool,
    /// CPUs of the emulated machine; otherwise as many as the system needs.
    #[arg(long, value_name = "N")]
    pub cpus: Option<u32>,
    #[command(flatten)]
    pub kernel: KernelOptions,
}

/// The kernel is built with code that records switches, wake-ups, system calls, messages, interrupts, exits of guests, ends of
/// budgets, periods and faults. Perfetto, speedscope and others open the file.
#[derive(Debug, Args)]
pub struct TraceOptions {
    /// A description: a path, a name in systems/, or a project's folder; otherwise the system of the project around the current
    /// folder, or three-linux.
    pub system: Option<String>,
    /// End once every awaited console has printed a line that matches this regular expression; `up` stands for the key `up` of
    /// each console in the description.
    #[arg(long, value_name = "REGEX|up")]
    pub until: Option<String>,
    /// With --until, wait for these consoles alone (repeatable).
    #[arg(long, value_name = "NAME", requires = "until")]
    pub console: Vec<String>,
    /// End after this many seconds, with status 1 if something was awaited; otherwise after 5, or with --until after 300.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<f64>,
    /// Where the trace goes; otherwise build/systems/NAME/trace.json.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write a page of HTML too, with a picture of the processors' time, the deadlines and the waits.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// CPUs of the emulated machine; otherwise as many as the system needs.
    #[arg(long, value_name = "N")]
    pub cpus: Option<u32>,
    /// Let time advance by 1 ns with each instruction, so that all times are counted instructions. Meant for one CPU.
    #[arg(long)]
    pub icount: bool,
    /// Hold jobs and waits against what these bounds of the kernel, written by `timing --kernel --format json`, allow; a cycle of
    /// a bound allows one instruction.
    #[arg(long, value_name = "FILE", requires = "icount")]
    pub bounds: Option<PathBuf>,
    #[command(flatten)]
    pub kernel: KernelOptions,
}

const RUN_KEYS: &str =
    "Keys, each after Ctrl-]: 0..9 a..k type at that console, m and such a key hide that console or \
                        show it again, o shows only the console that you type at or all again, l lists the consoles, \
                        q ends the run, Ctrl-] types Ctrl-].";

#[derive(Debug, Args)]
pub struct ImageOptions {
    /// A description: a path, a name in systems/, or a project's folder; otherwise the system of the project around the current
    /// folder, or three-linux.
    pub system: Option<String>,
    /// Where the ISO goes; otherwise build/systems/NAME/ashlar.iso.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub kernel: KernelOptions,
}

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

/// The form of output that a command line asks for, also where the rest of the line is wrong.
pub fn format_of(arguments: impl Iterator<Item = OsString>) -> Format {
    let words: Vec<String> = arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    let json =
        words.windows(2).any(|pair| pair == ["--format", "json"]) || words.iter().any(|word| word == "--format=json");
    if json {
        Format::Json
    } else {
        Format::Human
    }
}

/// Ends the process with help, the version, or what is wrong with the command line, as JSON if that is asked for. The
/// status is 0 for --help and --version, 2 for wrong usage.
pub fn end(error: &clap::Error) -> ! {
    let output = Output::new(format_of(std::env::args_os()), 0, false);
    if error.use_stderr() && output.is_json() {
        let failure = Failure::usage(error);
        output.failure(&failure);
        std::process::exit(failure.status().into());
    }
    error.exit()
}

/// The command line with `--` behind the verb `timing`, so that the options there are left to the analyser.
pub fn separated(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut out: Vec<OsString> = Vec::new();
    let (mut before_verb, mut value) = (true, true);
    for argument in arguments {
        // The program's name, and the value of the one global option that has one.
        let skipped = std::mem::replace(&mut value, argument == "--format");
        let verb = before_verb && !skipped && !argument.to_string_lossy().starts_with('-');
        let timing = verb && argument == "timing";
        out.push(argument);
        if timing {
            out.push("--".into());
        }
        before_verb &= !verb;
    }
    out
}

#[derive(Debug, Args)]
pub struct DriversOptions {
    /// A command of the checker and its options: `ashlar drivers -- --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub arguments: Vec<std::ffi::OsString>,
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

#[derive(Debug, Args)]
pub struct ExplainOptions {
    /// The code, in any case; without it, every code with its title.
    pub code: Option<String>,
    /// Print the reference page of all codes, in Markdown.
    #[arg(long, conflicts_with = "code")]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct CompletionsOptions {
    pub shell: clap_complete::Shell,
}

/// The archive holds the tool, the kernels, programs, headers and libraries, the Rust crate, the book, checksums, and the
/// evidence: what is proved, the kernel's bounds, the verdicts on drivers. Evidence is packed only if it was made of the same
/// binaries; for the rest the archive says that it is missing.
#[derive(Debug, Args)]
pub struct DistOptions {
    /// Where the archive goes; otherwise build/ashlar-VERSION-x86_64.tar.xz.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// First make the evidence that is missing: runs `prove`, `timing --kernel` and `drivers verify`, which takes minutes.
    #[arg(long)]
    pub evidence: bool,
}

#[derive(Debug, Args)]
pub struct ManOptions {
    /// Folder for the pages; made if it is not there.
    pub directory: PathBuf,
}

#[derive(Debug, Args)]
pub struct SchemaOptions {
    /// Its name; without it, the names of all schemas.
    pub name: Option<String>,
    /// Write all of them into this folder instead.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "name")]
    pub out: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_format_of_a_wrong_command_line_is_known() {
        let format = |words: &[&str]| format_of(words.iter().map(OsString::from));
        assert_eq!(format(&["ashlar", "check", "--nope", "--format", "json"]), Format::Json);
        assert_eq!(format(&["ashlar", "--format=json", "chekc"]), Format::Json);
        assert_eq!(format(&["ashlar", "check", "json"]), Format::Human);
    }

    fn parsed(words: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(separated(words.iter().map(OsString::from)))
    }

    #[test]
    fn what_follows_timing_is_the_analysers() {
        for options in [&["x.elf", "--format", "html", "-q"][..], &["--kernel", "--format", "json"], &["--help"], &[]] {
            let words = [&["ashlar", "timing"], options].concat();
            let Ok(Arguments { verb: Verb::Timing(found), quiet: false, .. }) = parsed(&words) else {
                panic!("{words:?}")
            };
            assert_eq!(found.arguments, options);
        }
        let global = parsed(&["ashlar", "--format", "json", "-v", "timing", "timing"]).unwrap();
        assert_eq!((global.format, global.verbose), (Format::Json, 1));
        assert!(matches!(global.verb, Verb::Timing(found) if found.arguments == ["timing"]));
        assert!(matches!(parsed(&["ashlar", "check", "timing"]).unwrap().verb, Verb::Check(_)));
        assert!(parsed(&["ashlar", "check", "--no-such-option"]).is_err());
    }
}
