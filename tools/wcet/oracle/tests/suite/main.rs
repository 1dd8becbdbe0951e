//! The integration tests of this crate, in one binary to save link time.

mod adversarial;
mod cache_exhaustive;
#[path = "../../../flow/tests/suite/compiled.rs"]
mod compiled;
mod graphs;
mod ipet_exhaustive;
mod ipet_programs;
mod measured;
mod one_walk;
mod random;
mod set_sample;
mod simulated;
mod simulated_bounds;
mod statements;
mod suites;
mod traces;
