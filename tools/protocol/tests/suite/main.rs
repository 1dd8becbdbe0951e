//! The integration tests of this crate, in one binary to save link time.

mod broken;
mod cli;
mod common;
mod decomposition;
mod flattening;
mod generated;
mod mirror;
mod own;
mod protocols;
mod robustness;
mod rust;
