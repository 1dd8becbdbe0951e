//! The verbs of the command line, one a file.

mod awaited;
pub mod book;
pub mod build;
pub mod campaign;
pub mod check;
pub mod completions;
pub mod debug;
pub mod dist;
pub mod doctor;
pub mod drivers;
pub mod explain;
mod files;
pub mod image;
mod kernel_bounds;
pub mod man;
pub mod new;
pub mod prove;
mod prove_binary;
pub mod report;
pub mod run;
pub mod schema;
pub mod test;
pub mod timing;
mod timing_system;
pub mod trace;
