//! What commands print with `--format json`: one type for each, from which the output and its schema are made.

use campaign::{Merged, Record};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Why a command could not do its work (exit status 2), or is not a command.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommandFailed {
    pub error: CommandError,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CommandError {
    pub message: String,
    /// What to do about it; empty if nothing is known.
    pub remedy: String,
}

/// `ashlar build`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BuildResult {
    pub system: String,
    /// The kernel's ELF file.
    pub kernel: PathBuf,
    /// Boot table, programs and files.
    pub image: PathBuf,
}

/// `ashlar image`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImageResult {
    pub system: String,
    /// The disc image.
    pub iso: PathBuf,
}

/// `ashlar doctor`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorResult {
    /// How many of the findings are not well.
    pub faults: usize,
    /// The command that installs every package that is missing.
    pub install: Option<String>,
    pub findings: Vec<DoctorFinding>,
}

/// One thing that the machine should have.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorFinding {
    pub name: String,
    pub ok: bool,
    /// What is wrong.
    pub fault: Option<String>,
    /// What cannot be done without it.
    pub needed_for: String,
    pub remedy: Option<String>,
}

/// `ashlar explain`: one code, or several if a short name means several.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ExplainResult {
    One(ExplainedCode),
    Several { codes: Vec<ExplainedCode> },
    List { codes: Vec<ListedCode> },
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedCode {
    pub code: String,
    pub title: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ExplainedCode {
    pub code: String,
    pub title: String,
    pub explanation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<CodeExample>,
}

/// C that has the finding, and what to write instead.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CodeExample {
    pub refused: String,
    pub accepted: String,
}

/// `ashlar run`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunResult {
    pub system: String,
    /// Why the run is over: `matched`, `timeout`, `ended`, `quit`, `signal` or `refused`.
    pub result: &'static str,
    pub seconds: f64,
    /// The emulator's command line.
    pub command: String,
    pub consoles: BTreeMap<String, ConsoleResult>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ConsoleResult {
    /// Whether `--until` names something that this console must say.
    pub awaited: bool,
    /// The line that did.
    pub matched: Option<String>,
    /// Its last lines.
    pub last: Vec<String>,
}

/// Name of a test or campaign, with one line about it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed {
    pub name: String,
    pub about: String,
}

/// `ashlar test`; the list with `--list`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TestResult {
    Run { passed: usize, failed: usize, skipped: usize, seconds: f64, tests: Vec<TestOutcome> },
    List { tests: Vec<Listed> },
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TestOutcome {
    pub name: String,
    /// `passed`, `failed` or `skipped`.
    pub outcome: &'static str,
    pub seconds: f64,
    /// Of a test that did not pass.
    pub why: Option<String>,
}

/// `ashlar campaign`: what its shards found; the record of one with `--shard`; the list without a name.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CampaignResult {
    Merged { campaigns: Vec<Merged> },
    Shard(Record),
    List { campaigns: Vec<Listed> },
}

/// `ashlar report`: each campaign of which a record was given.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportResult {
    pub campaigns: Vec<Merged>,
}

/// `ashlar book`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BookResult {
    /// Each with its file and line.
    pub findings: Vec<String>,
    /// The first page; none with `--check`.
    pub page: Option<String>,
}

/// `ashlar man`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ManResult {
    pub directory: PathBuf,
}

/// `ashlar bench`, by benchmark.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BenchResult {
    /// `guests`: by workload.
    Guests(BTreeMap<&'static str, GuestTimes>),
    /// `timing`: of the kernel, and of the set of programs.
    Timing(BTreeMap<&'static str, AnalysisCost>),
    /// `scaling`: by lock and by bytes of payload.
    Scaling(BTreeMap<&'static str, BTreeMap<String, Scaling>>),
    /// `start`: by machine.
    Start(BTreeMap<&'static str, StartCounts>),
    /// `locks`: cycles of one acquire and release, by lock and number of CPUs.
    Locks(BTreeMap<String, BTreeMap<String, f64>>),
    /// `ipc` and `drivers`: by name.
    Figures(BTreeMap<String, Figure>),
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Figure {
    /// Instructions, the median.
    Instructions(u64),
    /// Of `calibration_ok`: whether instructions were counted at all.
    Calibration(bool),
    /// For 1, 2, ... clients: instructions of a message and messages a second, by kind of exchange.
    Clients {
        instructions: BTreeMap<&'static str, Vec<u64>>,
        messages_a_second: BTreeMap<&'static str, Vec<u64>>,
    },
    Device(DeviceSpeeds),
}

/// A device under Ashlar's driver and under Linux's.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DeviceSpeeds {
    /// KiB a second, or microseconds of a round trip.
    pub ashlar: f64,
    pub linux: f64,
    /// Ashlar's speed to Linux's: by the medians, and the least and the greatest of a round.
    pub ratio: f64,
    pub ratio_least: f64,
    pub ratio_most: f64,
    #[serde(flatten)]
    pub processor: Option<ProcessorTimes>,
}

/// The same by processor time, where it is long enough to be measured.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProcessorTimes {
    pub ashlar_processor_seconds: f64,
    pub linux_processor_seconds: f64,
    pub processor_ratio: f64,
    pub processor_ratio_least: f64,
    pub processor_ratio_most: f64,
}

/// Round trips of pairs of server and client in equal windows of time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Scaling {
    /// One pair running alone.
    pub alone: u64,
    /// All pairs together, summed.
    pub together: u64,
    pub speedup: f64,
}

/// Instructions until a program runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StartCounts {
    pub reset: u64,
    /// Of these, those of the kernel.
    pub kernel: u64,
}

/// Milliseconds of a workload.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GuestTimes {
    /// Linux directly on the emulator.
    pub bare: f64,
    pub guest: f64,
    pub ratio: f64,
    /// Three guests at once: the slowest.
    pub three: f64,
    pub ratio_three: f64,
}

/// What an analysis took, and how much it bounded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnalysisCost {
    /// Regions of the kernel, or programs.
    pub parts: usize,
    pub parts_bounded: usize,
    pub loops: usize,
    pub loops_bounded: usize,
    pub cpu_seconds: f64,
    pub mebibytes: f64,
}
