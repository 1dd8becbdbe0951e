//! The command line of `ashlar drivers`. `ashlar` links it to show help and usage errors without building the checker.

use campaign::Shard;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Parser)]
#[command(
    name = "ashlar drivers",
    bin_name = "ashlar drivers",
    about = "Checks drivers against their protocols",
    version
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Output for people or for programs
    #[arg(long, value_enum, default_value = "human", global = true)]
    pub format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Human,
    Json,
}

/// Of the patches on drivers.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    Faults,
    Variations,
}

#[derive(Subcommand)]
pub enum Command {
    /// Check a driver that is given as files
    Check {
        /// C files, or one preprocessed file NAME.i
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Protocol files; without any, those whose headers the driver includes
        #[arg(long)]
        protocol: Vec<PathBuf>,
        /// Further directories of headers
        #[arg(short = 'I', long)]
        include: Vec<PathBuf>,
        #[command(flatten)]
        flags: Flags,
    },
    /// Check the drivers of the tree, or of the project around the current folder: all, or those named
    Verify {
        names: Vec<String>,
        #[command(flatten)]
        flags: Flags,
    },
    /// Find the seeded faults, and prove the correct variations
    Seeded {
        /// Only faults, or only variations
        #[arg(long, value_enum)]
        kind: Option<Kind>,
        /// Only those whose name contains this
        #[arg(long, default_value = "")]
        only: String,
        /// Of their order, and so of what each shard tries
        #[arg(long, default_value = "1")]
        seed: u64,
        /// A part of them: I/N, I from 1
        #[arg(long, value_name = "I/N", default_value = "1/1")]
        shard: Shard,
        /// Write the outcomes as the record of a shard, for `ashlar report`
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
        #[command(flatten)]
        flags: Flags,
    },
    /// Compare the checker with all runs of random small drivers
    Differential {
        /// How many pairs of protocols and driver
        #[arg(long, value_name = "N", default_value = "1000")]
        pairs: usize,
        /// Of all pairs
        #[arg(long, default_value = "1")]
        seed: u64,
        /// A part of them: I/N, I from 1
        #[arg(long, value_name = "I/N", default_value = "1/1")]
        shard: Shard,
        /// Write the outcome as the record of a shard, for `ashlar report`
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
        /// Write the verdict of each check, a line each, to compare checkers with
        #[arg(long, value_name = "FILE")]
        verdicts: Option<PathBuf>,
        /// The root of the sources
        #[arg(long, default_value = ".")]
        root: PathBuf,
        /// Where drivers are compiled, and those with a disagreement are kept
        #[arg(long, default_value = "build/drivercheck/differential")]
        scratch: PathBuf,
    },
    /// The sizes of protocols
    Protocol {
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

#[derive(Args)]
pub struct Flags {
    /// Check whole protocols instead of subprotocols
    #[arg(long)]
    pub no_decomposition: bool,
    /// Begin without the predicates `state == s`
    #[arg(long)]
    pub no_key_predicates: bool,
    /// Leave branches behind an AWAIT as they are
    #[arg(long)]
    pub no_transformation: bool,
    /// Take for granted subprotocols, one by one, not whole protocols
    #[arg(long)]
    pub no_whole_protocols: bool,
    /// Run with and without each of these, and print what it saves
    #[arg(long)]
    pub compare: bool,
    /// Seconds of processor time for each check
    #[arg(long, default_value = "60")]
    pub limit: u64,
    /// Only these rules
    #[arg(long)]
    pub rule: Vec<u8>,
    /// Only subprotocols and AWAITs whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub subprotocol: String,
    #[arg(long, default_value = "2")]
    pub threads: usize,
    /// Write findings as SARIF
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Write statecharts with what the driver does not use greyed, and the run of a violation
    #[arg(long, value_name = "DIRECTORY")]
    pub pictures: Option<PathBuf>,
    /// Print the traces of seeded faults
    #[arg(long)]
    pub traces: bool,
    /// The root of the sources
    #[arg(long, default_value = ".")]
    pub root: PathBuf,
    /// The folder of a user's project, whose drivers and protocols count too; `ashlar drivers` says it in a project
    #[arg(long, value_name = "FOLDER")]
    pub project: Option<PathBuf>,
    /// Where headers and patched drivers are written
    #[arg(long, default_value = "build/drivercheck")]
    pub scratch: PathBuf,
}
