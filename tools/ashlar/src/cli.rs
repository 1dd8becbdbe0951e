//! Every verb, option and argument, defined once: help, completions, manual pages and their checks are made from this.

mod evidence;
mod system;
mod tool;

pub use evidence::*;
pub use system::*;
pub use tool::*;

use bench::BenchOptions;
use clap::{ArgAction, Parser, Subcommand};
use output::{Failure, Format, Output};
use std::ffi::OsString;

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
