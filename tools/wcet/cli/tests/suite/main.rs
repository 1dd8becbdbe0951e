//! The integration tests of this crate, in one binary to save link time.

mod bound;
mod flow;
mod kernel;
mod kernel_page;
