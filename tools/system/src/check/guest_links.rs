//! Disks and networks of guests: driven by a process that can, for one guest each, and as large as the guest is promised.

use crate::codes::Code;
use crate::description::guest_links::{Device, GuestLink};
use crate::description::{Description, Machine, Name};
use diagnostics::units::show_size;
use diagnostics::{Diagnostic, Report, Span};

/// Programs that drive such a device for a client.
fn drivers(device: Device) -> &'static [&'static str] {
    match device {
        Device::Disk => &["ahci"],
        Device::Network => &["rtl8139"],
    }
}

fn code(device: Device) -> Code {
    match device {
        Device::Disk => Code::GuestDisk,
        Device::Network => Code::GuestNetwork,
    }
}

const SECTOR: u64 = 512;

pub fn check(description: &Description, machine: Option<&Machine>, report: &mut Report) {
    let mut checker = Checker { description, report };
    checker.drivers();
    checker.one_guest_each();
    checker.consoles();
    checker.sizes();
    if let Some(machine) = machine {
        checker.machine_has_it(machine);
    }
}

struct Checker<'a> {
    description: &'a Description,
    report: &'a mut Report,
}

impl<'a> Checker<'a> {
    fn links(&self) -> impl Iterator<Item = GuestLink<'a>> {
        self.description.guest_links()
    }

    fn fault(&mut self, code: Code, message: String, remedy: impl Into<String>, span: &Span, label: &str) {
        let fault = Diagnostic::new(code, message, remedy);
        self.report.push(fault.at(&self.description.source, span, label));
    }

    fn drivers(&mut self) {
        for GuestLink { device, driver, .. } in self.links() {
            let Some(process) = self.description.process(&driver.value) else { continue };
            let program = process.program.as_ref().map_or("", |program| program.value.as_str());
            if !drivers(device).contains(&program) && !device.is_shared_by(process) {
                let message = format!("{} `{}` drives no {}", process.noun(), driver.value, device.word());
                let shared = match device {
                    Device::Disk => "",
                    Device::Network => ", or one with `serves = \"ethernet\"`",
                };
                let remedy = format!("name a process that runs {}{shared}", drivers(device).join(" or "));
                let label = format!("not a driver of a {}", device.word());
                self.fault(code(device), message, remedy, &driver.span, &label);
            }
        }
    }

    /// A driver, unless it is shared, serves one client, whether that is a guest or was written as an argument.
    fn one_guest_each(&mut self) {
        for GuestLink { guest, device, driver, .. } in self.links() {
            let process = self.description.process(&driver.value).filter(|process| !device.is_shared_by(process));
            let Some(process) = process else { continue };
            let is_client = |(key, _): &&(Name, Name)| key.value == device.protocol();
            let Some((_, client)) = process.args.iter().find(is_client) else { continue };
            if client.value != guest.name.value {
                let message = format!(
                    "the {} of `{}` is given to `{}` and to `{}`",
                    device.word(),
                    driver.value,
                    client.value,
                    guest.name.value
                );
                let remedy = format!("give each a {} and a driver of its own", device.word());
                let fault = Diagnostic::new(Code::TwoOwners, message, remedy)
                    .at(&self.description.source, &driver.span, "the second owner")
                    .at(&self.description.source, &client.span, "the first owner");
                self.report.push(fault);
            }
        }
    }

    /// The monitor waits for one notification only.
    fn consoles(&mut self) {
        for GuestLink { guest, device, driver, .. } in self.links() {
            let console = guest.console.as_ref().and_then(|name| self.description.console(&name.value));
            let input: Option<&Name> = console.and_then(|console| console.input.as_ref());
            if let Some(input) = input.filter(|input| input.value != guest.name.value) {
                let message = format!(
                    "the monitor of `{}` waits for its {} and its console by notification `{0}`, not by `{}`",
                    guest.name.value,
                    device.word(),
                    input.value
                );
                let label = format!("this guest has a {}", device.word());
                let fault = Diagnostic::new(code(device), message, "leave `input` out")
                    .at(&self.description.source, &input.span, "another notification")
                    .at(&self.description.source, &driver.span, &label);
                self.report.push(fault);
            }
        }
    }

    fn sizes(&mut self) {
        for process in &self.description.processes {
            let Some(vm) = &process.vm else { continue };
            let Some(size) = &vm.disk_size else { continue };
            if vm.disk.is_none() && !process.has("disk") {
                let message = format!("guest `{}` has no disk that could have a size", process.name.value);
                self.fault(
                    Code::GuestDisk,
                    message,
                    "add `disk`, the process that drives it",
                    &size.span,
                    "of which disk?",
                );
            }
            if size.value % SECTOR != 0 {
                let message = format!("a disk of {} bytes is not whole sectors of {SECTOR}", size.value);
                let remedy = format!("write \"{}B\"", size.value / SECTOR * SECTOR);
                self.fault(Code::GuestDisk, message, remedy, &size.span, "this size");
            }
        }
    }

    fn machine_has_it(&mut self, machine: &Machine) {
        let Some(emulator) = &machine.emulator else { return };
        let disks = self.links().filter(|link| link.device == Device::Disk);
        for GuestLink { guest, vm, driver, .. } in disks {
            match (emulator.disk, &vm.disk_size) {
                (None, _) => {
                    let message = format!("machine `{}` has no disk for guest `{}`", machine.name, guest.name.value);
                    self.fault(
                        Code::GuestDisk,
                        message,
                        "choose another `machine`, such as \"q35-disk\"",
                        &driver.span,
                        "no disk",
                    );
                }
                (Some(has), Some(wants)) if wants.value > has => {
                    let (has, wanted) = (show_size(has), show_size(wants.value));
                    let message = format!(
                        "guest `{}` is promised {wanted}, but the disk of `{}` has {has}",
                        guest.name.value, machine.name
                    );
                    let remedy = format!("write at most \"{has}\", or enlarge `disk` of the machine");
                    self.fault(Code::GuestDisk, message, remedy, &wants.span, "larger than the disk");
                }
                _ => {}
            }
        }
    }
}
