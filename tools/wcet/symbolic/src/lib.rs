//! Machine code as formulas over bit vectors, and what a solver says about them.
//!
//! [`Executor`] turns the operations of the intermediate language into [`Terms`], [`Region`] executes parts of an
//! expanded graph that way, and [`Solver`] asks `z3`, a separate process. [`follow`] finds the least bounds of all loops
//! of a small region at once, by executing it from its entry; [`least_bound`] that of one loop by exact unrolling, from
//! where the loop is entered or further back; [`bound_by_measure`] a bound from what one iteration does to a register.
//! `wcet-paths` is built on these.
//!
//! # What the answers mean
//! Only *unsatisfiable* is ever used to make a bound smaller: no execution in the model does that. *Satisfiable* and
//! *undecided* both leave a bound as it is; a satisfying assignment is shown as a run only if no leaf in its formula
//! stands for code that was not followed ([`is_exact`]).
//!
//! # Why it is sound
//! * Every operation's term has the operation's value, for all operands: tests compare both on random numbers, and with
//!   the solver. What the language leaves open (a division by 0, vector registers) is a new leaf: any value.
//! * Loads are resolved against the stores before them only where the distance of the addresses is certain. Otherwise
//!   the term distinguishes the cases, and where accesses overlap in part the bytes may be anything.
//! * Where an execution starts, registers and memory hold anything that the analysis of values allows there.
//! * Loops that are not unrolled are replaced by what their instructions may write.
//! * Nothing is remembered of memory that others may write ([`Sharing`]): reading it twice gives two values.
//! * The solver's answers are believed. Formulas that few bits decide are computed for all values of these instead.
//!
//! # What it assumes
//! [`ASSUMPTIONS`], for the report.

mod address_cases;
mod arbitrary_registers;
mod arithmetic;
mod build;
mod calls;
mod each_path;
mod effects;
mod enumeration;
mod executor;
mod frames;
mod load;
mod measure;
mod memory;
mod model;
mod print;
mod region;
pub mod scope;
mod solver;
mod sum;
mod term;
mod unroll;
mod value;
mod whole_region;

pub use each_path::{walk, Walking};
pub use effects::{written, Effects, Known as KnownEffects};
pub use executor::{Executor, Leave, State};
pub use frames::{Frames, Known};
pub use measure::bound_by_measure;
pub use memory::{Memory, Pointers, Sharing, Touched, Version};
pub use region::{AtLoop, Outcome, Point, Region, Setting, TooLarge};
pub use solver::{Answer, Solver, SolverError, LIMIT};
pub use term::{Operation, Origin, Shape, Term, Terms};
pub use unroll::{is_exact, least_bound, Checked, Effort};
pub use whole_region::{follow, Following};

/// What formulas take for granted.
pub const ASSUMPTIONS: [&str; 2] = [
    "where a region is entered, nothing but the stack pointer points to the stack below it, and no address in the code does",
    "the answers \"unsatisfiable\" of the solver z3 are right",
];
