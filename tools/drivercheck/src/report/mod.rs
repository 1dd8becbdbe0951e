//! Results in other forms: coverage, statecharts, SARIF.

pub mod coverage;
pub mod picture;
pub mod sarif;
