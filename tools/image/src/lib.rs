//! What Ashlar boots from and into: the guest's kernel and initial ramdisk, out of Debian's packages, disks that guests start from, and bootable media.

mod archive;
mod deb;
mod debian;
mod devices;
mod error;
mod grub;
mod guest;
mod iso;
mod kvm;
mod measure;
mod ramdisk;
mod sha256;

pub use debian::{debian_disk, debian_disk_at, NEEDS as DEBIAN_NEEDS};
pub use devices::{add_module, fetch_device_guest, kernel_release};
pub use error::Error;
pub use grub::{grub_disk, grub_disk_at};
pub use guest::{fetch_guest, memory_tester, memory_tester_at, Guest};
pub use iso::write_iso;
pub use kvm::fetch_kvm_host;
pub use measure::{measuring_ramdisk, measuring_ramdisk_at};
