//! Whether a driver keeps to its protocols: the five rules, on the driver's C as it is compiled.

pub mod abstraction;
pub mod blame;
pub mod check;
pub mod checks;
pub mod clock;
pub mod component;
pub mod coverage;
pub mod driver;
pub mod exits;
pub mod explore;
pub mod expr;
pub mod fair;
pub mod graph;
pub mod iterations;
pub mod lines;
pub mod liveness;
pub mod lower;
pub mod monitor;
pub mod path;
pub mod picture;
mod prepare;
pub mod program;
pub mod replay;
pub mod rounds;
pub mod run;
pub mod safety;
pub mod sarif;
pub mod seeded;
pub mod solver;
pub mod summary;
pub mod terminate;
pub mod trace;
pub mod transform;
pub mod valuation;
pub mod way;
pub mod whole;

use program::Place;

/// What the checker does not accept of a driver's C, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    pub place: Place,
    pub message: String,
}
