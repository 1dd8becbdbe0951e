//! Validates the kernel's machine code against the terms that the proofs are about.
//!
//! gcc and the linker turn the certified C into the image that boots. This crate shows for each function of the image, with
//! everything that gcc has inlined into it, that it does what its term says: both are executed side by side on symbols, and at
//! each call, atomic access, primitive of the hardware and return they must agree on arguments, on what memory holds and on
//! results. A function that is not validated is listed with the instruction and the reason.
//!
//! # Why an answer `validated` is sound
//! * All paths of both sides are followed. The two only part company where the solver says that a path cannot be.
//! * What is forgotten becomes any value, what a callee or another CPU may change too, and relations at loops
//!   are assumed only in a round in which every iteration restores them.
//! * A state that stands for several paths of the term has each of them as an instance, with what that path has read and written.
//! * A scalar that the term does not read has any value for the machine, and the machine may write only what the term writes,
//!   between the same two events: so neither a racing load nor a store that C does not have goes unnoticed.
//! * Each instruction of the function must have been executed.
//!
//! What is trusted is listed in [`TRUSTED`].

mod actions;
mod agreement;
mod contracts;
mod device;
mod early;
mod effects;
mod engine;
mod equivalent;
mod evaluate;
mod fuse;
mod guests;
mod image;
mod join;
mod kept;
mod layout;
mod loops;
mod machine;
mod memory;
mod merge;
pub mod mutants;
mod operands;
mod order;
mod outlive;
mod ownership;
mod paths;
mod primitives;
mod program;
mod proved;
mod random;
mod reach;
mod reader;
mod relation;
mod report;
mod requirements;
mod routines;
mod run;
mod slots;
mod solver;
mod state;
mod synchronise;
mod syntax;
mod term;

pub use c2coq::certified::Build;
pub use paths::paths;
pub use program::Program;
pub use report::{
    schema, ArchShare, BinaryResult, FunctionResult, ImageResult, MutantCounts, Share, Validation, TRUSTED,
};
pub use run::{validate, Error, Options, SecondSolver};
