//! The analysis held against the truth: every program of `tests/wcet`, for every target.
//!
//! **Takes** what `wcet-measure` finds by running a program on all its cases, and the report of `wcet-paths` on
//! the same file. **Returns** a [`Row`] per program and target: each loop with both numbers, the bound on the time
//! beside the most cycles observed, and what excluding paths that no run takes changed.
//!
//! **Rests on** the two sides sharing nothing but the control-flow graph, which says what a loop is, and the sorting of
//! instructions into classes. A bound below what was measured is a fault of the analysis, in any context: [`Row::faults`]
//! names it, and the command ends with status 1.

mod claims;
mod inferred;
mod necessity;
mod page;
mod row;
mod sum;

pub(crate) use claims::contradicted;
pub use inferred::{inferred, Inferred};
pub use necessity::{necessity, Necessity, Set};
pub use page::page;
pub use row::{compare, record, Error, LoopRow, Row, Verdict};
pub use sum::Sum;
