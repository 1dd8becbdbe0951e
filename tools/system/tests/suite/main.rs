//! The integration tests of this crate, in one binary to save link time.

mod broken;
mod common;
mod mistakes;
mod mutation;
mod reference;
mod resolve;
mod systems;
mod threads;
