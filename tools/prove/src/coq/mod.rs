//! Coq's programs: the compiler, questions about theorems, the independent checker.

pub mod checker;
pub mod compile;
pub mod overlay;
pub mod query;

/// For the environment of coqc: how OCaml collects its garbage. New memory is 32 MiB, which is more at home in a processor's caches
/// than the 256 MiB that Coq takes, and old memory is hardly looked through: a file leaves little. It saves a sixth of the time.
pub const COLLECTOR: (&str, &str) = ("OCAMLRUNPARAM", "s=4M,o=1000");
