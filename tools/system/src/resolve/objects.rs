//! Every object but the processes, by id.

use super::ids::{Ids, VM_INPUT};
use super::resolved::*;
use crate::description::{virtual_cpu, Name};
use crate::load::System;

/// The resolved system without processes and image. Requires a description without faults: what a fault left unknown
/// is left out.
pub fn objects(ids: &Ids, system: &System) -> Resolved {
    Resolved {
        format: FORMAT,
        system: system.name.clone(),
        about: system.about.clone(),
        machine: system.machine.clone(),
        cpus: system.cpus,
        mitigations: system.mitigations,
        memory_frames: 0,
        processes: Vec::new(),
        endpoints: endpoints(ids),
        notifications: notifications(ids),
        buffers: buffers(ids),
        shares: shares(ids),
        interrupts: interrupts(ids),
        devices: devices(ids),
        vms: vms(ids),
        consoles: (0..)
            .zip(&system.consoles)
            .map(|(id, console)| Console { id, name: console.name.clone(), up: console.up.clone() })
            .collect(),
        image: Image { payload_offset: 0, size: 0, payload: Vec::new() },
    }
}

fn process(ids: &Ids, name: Option<&Name>) -> Option<Ref> {
    let name = name?;
    Some(Ref { id: ids.process(name)?, name: name.value.clone() })
}

fn process_at(ids: &Ids, id: u32) -> Ref {
    Ref { id, name: ids.description.processes[id as usize].name.value.clone() }
}

fn endpoints(ids: &Ids) -> Vec<Endpoint> {
    let make = |(id, object): (u32, &crate::description::Endpoint)| {
        let receiver = process(ids, object.receiver.as_ref())?;
        Some(Endpoint { id, name: object.name.value.clone(), receiver, fifo: object.fifo })
    };
    (0..).zip(&ids.description.endpoints).filter_map(make).collect()
}

/// Those of the description, then one for each virtual machine's console input.
fn notifications(ids: &Ids) -> Vec<Notification> {
    let named = (0..).zip(&ids.description.notifications).filter_map(|(id, object)| {
        Some(Notification { id, name: object.name.value.clone(), waiter: process(ids, object.waiter.as_ref())? })
    });
    let inputs = (0..).zip(&ids.vms).map(|(vm, monitor)| {
        let waiter = process_at(ids, *monitor);
        let name = match vm - ids.vm(*monitor).unwrap_or(vm) {
            0 => VM_INPUT.to_string(),
            number => virtual_cpu(number as usize),
        };
        Notification { id: ids.vm_input(vm), name: format!("{}.{name}", waiter.name), waiter }
    });
    named.chain(inputs).collect()
}

fn buffers(ids: &Ids) -> Vec<Buffer> {
    let make = |(id, object): (u32, &crate::description::Buffer)| Buffer {
        id,
        name: object.name.value.clone(),
        capacity: object.capacity as u32,
    };
    (0..).zip(&ids.description.buffers).map(make).collect()
}

fn shares(ids: &Ids) -> Vec<Share> {
    let make = |(id, object): (u32, &crate::description::Share)| {
        let (from, to) = (process(ids, object.from.as_ref())?, process(ids, object.to.as_ref())?);
        Some(Share { id, name: object.name.value.clone(), from, to })
    };
    (0..).zip(&ids.description.shares).filter_map(make).collect()
}

/// Each goes to the CPU of the process that waits for it.
fn interrupts(ids: &Ids) -> Vec<Interrupt> {
    let make = |object: &crate::description::Interrupt| {
        let line = ids.line(&object.name)?;
        let name = object.notification.as_ref()?;
        let waiter = ids.process(ids.description.notification(&name.value)?.waiter.as_ref()?)?;
        Some(Interrupt {
            name: object.name.value.clone(),
            line: line.line.as_ref()?.value as u32,
            level: line.level,
            active_low: line.low,
            notification: Ref { id: ids.notification(name)?, name: name.value.clone() },
            cpu: ids.description.processes[waiter as usize].cpu.value as u32,
            function: line.function.as_ref().map(|function| function.value as u32),
        })
    };
    ids.description.interrupts.iter().filter_map(make).collect()
}

fn devices(ids: &Ids) -> Vec<Device> {
    let make = |(id, (device, owner)): (u32, &(&crate::description::machine::Device, u32))| {
        let window = device.window.as_ref()?;
        let (first, last) = window.range.value;
        Some(Device {
            id,
            name: device.name.value.clone(),
            ports: window.ports,
            base: first,
            size: last - first + 1,
            function: device.function.as_ref().map(|function| function.value as u32),
            owner: process_at(ids, *owner),
        })
    };
    (0..).zip(&ids.devices).filter_map(make).collect()
}

fn vms(ids: &Ids) -> Vec<Vm> {
    let make = |(id, monitor): (u32, &u32)| {
        let vm = ids.description.processes[*monitor as usize].vm.as_ref()?;
        Some(Vm { id, monitor: process_at(ids, *monitor), memory: vm.memory.as_ref()?.value })
    };
    (0..).zip(&ids.vms).filter_map(make).collect()
}
