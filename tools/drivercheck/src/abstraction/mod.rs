//! Predicate abstraction: valuations of predicates, what an edge makes of them, and the abstract state space.

pub mod block;
pub mod explore;
pub mod parts;
pub mod predicates;
#[cfg(test)]
mod tests;
pub mod valuation;
