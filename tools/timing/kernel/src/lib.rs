//! The regions of a kernel.

mod chains;
mod description;
mod error;
mod points;
mod regions;

pub use chains::{chains, Chain};
pub use description::Description;
pub use error::Error;
pub use points::{entries, flow, options, End, Points};
pub use regions::{regions, Kind, Region};
