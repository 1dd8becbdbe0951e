//! Where Linux runs: in a guest of Ashlar's, directly on the emulator, and under KVM on the same emulator.

use super::measure::Place;
use crate::linux::linux;
use builder::guest::{files, KERNEL, RAMDISK};
use builder::machine::MachineOptions;
use builder::Built;
use output::{Failure, Output};
use project::Project;

/// The guests of a system, all at once.
pub fn guest(name: &'static str, built: &Built) -> Result<Place, Failure> {
    let command = MachineOptions::default().command_line(built)?;
    Ok(Place { name, command, consoles: awaited_consoles(built), kvm: None })
}

/// Numbers of the consoles of guests, which run the workloads.
fn awaited_consoles(built: &Built) -> Vec<usize> {
    let consoles = built.system.consoles.iter().enumerate();
    let is_guest = |up: &str| up == "GUEST-UP";
    consoles.filter(|(_, console)| console.up.as_deref().is_some_and(is_guest)).map(|(index, _)| index).collect()
}

/// The emulator with the guest's kernel in Ashlar's place, so many processors, and as much memory and the same command line as the guest.
pub fn bare(name: &'static str, project: &Project, one: &Built, cpus: u32) -> Result<Place, Failure> {
    let setting = |key: &str| {
        let lines = one.resolved.processes.iter().flat_map(|process| &process.environment);
        lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(String::from).next()
    };
    let missing = || {
        let name = &one.system.name;
        Failure::unable(format!("{name} has no guest with a command line"), format!("see bench/systems/{name}.toml"))
    };
    let cmdline = setting("arg.cmdline").ok_or_else(missing)?;
    let memory: u64 = setting("arg.memory").and_then(|text| text.parse().ok()).ok_or_else(missing)?;
    let files = files(project);
    let bare = Built { kernel: files[KERNEL].clone(), image: files[RAMDISK].clone(), ..one.clone() };
    let machine = MachineOptions { cpus: Some(cpus), memory: Some(memory >> 20), ..MachineOptions::default() };
    let command = machine.command_line(&bare)?.setting("-smp", &cpus.to_string()).with(["-append", &cmdline]);
    Ok(Place { name, command, consoles: vec![0], kvm: None })
}

/// Linux with drivers for the devices of a system's machine, in Ashlar's place.
pub fn bare_devices(
    name: &'static str,
    built: &Built,
    command_line: &str,
    project: &Project,
    output: &Output,
) -> Result<Place, Failure> {
    let files = image::fetch_device_guest(&project.guest(), &mut |text| output.detail(text))
        .map_err(|error| Failure::unable(error.to_string(), error.remedy()))?;
    let command = linux(built, &files, command_line)?;
    Ok(Place { name, command, consoles: vec![0], kvm: None })
}

/// The default guest under KVM: `kvm` is what the guest's command of that name is told.
pub fn kvm(kvm: &'static str, built: &Built, project: &Project, output: &Output) -> Result<Place, Failure> {
    let files = image::fetch_kvm_host(&project.guest(), &mut |text| output.detail(text))
        .map_err(|error| Failure::unable(error.to_string(), error.remedy()))?;
    let command = linux(built, &files, "")?;
    Ok(Place { name: "under KVM", command, consoles: vec![0], kvm: Some(kvm) })
}
