//! What the tests of the tools share. It depends on nothing, so that it may be a dependency of tests alone.

mod compile;
mod damage;
mod folder;
mod kernel;
mod random;

pub use compile::{build, compile};
pub use damage::{cut, damage};
pub use folder::Folder;
pub use kernel::kernel;
pub use random::{cases, Random};
