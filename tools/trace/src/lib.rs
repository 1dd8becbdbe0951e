//! What a kernel built with `TRACE=1` has recorded: its rings are read from the machine's memory while it runs, put in order,
//! converted for viewers, and measured.

mod causes;
pub mod chrome;
pub mod event;
mod histogram;
pub mod jobs;
pub mod latency;
pub mod names;
pub mod report;
pub mod ring;
pub mod slices;
mod timeline;

pub use event::{Event, What};
pub use names::Names;
pub use ring::{Layout, Reader};
