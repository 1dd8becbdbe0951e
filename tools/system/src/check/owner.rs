//! Devices, interrupts and consoles: one owner each, and none that the kernel keeps.

use super::KERNEL_CONSOLE;
use crate::codes::Code;
use crate::description::{Description, Machine, Name};
use diagnostics::{Diagnostic, Report, Span};
use std::collections::HashMap;

pub fn check(description: &Description, machine: &Machine, report: &mut Report) {
    let devices = description
        .processes
        .iter()
        .flat_map(|process| process.devices.iter().map(move |device| (device, process.name.value.as_str())));
    single_owners(description, "device", devices, report);
    let consoles = description
        .processes
        .iter()
        .filter_map(|process| Some((process.console.as_ref()?, process.name.value.as_str())));
    single_owners(description, "console", consoles, report);
    functions(description, machine, report);
    kernel_owned(description, machine, report);
    notified_owner(description, report);
}

fn single_owners<'a>(
    description: &Description,
    noun: &str,
    owned: impl Iterator<Item = (&'a Name, &'a str)>,
    report: &mut Report,
) {
    let mut owners: HashMap<&str, (&Name, &str)> = HashMap::new();
    for (thing, owner) in owned {
        let Some((first, first_owner)) = owners.get(thing.value.as_str()) else {
            owners.insert(&thing.value, (thing, owner));
            continue;
        };
        let message = format!("{noun} `{}` is given to `{first_owner}` and to `{owner}`", thing.value);
        let remedy = "let one own it, and the other send messages to that one";
        report.push(
            Diagnostic::new(Code::TwoOwners, message, remedy)
                .at(&description.source, &thing.span, "the second owner")
                .at(&description.source, &first.span, "the first owner"),
        );
    }
}

/// All registers of a PCI function belong to one process, whose DMA memory is what the function reaches.
fn functions(description: &Description, machine: &Machine, report: &mut Report) {
    let mut owners: HashMap<u64, (&Name, &str)> = HashMap::new();
    for process in &description.processes {
        for name in &process.devices {
            let device = machine.devices.iter().find(|device| device.name.value == name.value);
            let Some(function) = device.and_then(|device| device.function.as_ref()) else { continue };
            let owner = process.name.value.as_str();
            let (first, first_owner) = *owners.entry(function.value).or_insert((name, owner));
            if first_owner == owner {
                continue;
            }
            let message = format!(
                "devices `{}` of `{first_owner}` and `{}` of `{owner}` are one PCI function",
                first.value, name.value
            );
            report.push(
                Diagnostic::new(Code::TwoOwners, message, "give all registers of a function to one process")
                    .at(&description.source, &name.span, "the second owner")
                    .at(&description.source, &first.span, "the first owner")
                    .at(&machine.source, &function.span, "the function"),
            );
        }
    }
}

fn kernel_owned(description: &Description, machine: &Machine, report: &mut Report) {
    let mut fault = |name: &Name, noun: &str, kept: Option<&Span>| {
        let message = format!("the {noun} `{}` is the kernel's own", name.value);
        let remedy = format!("choose another {noun}");
        let fault = Diagnostic::new(Code::KernelOwned, message, remedy).at(&description.source, &name.span, "not free");
        report.push(match kept {
            Some(span) => fault.at(&machine.source, span, "the machine says so here"),
            None => fault,
        });
    };
    for process in &description.processes {
        for name in &process.devices {
            let device = machine.devices.iter().find(|device| device.name.value == name.value);
            if let Some(kept) = device.and_then(|device| device.kernel.as_ref()) {
                fault(name, "device", Some(kept));
            }
        }
        if let Some(console) = process.console.as_ref().filter(|console| console.value == KERNEL_CONSOLE) {
            fault(console, "console", None);
        }
    }
    for interrupt in &description.interrupts {
        let line = machine.interrupts.iter().find(|line| line.name.value == interrupt.name.value);
        if let Some(kept) = line.and_then(|line| line.kernel.as_ref()) {
            fault(&interrupt.name, "interrupt", Some(kept));
        }
    }
}

/// A notification named for console input or a death must be waited on by the console's owner or the parent.
fn notified_owner(description: &Description, report: &mut Report) {
    let mut require = |notification: &Name, owner: &str, what: &str| {
        let waiter = description.notification(&notification.value).and_then(|object| object.waiter.as_ref());
        let Some(waiter) = waiter.filter(|waiter| waiter.value != owner) else { return };
        let message = format!("{what} is signalled to `{owner}`, but `{}` waits here", waiter.value);
        let remedy = format!("name a notification with waiter = \"{owner}\"");
        report.push(
            Diagnostic::new(Code::NotWaiter, message, remedy)
                .at(&description.source, &notification.span, "this notification")
                .at(&description.source, &waiter.span, "its waiter"),
        );
    };
    for process in &description.processes {
        if let (Some(notification), Some(parent)) = (&process.on_death, &process.parent) {
            require(notification, &parent.value, &format!("the death of `{}`", process.name.value));
        }
        let console = process.console.as_ref().and_then(|console| description.console(&console.value));
        if let Some(input) = console.and_then(|console| console.input.as_ref()) {
            require(input, &process.name.value, "console input");
        }
    }
}
