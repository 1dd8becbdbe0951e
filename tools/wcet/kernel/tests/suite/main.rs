//! The integration tests of this crate, in one binary to save link time.

mod interleavings;
mod small;
mod turns;
mod vectors;
