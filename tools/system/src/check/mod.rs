//! Checks across the parts of a description: names that exist, parents that form a tree, single owners, tables that
//! fit. Each check looks at the whole description, skips what an earlier fault left unknown, and reports all it finds.

mod channel;
mod count;
mod family;
mod firmware;
mod guest_links;
mod machine;
mod mitigation;
mod names;
mod network;
mod owner;
mod partitions;
mod passed_device;
mod processor;
pub(crate) mod reservation;
mod virtual_cpus;

use crate::description::{Description, Machine};
use crate::read::Document;
use crate::Assets;
use diagnostics::Report;

pub use mitigation::bits as mitigation_bits;
pub use processor::cpus_needed;
pub use reservation::summary;

/// The console that the kernel keeps for itself: always there, always number 0.
pub const KERNEL_CONSOLE: &str = "kernel";

/// Runs every check. `machine` is missing if its file could not be read.
pub fn check(
    description: &Description,
    machine: Option<&Machine>,
    document: &Document,
    assets: &Assets,
    report: &mut Report,
) {
    names::check(description, machine, document, assets, report);
    family::check(description, report);
    channel::check(description, report);
    count::check(description, report);
    guest_links::check(description, machine, report);
    partitions::check(description, machine, report);
    network::check(description, report);
    processor::check(description, machine, report);
    mitigation::check(description, machine, report);
    reservation::check(description, report);
    virtual_cpus::check(description, document, report);
    firmware::check(description, document, report);
    if let Some(machine) = machine {
        machine::check(machine, report);
        owner::check(description, machine, report);
        passed_device::check(description, machine, report);
    }
}
