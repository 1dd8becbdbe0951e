//! What a report says. These types are the JSON form: a field that is here stays.
//!
//! Addresses are texts such as `0x80211a40`, since numbers of JSON are exact only up to 2^53.

mod explanation;
mod kernel;

pub use explanation::{ExplainedAccess, ExplainedContext, Explanation};
pub use kernel::{Around, Closed, ClosedProgram, KernelFunction, Lock, Region, ResponseLoop, VectorResponse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The number of this form; it rises when a field changes its meaning or goes.
pub const VERSION: u32 = 1;

/// A timing report of `ashlar timing`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Number of this form.
    pub version: u32,
    pub verdict: Verdict,
    /// The bound: no run from the entry to its end takes longer on the machine. Null if there is none.
    pub wcet_cycles: Option<u64>,
    /// The bound as time; null if there is none, or if the machine's clock is not known.
    pub seconds: Option<f64>,
    pub budget: Option<Budget>,
    /// Each loop that was analysed.
    pub loops: Vec<Loop>,
    /// Sets of edges that no run takes together, found by the analysis.
    pub infeasible: Vec<Infeasible>,
    /// What a person stated about paths, and whether it was found to hold.
    pub constraints: Vec<Constraint>,
    /// The worst path: blocks in the order of execution.
    pub path: Vec<Step>,
    /// Everything that stands in the way of a bound.
    pub errors: Vec<Error>,
    pub program: Program,
    pub machine: Machine,
    /// What the bound rests on.
    pub assumptions: Vec<Assumption>,
    /// Calling contexts that path steps name by their index.
    pub contexts: Vec<Context>,
    /// Instructions of the blocks on the path.
    pub code: Vec<Block>,
    /// The path cut at the calls of the entry function, in order.
    pub waterfall: Vec<Bar>,
    /// Functions on the path, the most expensive first.
    pub functions: Vec<Function>,
    /// Measured times beside their bounds.
    pub observed: Vec<Observed>,
    pub analysis: Analysis,
    /// What `--explain` asked for; else null.
    pub explanation: Option<Explanation>,
    /// Of a kernel: the non-preemptible regions, longest first; null for a program.
    pub regions: Option<Vec<Region>>,
    /// Of a kernel whose source tree this is: its functions behind start-up, by name; else null.
    #[serde(default)]
    pub kernel_functions: Option<Vec<KernelFunction>>,
    /// Of a kernel: from the arrival of an interrupt to the first user instruction of its handler; null without a bound, or for a
    /// program.
    pub worst_response_cycles: Option<u64>,
    /// Of a kernel: the response to each interrupt vector that has one; null for a program, or without a bound.
    pub responses: Option<Vec<VectorResponse>>,
    /// Of a kernel: loops in the regions that responses are made of, those with most cycles first; null as `responses` is.
    pub response_loops: Option<Vec<ResponseLoop>>,
    /// Of a kernel: the deepest stack of any entry; null if it is not known, or for a program.
    pub stack_bytes: Option<u64>,
    /// Of a kernel whose locks are described: families of locks that regions take; null if it is not known how long they are
    /// held, or for a program.
    pub locks: Option<Vec<Lock>>,
    /// Of a kernel: what waits for locks add to the response, among `lock_processors` processors; null if that is not known, or
    /// for a program.
    pub lock_wait_cycles: Option<u64>,
    pub lock_processors: Option<u64>,
    /// Of a kernel: what `--program` asked for; else null.
    #[serde(default)]
    pub closed: Option<Closed>,
}

/// How the analysis ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// There is a bound, within the budget if there is one.
    Bounded,
    /// There is a bound, and it exceeds the budget.
    Late,
    /// Some loop has no bound, so there is none for the whole.
    Unbounded,
    /// The program or the request is not one that can be analysed soundly.
    #[default]
    Refused,
}

/// The time that the bound is held against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// As it was asked for.
    pub text: String,
    pub cycles: u64,
    /// Budget less bound; negative if the bound exceeds it, null without a bound.
    pub slack_cycles: Option<i64>,
    pub met: bool,
}

/// A loop: its bound is the largest number of times its header is executed for each entry of the loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Loop {
    pub function: String,
    /// Of the header's first instruction.
    pub address: String,
    /// File and line.
    pub source: Option<String>,
    /// Over all contexts; null if some context has none, 0 if the loop is never entered.
    pub bound: Option<u64>,
    /// Why the bound holds.
    pub evidence: Option<Evidence>,
    /// The proof, in a sentence.
    pub detail: Option<String>,
    /// Why there is no bound.
    pub reason: Option<String>,
    /// The least fact that would give a bound.
    pub least_fact: Option<String>,
    /// Bounds by calling context where they differ.
    pub contexts: Vec<LoopContext>,
}

/// Where a bound comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Never entered in this program.
    Unreached,
    /// By abstract interpretation of the binary.
    Inferred,
    /// By exhaustive search of the loop's slice.
    ModelChecked,
    /// Stated by a person and shown to hold.
    Validated,
    /// Stated by a person, and shown by nothing.
    Stated,
    /// Follows from an invariant that is proved elsewhere.
    Imported,
}

