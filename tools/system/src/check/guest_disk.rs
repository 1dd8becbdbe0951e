//! Disks of guests: driven by a process that can, for one guest each, and as large as the guest is promised.

use crate::codes::Code;
use crate::description::{Description, Machine, Name};
use diagnostics::units::show_size;
use diagnostics::{Diagnostic, Report, Span};

/// Programs that drive a disk for a client, by the protocol `sata`.
const DRIVERS: &[&str] = &["ahci"];
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

impl Checker<'_> {
    fn fault(&mut self, message: String, remedy: impl Into<String>, span: &Span, label: &str) {
        let fault = Diagnostic::new(Code::GuestDisk, message, remedy);
        self.report.push(fault.at(&self.description.source, span, label));
    }

    fn drivers(&mut self) {
        for (_, _, driver) in self.description.disk_users() {
            let Some(process) = self.description.process(&driver.value) else { continue };
            let program = process.program.as_ref().map_or("", |program| program.value.as_str());
            if !DRIVERS.contains(&program) {
                let message = format!("{} `{}` drives no disk", process.noun(), driver.value);
                let remedy = format!("name a process that runs {}", DRIVERS.join(" or "));
                self.fault(message, remedy, &driver.span, "not a driver of disks");
            }
        }
    }

    /// A driver serves one client, whether that is a guest or was written as `args.sata`.
    fn one_guest_each(&mut self) {
        for (guest, _, driver) in self.description.disk_users() {
            let Some(process) = self.description.process(&driver.value) else { continue };
            let Some((_, client)) = process.args.iter().find(|(key, _)| key.value == "sata") else { continue };
            if client.value != guest.name.value {
                let message = format!(
                    "the disk of `{}` is given to `{}` and to `{}`",
                    driver.value, client.value, guest.name.value
                );
                let remedy = "give each a disk and a driver of its own";
                let fault = Diagnostic::new(Code::TwoOwners, message, remedy)
                    .at(&self.description.source, &driver.span, "the second owner")
                    .at(&self.description.source, &client.span, "the first owner");
                self.report.push(fault);
            }
        }
    }

    /// The monitor waits for one notification only.
    fn consoles(&mut self) {
        for (guest, _, driver) in self.description.disk_users() {
            let console = guest.console.as_ref().and_then(|name| self.description.console(&name.value));
            let input: Option<&Name> = console.and_then(|console| console.input.as_ref());
            if let Some(input) = input.filter(|input| input.value != guest.name.value) {
                let message = format!(
                    "the monitor of `{}` waits for its disk and its console by notification `{0}`, not by `{}`",
                    guest.name.value, input.value
                );
                let fault = Diagnostic::new(Code::GuestDisk, message, "leave `input` out")
                    .at(&self.description.source, &input.span, "another notification")
                    .at(&self.description.source, &driver.span, "this guest has a disk");
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
                self.fault(message, "add `disk`, the process that drives it", &size.span, "of which disk?");
            }
            if size.value % SECTOR != 0 {
                let message = format!("a disk of {} bytes is not whole sectors of {SECTOR}", size.value);
                let remedy = format!("write \"{}B\"", size.value / SECTOR * SECTOR);
                self.fault(message, remedy, &size.span, "this size");
            }
        }
    }

    fn machine_has_it(&mut self, machine: &Machine) {
        let Some(emulator) = &machine.emulator else { return };
        for (guest, vm, driver) in self.description.disk_users() {
            match (emulator.disk, &vm.disk_size) {
                (None, _) => {
                    let message = format!("machine `{}` has no disk for guest `{}`", machine.name, guest.name.value);
                    self.fault(message, "choose another `machine`, such as \"q35-disk\"", &driver.span, "no disk");
                }
                (Some(has), Some(wants)) if wants.value > has => {
                    let (has, wanted) = (show_size(has), show_size(wants.value));
                    let message = format!(
                        "guest `{}` is promised {wanted}, but the disk of `{}` has {has}",
                        guest.name.value, machine.name
                    );
                    let remedy = format!("write at most \"{has}\", or enlarge `disk` of the machine");
                    self.fault(message, remedy, &wants.span, "larger than the disk");
                }
                _ => {}
            }
        }
    }
}
