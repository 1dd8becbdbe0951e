//! What a running machine's memory says. The emulator's monitor copies memory out while the machine runs; the kernel's tables are
//! found by its symbols, and their fields by its debugging information.

mod driver;
pub mod kernel;
mod layout;
mod memory;
mod table;

pub use driver::{Followed, Program};
pub use kernel::{Kernel, Snapshot};
pub use memory::{Memory, KERNEL_BASE};
pub use table::TableError;
