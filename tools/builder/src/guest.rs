//! The files of the default guest, by the names that descriptions use.

use output::{Failure, Output};
use project::Project;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A guest's kernel: Debian's for virtual machines.
pub const KERNEL: &str = "debian-cloud";
/// A guest's initial ramdisk: Debian's busybox and the scripts of `tools/image/guest`.
pub const RAMDISK: &str = "busybox";

/// Where the named guest files are once fetched.
pub fn files(project: &Project) -> BTreeMap<String, PathBuf> {
    let guest = image::Guest::at(&project.guest());
    BTreeMap::from([(KERNEL.to_string(), guest.kernel), (RAMDISK.to_string(), guest.ramdisk)])
}

/// Fetches the guest files if they are not there, and checks them if they are.
pub fn fetch(project: &Project, output: &Output) -> Result<image::Guest, Failure> {
    image::fetch_guest(&project.guest(), &mut |text| output.detail(text))
        .map_err(|error| Failure::unable(error.to_string(), error.remedy()))
}
