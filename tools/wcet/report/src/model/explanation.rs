//! What `--explain` says of an address.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of one address.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    pub address: String,
    pub symbol: String,
    pub source: Option<String>,
    pub instruction: String,
    /// In each calling context, those on the worst path first.
    pub contexts: Vec<ExplainedContext>,
}

/// What is known of an address in one calling context.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainedContext {
    pub calls: Vec<String>,
    /// Whether any run gets here.
    pub reachable: bool,
    /// How often its block is executed on the worst path.
    pub count: u64,
    /// Of one execution of its block.
    pub block_cycles: u64,
    /// What each cache does with each of its accesses.
    pub accesses: Vec<ExplainedAccess>,
    /// Loops around it, the innermost first: addresses of their headers.
    pub loops: Vec<String>,
}

/// A memory access of an instruction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainedAccess {
    /// `fetch`, `read` or `write`.
    pub kind: String,
    /// The address, or the range of it.
    pub target: String,
    /// What the caches do.
    pub verdict: String,
    pub cycles: u64,
}
