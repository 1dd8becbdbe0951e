//! The rules: which checks a driver needs, and how safety and liveness are decided beside the protocols' automata.

pub mod component;
pub mod doubt;
pub mod fair_cycle;
pub mod grant;
pub mod liveness;
pub mod obligations;
mod promise;
pub mod safety;
#[cfg(test)]
mod tests;
mod violation;
