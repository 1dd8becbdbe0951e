//! What checks the analysis.
//!
//! [`adversarial`] writes programs that are meant to mislead it.
//! [`simulate`] is the machine of a machine file, written apart from the analysis. [`measure`] runs compiled programs and
//! counts, [`core`] runs them on the Verilog of a processor, [`compare`] holds their bounds against the counts, [`suites`] does so for programs of others, and [`observe`] replays traces of the booted kernel.

pub mod adversarial;
pub mod compare;
pub mod core;
pub mod foreign;
pub mod measure;
pub mod observe;
pub mod simulate;
pub mod suites;
