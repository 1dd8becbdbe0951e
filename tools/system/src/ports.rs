//! Which I/O ports a description gives the processes of a program: the checker of drivers compares them with those that the driver says
//! it has.

use crate::load::{read_description, read_machine};
use crate::{Assets, Report};
use std::path::Path;

/// The ports of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessPorts {
    pub process: String,
    /// Name of each device of the process that has ports, and how many.
    pub devices: Vec<(String, u64)>,
}

/// The processes of `program` that the description at `path` has. The error is what keeps the description or its machine from
/// being read; what is wrong with a description that can be read is not reported.
pub fn ports(path: &Path, assets: &Assets, program: &str) -> Result<Vec<ProcessPorts>, Report> {
    let mut faults = Report::default();
    let (description, _) = read_description(path, &mut faults)?;
    let machine = read_machine(&description, assets, &mut faults);
    if !faults.is_clean() {
        return Err(faults);
    }
    let devices = machine.as_ref().map_or(&[][..], |machine| &machine.devices);
    let count = |name: &str| {
        let window = devices.iter().find(|device| device.name.value == name)?.window.as_ref()?;
        let (first, last) = window.range.value;
        window.ports.then(|| (name.to_string(), last.saturating_sub(first).saturating_add(1)))
    };
    let is_meant =
        |process: &&crate::description::Process| process.program.as_ref().is_some_and(|name| name.value == program);
    let ports = |process: &crate::description::Process| ProcessPorts {
        process: process.name.value.clone(),
        devices: process.devices.iter().filter_map(|name| count(&name.value)).collect(),
    };
    Ok(description.processes.iter().filter(is_meant).map(ports).collect())
}
