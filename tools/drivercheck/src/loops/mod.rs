//! Loops: which of them end, what stands for those without messages, and how a path leaves them.

pub mod bodies;
pub mod exits;
pub mod prepare;
pub mod ranking;
mod slices;
pub mod summary;
#[cfg(test)]
mod tests;
