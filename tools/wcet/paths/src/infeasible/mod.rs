//! Paths that no execution takes, found by a solver, and constraints that people state, validated by it.
//!
//! [`refine`] takes a [`wcet_symbolic::Setting`] (program, expanded graph, what is known of it) and a
//! [`crate::ipet::Prepared`] path search. It looks at the worst path: do the conditions of its edges hold together? If
//! not, all minimal subsets of conditions that contradict each other, in the smallest window over the path that has any,
//! become constraints, and the search is asked again, until the worst path is possible for all that is known, or time is
//! up: every bound on the way holds.
//!
//! # What a conflict means
//! A [`Conflict`] is a set of edges of which every execution leaves out at least one, in each iteration of the loop that
//! is its scope, or in the whole. Its edges may lie in loops inside the scope: then they are not all taken in the same
//! iteration of those either. [`Conflict::form`] says what follows for counts of edges.
//!
//! # Why it is sound
//! * `path_conditions.rs` says why the conditions of a set of edges hold together in every execution that takes them, whichever
//!   way it takes between them. What differs among ways is a condition of the edges where ways meet.
//! * Loops are met in any iteration: what their instructions may write is not known there.
//! * Memory that others may write is never taken to be what it was ([`wcet_symbolic::Sharing`]); the stack is private.
//! * Only the solver's *unsatisfiable* adds a constraint. What it cannot decide counts as possible.
//!
//! # What it assumes
//! What `wcet-symbolic` assumes; that functions give back the registers that [`wcet_flow::Function::preserved`] names; and
//! the dead edges and loop bounds given. Conflicts between different iterations of one loop are not found.

mod conflict;
mod merge_effects;
mod path_conditions;
mod path_routes;
mod refine;
mod search;
mod stated;
mod subsets;
mod validate;

pub use conflict::{Conflict, Form};
pub use path_conditions::{follow, Maps, Step};
pub use path_routes::{routes, Route};
pub use refine::{describe, forms, refine, End, Explorer, Options, RefineError, Refined};
pub use search::Finding;
pub use stated::{parse, Claim, Stated, StatedError};
pub use subsets::minimal_subsets;
pub use validate::{apply, validate, Effort, Run, Verdict};
