//! Coq's programs: the compiler, questions about theorems, the independent checker.

pub mod checker;
pub mod compile;
pub mod overlay;
pub mod query;
