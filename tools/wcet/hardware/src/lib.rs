//! The machine that bounds hold for.
//!
//! [`machine`] reads machine files; [`cache`] and [`pipeline`] bound the cycles of accesses and basic blocks on such a
//! machine.

pub mod cache;
pub mod machine;
pub mod pipeline;
