//! The integration tests of this crate, in one binary to save link time.

mod browser;
mod forms;
mod sample;
