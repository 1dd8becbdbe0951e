//! Bounds of expanded graphs: what their blocks cost, and their longest walk, by implicit path enumeration.
//!
//! **Takes** an [`Expanded`](wcet_flow::context::Expanded) graph, a [`Machine`](wcet_hardware::machine::Machine), for every loop the
//! largest number of times that its header executes for each entry, where accesses go ([`Targets`]), and
//! [`Constraints`]: edges that are never taken, edges that conflict, limits on sums of edge counts, totals of inner
//! loops. **Returns** a [`Bound`] on the cycles of any execution from the entry to an exit, and a walk that costs it.
//! [`bound`] does all of it; [`Prepared`] keeps costs for many solutions under changing constraints. [`solve`] is the
//! last step alone, on a plain graph ([`Problem`]).
//!
//! # How
//! 1. *Adapter.* Instructions become those of `wcet-hardware`: a [`class`] by encoding, registers read and written,
//!    accesses split into lines. The pipeline and cache analyses give the cycles of each edge (the block behind it), and
//!    first misses per scope and line; scopes are all loops, and the whole.
//! 2. *Decomposition* (`region.rs`, `longest_path.rs`). Each loop's iteration and the whole are acyclic graphs in which inner
//!    loops are vertices: the longest walk is found in one pass, exactly, in integers. Conflicts within a region are
//!    kept apart by branching there.
//! 3. *Side constraints* (`charge.rs`, `dual.rs`). First misses that may be due at several places, limits and totals get
//!    multipliers, for which a linear program in floating point looks. Any multipliers give a bound by one exact pass,
//!    so the bound is certified in integers and needs no trust in the program that found them.
//! 4. *Worst path* (`euler_path.rs`), as counts, and as an Eulerian walk through them when asked.
//!
//! # Why it is sound
//! * A walk's time is at most the sum of its edges' costs and of first misses where they are due (`wcet-hardware`).
//! * Every execution is a walk that keeps the bounds of loops; the pass maximises over all of them. A loop's iterations
//!   are independent given its bound, so taking the longest one each time is the maximum.
//! * Dropping a constraint, stopping a branching or a search early only raises the bound: [`Options::deadline`] may come
//!   at any time. [`Bound::exact`] says whether the walk returned costs as much as the bound; then no better bound
//!   exists for these costs and constraints.
//! * What is not understood has no cost but is an [`Error`]: an instruction without class, a wait for an event inside
//!   the region, a loop without bound.
//!
//! # What it assumes
//! The bounds, targets, dead edges and constraints given; the contract of the machine file. The time that another
//! privilege takes for a system call or a guest is not part of the bound, but what it does to the caches is.

mod access;
mod bound;
mod charge;
pub mod class;
mod dual;
mod edge_costs;
mod error;
mod euler_path;
mod live;
mod longest_path;
mod model;
mod problem;
mod region;
mod registers;
mod stretch;
mod stride;

pub use access::{Anywhere, Targets};
pub use bound::{bound, Bound, Constraints, Options, Prepared, Total, Visit};
pub use dual::{solve, Solution};
pub use edge_costs::{walked, Walked};
pub use error::{Error, Problem as Fault};
pub use euler_path::walk;
pub use live::Live;
pub use model::Model;
pub use problem::{Charge, Conflict, Counts, Limit, Loop, Problem};
pub use registers::{used, Used};
pub use stretch::Stretch;
