//! What a report says of a kernel alone: regions, the response to interrupts, locks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A function of a kernel, with what is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelFunction {
    pub function: String,
    /// A theorem says of its C that it meets its specification.
    pub proved: bool,
    /// Its machine code is shown to do what the C says.
    pub validated: bool,
    /// Of the regions on whose worst path it is, the one with the largest bound; null if it is on no worst path.
    pub region: Option<String>,
    pub region_cycles: Option<u64>,
}

/// Code of a kernel that no interrupt interrupts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Region {
    pub name: String,
    /// How it begins, such as `system call`, `interrupt` or `preemption point`.
    pub kind: String,
    pub wcet_cycles: Option<u64>,
    pub start: Option<String>,
    /// The function with the largest share, and that share.
    pub dominated_by: Option<String>,
    /// The cycles of its longest path by function, calls apart; first misses of the caches have an entry of their own.
    pub functions: BTreeMap<String, u64>,
    pub stack_bytes: Option<u64>,
    /// What waits for locks add, among `lock_processors` processors.
    pub lock_wait_cycles: Option<u64>,
    /// How often it takes locks at most, by their kind; null if that is not known.
    pub locks: Option<BTreeMap<String, u64>>,
}

/// From the arrival of an interrupt with this vector to the first user instruction of its handler.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VectorResponse {
    pub vector: u64,
    /// What interrupts so.
    pub name: String,
    /// The system calls in which its handler waits, or `any thread`; null if no thread waits, and the response ends with the service.
    pub handler: Option<String>,
    /// Waits for locks apart.
    pub cycles: u64,
    /// What these add, by the number of processors; empty if that is not known.
    pub lock_wait_cycles: BTreeMap<String, u64>,
    /// Until interrupts are taken, and in which regions.
    pub closed_cycles: u64,
    pub closed: Vec<String>,
    /// The service of the interrupt, and in which region.
    pub service_cycles: u64,
    pub service: String,
    /// The region in which it is decided who runs, if interrupts are let in between.
    pub decision: Option<String>,
    /// The handler's way to its program, and by which regions.
    pub handler_cycles: u64,
    pub handler_regions: Vec<String>,
}

/// A loop in a region that a response is made of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResponseLoop {
    pub function: String,
    /// Of the header's first instruction.
    pub address: String,
    /// Executions of the header for each entry of the loop at most, in these regions.
    pub bound: Option<u64>,
    /// How often its header is executed on the worst path of the region named next, and the cycles of the loop there, calls
    /// included; 0 if the worst path goes another way.
    pub times: u64,
    pub cycles: u64,
    pub region: String,
}

/// Ticket locks that are numbered one after the other, for objects of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    pub name: String,
    /// How many there are.
    pub members: u64,
    /// The longest time that one is held, waits for others that are taken meanwhile apart.
    pub section_cycles: u64,
    /// The instruction that takes it then.
    pub place: String,
    /// The longest time that one is held while a processor waits for it, with the waits for others among the rest of
    /// `lock_processors` processors.
    pub held_cycles: u64,
    /// What taking one waits at most: each other processor holds it once.
    pub wait_cycles: u64,
    /// Functions in which sections wait for devices or other processors: that time is in no number.
    pub waits: Vec<String>,
    /// Its sections in which other locks are taken, the longest of each kind; empty: it is a leaf.
    pub around: Vec<Around>,
}

/// A section of a lock in which others are taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Around {
    /// Waits for others apart.
    pub section_cycles: u64,
    /// The instruction that takes the outer lock.
    pub place: String,
    /// How often others are taken at most, by their kind.
    pub takes: BTreeMap<String, u64>,
}

/// Responses on processors whose threads run certain programs only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    pub programs: Vec<ClosedProgram>,
    /// To each interrupt for which these programs' threads may wait; null if the calls of one program are not known.
    pub responses: Option<Vec<VectorResponse>>,
}

/// A program, and the system calls that its executable makes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClosedProgram {
    pub file: String,
    pub sha256: String,
    /// Null if they are not known.
    pub calls: Option<Vec<String>>,
    /// Why they are not known.
    pub reason: Option<String>,
}
