//! What Ashlar boots from and into: the guest's kernel and initial ramdisk, out of Debian's packages, and bootable media.

mod archive;
mod deb;
mod devices;
mod error;
mod guest;
mod iso;
mod ramdisk;
mod sha256;

pub use devices::{add_module, fetch_device_guest, kernel_release};
pub use error::Error;
pub use guest::{fetch_guest, Guest};
pub use iso::write_iso;
