//! The integration tests of this crate, in one binary to save link time.

mod calls;
mod compiled;
mod computed;
mod expand;
mod loops;
mod observed;
mod returns;
mod robustness;
mod switches;
