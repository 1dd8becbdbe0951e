//! Ids: the index of every object in the kernel's tables.
//!
//! Objects are numbered in the order of the description, so that a small change of it makes a small difference.

use crate::check::KERNEL_CONSOLE;
use crate::description::machine::{Device, Line};
use crate::description::{Description, Machine, Name, Process};
use crate::layout::NUM_CPU;
use std::collections::HashMap;

/// Name under which a monitor sees its notification of console input, and the guest's first virtual CPU. Those of the others
/// bear the name of the virtual CPU.
pub const VM_INPUT: &str = "input";
pub const VM_GUEST: &str = "guest";

pub struct Ids<'a> {
    pub description: &'a Description,
    pub machine: Option<&'a Machine>,
    processes: HashMap<&'a str, u32>,
    endpoints: HashMap<&'a str, u32>,
    notifications: HashMap<&'a str, u32>,
    consoles: HashMap<&'a str, u32>,
    /// Name, process that owns it; the index is the id.
    pub devices: Vec<(&'a Device, u32)>,
    /// The monitor of each virtual CPU, which is a virtual machine of its own to the kernel; the index is its id. Those of a guest
    /// follow each other.
    pub vms: Vec<u32>,
    /// First thread id of each process.
    first_threads: Vec<u32>,
}

impl<'a> Ids<'a> {
    pub fn new(description: &'a Description, machine: Option<&'a Machine>) -> Self {
        let consoles = description.consoles.iter().map(|object| &object.name);
        let mut console_ids: HashMap<&str, u32> =
            consoles.enumerate().map(|(index, name)| (name.value.as_str(), index as u32 + 1)).collect();
        console_ids.insert(KERNEL_CONSOLE, 0);
        let mut first_threads = Vec::new();
        let mut next = NUM_CPU;
        for process in &description.processes {
            first_threads.push(next);
            next += 1 + process.threads.len() as u32;
        }
        let mut ids = Ids {
            description,
            machine,
            processes: numbered(description.processes.iter().map(|object| &object.name)),
            endpoints: numbered(description.endpoints.iter().map(|object| &object.name)),
            notifications: numbered(description.notifications.iter().map(|object| &object.name)),
            consoles: console_ids,
            devices: Vec::new(),
            vms: Vec::new(),
            first_threads,
        };
        for (index, process) in description.processes.iter().enumerate() {
            if let Some(vm) = &process.vm {
                ids.vms.extend((0..vm.num_cpus()).map(|_| index as u32));
            }
            let known = machine.map_or(&[] as &[Device], |machine| &machine.devices);
            for name in &process.devices {
                let device = known.iter().find(|device| device.name.value == name.value);
                ids.devices.extend(device.map(|device| (device, index as u32)));
            }
        }
        ids
    }

    pub fn process(&self, name: &Name) -> Option<u32> {
        self.processes.get(name.value.as_str()).copied()
    }

    pub fn endpoint(&self, name: &Name) -> Option<u32> {
        self.endpoints.get(name.value.as_str()).copied()
    }

    pub fn notification(&self, name: &Name) -> Option<u32> {
        self.notifications.get(name.value.as_str()).copied()
    }

    pub fn console(&self, name: &Name) -> Option<u32> {
        self.consoles.get(name.value.as_str()).copied()
    }

    pub fn device(&self, name: &Name, process: u32) -> Option<u32> {
        let is_it = |(device, owner): &(&Device, u32)| device.name.value == name.value && *owner == process;
        self.devices.iter().position(is_it).map(|index| index as u32)
    }

    /// The first virtual CPU that process `process` monitors.
    pub fn vm(&self, process: u32) -> Option<u32> {
        self.vms.iter().position(|monitor| *monitor == process).map(|index| index as u32)
    }

    /// All virtual CPUs that process `process` monitors.
    pub fn virtual_cpus(&self, process: u32) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.vms).filter(move |(_, monitor)| **monitor == process).map(|(vm, _)| vm)
    }

    /// The notification of virtual CPU `vm`, of a guest's first one for console input too: these come after those of the
    /// description.
    pub fn vm_input(&self, vm: u32) -> u32 {
        self.description.notifications.len() as u32 + vm
    }

    pub fn line(&self, name: &Name) -> Option<&'a Line> {
        self.machine?.interrupts.iter().find(|line| line.name.value == name.value)
    }

    pub fn first_thread(&self, process: u32) -> u32 {
        self.first_threads[process as usize]
    }

    /// The notification that input on the console of `process` signals.
    pub fn console_input(&self, process: &Process, index: u32) -> Option<u32> {
        let console = self.description.console(&process.console.as_ref()?.value)?;
        match &console.input {
            Some(input) => self.notification(input),
            None => self.vm(index).map(|vm| self.vm_input(vm)),
        }
    }
}

fn numbered<'a>(names: impl Iterator<Item = &'a Name>) -> HashMap<&'a str, u32> {
    names.enumerate().map(|(index, name)| (name.value.as_str(), index as u32)).collect()
}
