//! The integration tests of this crate, in one binary to save link time.

mod bounds;
mod compiled;
mod each_path;
mod follow;
mod measures;
mod random_programs;
mod translation;
