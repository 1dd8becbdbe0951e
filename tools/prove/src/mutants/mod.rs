//! Changes that must break a proof: of the C, of the specifications, of the assumptions.

pub mod assumptions;
mod changes;
pub mod code;
mod gallina;
pub mod specifications;
pub mod trials;
