//! The integration tests of this crate, in one binary to save link time.

mod analysed;
mod changing_memory;
#[path = "../../../flow/tests/suite/compiled.rs"]
mod compiled;
mod conflicts;
mod conflicts_exhaustive;
mod corruption;
mod devices;
mod documented;
mod ipet_charges;
mod loop_bounds;
mod measured;
mod one_run;
mod others_write;
mod recursive;
mod refined;
mod refusals;
mod stated;
mod stated_loops;
mod thumb;
