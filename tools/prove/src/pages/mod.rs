//! Pages of the book that are generated from the proofs.

pub mod mutants;
pub mod theorems;
