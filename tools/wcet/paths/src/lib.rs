//! Worst-case paths of a program.
//!
//! [`loop_bounds`] says how often loops run, [`ipet`] finds the most expensive path by implicit path enumeration,
//! [`infeasible`] excludes paths that no execution takes, and [`analysis`] runs all stages on an executable.

pub mod analysis;
pub mod infeasible;
pub mod ipet;
pub mod loop_bounds;
