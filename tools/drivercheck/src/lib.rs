//! Whether a driver keeps to its protocols: the rules, on the driver's C as it is compiled.

pub mod abstraction;
pub mod check;
pub mod clients;
mod conditions;
pub mod counterexample;
pub mod cpu_time;
pub mod differential;
pub mod driver;
pub mod expr;
pub mod graph;
mod hash;
pub mod loops;
pub mod lower;
pub mod own;
pub mod preprocess;
pub mod program;
pub mod report;
pub mod result;
pub mod rules;
pub mod seeded;
pub mod simplify;
pub mod slice;
pub mod solver;
pub mod source_map;
pub mod subset;
mod syntax;
#[cfg(test)]
mod testing;
pub mod transform;
mod trial;

use program::Place;

/// Why the checker refuses a driver's C, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    pub place: Place,
    pub message: String,
}
