//! The regions of a kernel.

mod alike;
mod bound;
mod chains;
mod description;
mod error;
mod kernel;
mod names;
mod points;
mod regions;
mod returns;
mod stack;
mod statements;
mod whole;

pub use bound::{analyse, Analysed, LoopFound, Times};
pub use chains::{chains, Chain};
pub use description::Description;
pub use error::Error;
pub use kernel::Kernel;
pub use points::{entries, flow, options, End, Points};
pub use regions::{dead, regions, Kind, Region};
pub use returns::Returning;
pub use stack::{depths, Depth};
pub use statements::statements;
pub use whole::{response, waiting, waits, whole, Response, Stack, Waiting, Whole};
