//! Ground truth for loop bounds: programs compiled, run on all their cases, and their loops counted.
//!
//! **Takes** the programs of `tests/wcet` ([`set`]): small, each with a finite list of cases that contains the worst
//! for each loop. [`build`] compiles them for each instruction set, at one or two levels of optimisation. [`emulate`] runs a
//! compiled one in QEMU, a separate process that reports every instruction it executes.
//!
//! **Returns**, for each loop of each calling context of `entry`, the most times that its header ran for one entry of
//! the loop ([`count`]), and how many instructions each case took.
//!
//! **Assumes** that the cases contain the worst: each program's first comment says why. Of the analysis only the
//! expanded control-flow graph is used, to say what a loop is; no value or bound. An instruction that the graph
//! does not have, or not there, is an error: so each measurement also checks the graph. For the cycles of a case
//! ([`cycles`]), classes and registers of instructions are those of the analysis; caches and pipeline are the
//! simulator's.

pub mod build;
pub mod count;
pub mod cycles;
pub mod emulate;
mod error;
pub mod set;
mod state;
pub mod subject;
pub(crate) mod walk;

pub use error::Error;