/// The bound of a loop in one calling context.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoopContext {
    /// Functions from the entry down to the loop's.
    pub calls: Vec<String>,
    pub bound: Option<u64>,
    pub evidence: Option<Evidence>,
}

/// Edges that no run takes together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Infeasible {
    pub edges: Vec<Branch>,
    /// Within what they exclude each other, such as one iteration of a loop.
    pub scope: String,
    /// The bound after this set was taken into account.
    pub wcet_cycles: Option<u64>,
}

/// A way on from one instruction to another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    pub function: String,
    /// Of the instruction that decides.
    pub from: String,
    pub to: String,
    pub source: Option<String>,
    /// Functions from the entry down.
    pub calls: Vec<String>,
}

/// A constraint on paths that a person stated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// As it was written.
    pub text: String,
    /// Shown to hold.
    pub validated: bool,
    /// A run against it.
    pub counterexample: Option<String>,
}

/// A block on the worst path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub function: String,
    pub address: String,
    pub source: Option<String>,
    /// Index in `contexts`.
    pub context: usize,
    /// How often it is executed here.
    pub count: u64,
    /// Of all these executions.
    pub cycles: u64,
    /// First misses that are paid here, in loops or the whole program; part of `cycles`.
    pub first_misses: u64,
}

/// What is wrong, where, and how to mend it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Error {
    /// A stable code such as `ASH-T005`.
    pub code: String,
    pub address: Option<String>,
    /// The address for people, such as `main+0x12`.
    pub symbol: Option<String>,
    pub source: Option<String>,
    pub message: String,
    pub remedy: String,
}

/// The executable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    pub file: String,
    pub sha256: String,
    pub bytes: u64,
    pub architecture: String,
    pub entry: String,
    pub entry_address: Option<String>,
    /// What is reached from the entry.
    pub reached_functions: usize,
    pub reached_instructions: usize,
    /// Blocks in their calling contexts.
    pub nodes: usize,
}

/// The machine file, with the source of every number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub name: String,
    pub about: String,
    pub sha256: String,
    pub clock_hz: Option<u64>,
    pub numbers: Vec<Number>,
    pub sources: Vec<Source>,
}

/// A number of the machine file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// Table and key, such as `cache.l1i.ways`.
    pub place: String,
    pub value: String,
    pub source: String,
    /// What the file says, where `--set` changed it.
    pub instead_of: Option<String>,
}

/// What numbers are cited from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub name: String,
    pub title: String,
}

/// Something that the bound rests on and the analysis did not show.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// What it is about: `machine`, `program`, `stated` or `proof`.
    pub of: String,
    pub text: String,
}

/// A function as it was called from a certain place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Context {
    pub function: String,
    pub address: String,
    /// Index of the calling context.
    pub caller: Option<usize>,
    /// Of the instruction that calls.
    pub call_site: Option<String>,
}

/// The instructions of a basic block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Block {
    pub address: String,
    pub instructions: Vec<Instruction>,
}

/// An instruction, with the source line that begins here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Instruction {
    pub address: String,
    pub text: String,
    /// File and line where they differ from those of the instruction before.
    pub source: Option<String>,
    pub source_text: Option<String>,
}

/// A stretch of the worst path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    pub function: String,
    pub address: String,
    pub source: Option<String>,
    /// Cycles of the path before it.
    pub start: u64,
    pub cycles: u64,
}

/// What a function costs on the worst path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Function {
    pub function: String,
    pub address: String,
    pub source: Option<String>,
    /// How often it is entered.
    pub entered: u64,
    /// Without its callees.
    pub self_cycles: u64,
    pub total_cycles: u64,
    pub callees: Vec<Callee>,
}

/// A function called by another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Callee {
    pub function: String,
    pub address: String,
    /// Cycles in it and below when called from here.
    pub cycles: u64,
}

/// A time that was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    pub name: String,
    pub passages: u64,
    /// The longest.
    pub cycles: u64,
    pub bound_cycles: u64,
}

/// How the answer was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Analysis {
    /// Version of the analyser.
    pub version: String,
    /// The command that gives this report again.
    pub command: Vec<String>,
    /// False if paths were not refined as far as they can be, for want of time or of a solver. The bound holds all the same.
    pub complete: bool,
    /// What the path in this report costs. Where it is less than the bound, no path is known that takes as long.
    pub path_cycles: Option<u64>,
    pub seconds: f64,
    pub phases: Vec<Phase>,
    /// Each bound on the way, the last one being the result.
    pub refinement: Vec<Refinement>,
}

/// A stage of the analysis.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    pub name: String,
    pub seconds: f64,
    /// What it found, in a few words.
    pub result: String,
}

/// A valid bound that a later one improved on, or the last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refinement {
    /// Since the start.
    pub seconds: f64,
    pub wcet_cycles: u64,
    /// Infeasible sets known by then.
    pub infeasible: usize,
}
