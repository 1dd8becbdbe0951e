//! The integration tests of this crate, in one binary to save link time.

mod abi;
mod boot_table;
mod cli;
mod syscalls;
