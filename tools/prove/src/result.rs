//! What `ashlar prove --format json` prints: from these types come the output and its schema.

use crate::conformance::{self, specification_mutants};
use crate::finding::Finding;
use crate::mutants::code::Benign;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// `ashlar prove`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProveResult {
    pub seconds: f64,
    /// All axioms that some theorem rests on.
    pub axioms: BTreeSet<String>,
    /// Goals that a proof leaves out.
    pub admitted: usize,
    /// The theorems that Coq was asked about.
    pub theorems: Vec<ProvedTheorem>,
    pub layers: Vec<ProvedLayer>,
    pub benign: Benign,
    pub mutants: MutantCounts,
    pub specification_mutants: SpecificationMutantCounts,
    pub assumption_mutants: TrialCounts,
    pub definition_mutants: TrialCounts,
    pub conformance: Vec<conformance::Run>,
    /// The files of the proofs, with the time that compiling each took.
    pub files: Vec<ProofFile>,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ProvedTheorem {
    pub name: String,
    pub statement_file: String,
    /// Axioms that it rests on.
    pub assumptions: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ProvedLayer {
    pub name: String,
    pub functions: usize,
    /// Of these, how many have a theorem.
    pub certified: usize,
}

/// Mutants of the certified C.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MutantCounts {
    /// They break a proof.
    pub killed: usize,
    pub survived: usize,
    /// Mutants of functions without a theorem, which were not tried.
    pub uncertified: usize,
    #[serde(flatten)]
    pub shown: conformance::Shown,
}

/// Mutants of proof files.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrialCounts {
    pub killed: usize,
    pub survived: usize,
    /// They are not valid Coq.
    pub discarded: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SpecificationMutantCounts {
    #[serde(flatten)]
    pub trials: TrialCounts,
    #[serde(flatten)]
    pub shown: specification_mutants::Shown,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ProofFile {
    pub file: String,
    pub seconds: f64,
}
