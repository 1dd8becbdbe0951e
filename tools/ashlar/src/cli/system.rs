//! The options of verbs that work on systems: a project's own, and those of the tree.

use builder::{EmulatorName, KernelOptions};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

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
