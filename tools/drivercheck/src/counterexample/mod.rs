//! From an abstract path to a counterexample: feasibility, a concrete run through summarised loops, replay, trace.

pub mod concretize;
pub mod execution;
pub mod feasibility;
pub mod monitor;
pub mod relevance;
pub mod replay;
pub mod search;
#[cfg(test)]
mod tests;
pub mod trace;
pub mod unroll;
