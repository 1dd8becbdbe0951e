//! What commands print with `--format json`: one type for each, from which the output and its schema are made.

use campaign::{Merged, Record};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `ashlar build`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BuildResult {
    pub system: String,
    /// The kernel's ELF file.
    pub kernel: PathBuf,
    /// Boot table, programs and files.
    pub image: PathBuf,
}

/// `ashlar timing --system`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SystemTimingResult {
    /// Number of this form.
    pub version: u32,
    pub system: String,
    /// Processors that the description needs.
    pub cpus: u64,
    /// The machine file of the kernel's bounds.
    pub machine: String,
    pub clock_hz: u64,
    /// From an event to the first instruction of the thread that it makes run, at most, and the part of it that is waits for
    /// locks.
    pub latency_ns: u64,
    pub lock_wait_ns: u64,
    /// Of each thread with a reservation.
    pub responses: Vec<response::Response>,
    /// What the responses rest on, besides what the kernel's bounds do.
    pub assumptions: Vec<String>,
}

/// `ashlar dist`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DistResult {
    pub archive: PathBuf,
    pub sha256: String,
    pub evidence: Vec<DistEvidence>,
}

/// What a distribution has to show for its binaries.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DistEvidence {
    pub name: String,
    /// `included`, `not run`, or `of other binaries`.
    pub state: String,
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
    /// The page that `--report` asked for.
    pub report: Option<PathBuf>,
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

/// `ashlar trace`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceResult {
    pub system: String,
    /// Why it is over: `matched`, `timeout`, `ended` or `signal`.
    pub result: &'static str,
    /// Events recorded, and those of them that were overwritten before they were read.
    pub events: u64,
    pub lost: u64,
    /// The trace.
    pub file: PathBuf,
    pub waits: Vec<WaitResult>,
    /// Of threads that have one.
    pub deadlines: Vec<DeadlineResult>,
}

/// How a thread kept its deadline. Times are nanoseconds; with --icount, instructions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeadlineResult {
    /// PROCESS, or PROCESS.THREAD.
    pub thread: String,
    pub deadline: u64,
    /// Jobs that ended: from a wake-up until the thread waited again.
    pub jobs: u64,
    pub longest: u64,
    pub missed: u64,
    /// The first jobs that took too long.
    pub first: Vec<MissedResult>,
    /// What the kernel's bounds and the description allow a job to take; null if they were not given, or allow any time.
    pub bound: Option<u64>,
    /// Jobs that took longer than that, and the first of them.
    pub beyond: u64,
    pub first_beyond: Vec<MissedResult>,
}

/// A job that took longer than its deadline.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MissedResult {
    /// When its work came, since boot.
    pub began: u64,
    pub took: u64,
    /// Who else had the thread's processor meanwhile, and how long.
    pub others: BTreeMap<String, u64>,
}

/// How long a woken thread waited for a processor, in nanoseconds; with --icount, in instructions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WaitResult {
    /// PROCESS, or PROCESS.THREAD.
    pub thread: String,
    /// The interrupt that woke it, from whose service the wait counts; none if a thread did.
    pub interrupt: Option<String>,
    pub count: u64,
    pub median: u64,
    pub percent_99: u64,
    pub longest: u64,
    /// When the longest began, since boot.
    pub longest_began: u64,
    /// How many waits were how long, by powers of two.
    pub histogram: Vec<BucketResult>,
    /// What the kernel's bounds and the description allow a wait to take; null if they were not given, or allow any time.
    pub bound: Option<u64>,
    /// Waits that took longer than that.
    pub beyond: u64,
}

/// Waits of a length below this power of two, and not below half of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BucketResult {
    pub below: u64,
    pub count: u64,
}

/// Name of a test or campaign, with one line about it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed {
    pub name: String,
    pub about: String,
}

/// `ashlar new`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NewResult {
    pub name: String,
    pub folder: PathBuf,
    /// In the folder.
    pub files: Vec<PathBuf>,
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
