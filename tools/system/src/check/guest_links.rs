//! Disks, networks and sound controllers: driven by a process that can, for one client each, and as large as the client is promised. Where a service
//! gives parts of a disk, [`super::partitions`] looks at those.

use crate::codes::Code;
use crate::description::guest_links::{Device, GuestLink};
use crate::description::{Description, Machine, Name, Process};
use diagnostics::units::show_size;
use diagnostics::{Diagnostic, Report, Span};

/// Programs that drive such a device for a client.
fn drivers(device: Device) -> &'static [&'static str] {
    match device {
        Device::Disk => &["ahci", "nvme", MEMORY_DISK],
        Device::Network => &["e1000e", "rtl8139"],
        Device::Sound => &[], // it serves several, or none
    }
}

fn code(device: Device) -> Code {
    match device {
        Device::Disk => Code::GuestDisk,
        Device::Network => Code::GuestNetwork,
        Device::Sound => Code::Sound,
    }
}

const SECTOR: u64 = 512;
/// `CLIENTS` of `user/drivers/hda/hda.h`.
const SOUND_CLIENTS: usize = 2;
/// The driver of a disk that is its own memory: no machine need have one.
const MEMORY_DISK: &str = "memory_disk";

pub fn check(description: &Description, machine: Option<&Machine>, report: &mut Report) {
    let mut checker = Checker { description, report };
    checker.drivers();
    checker.one_guest_each();
    checker.consoles();
    checker.sizes();
    checker.sound_clients();
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
        for GuestLink { guest, device, driver, .. } in self.links() {
            let Some(process) = self.description.process(&driver.value) else { continue };
            let program = process.program.as_ref().map_or("", |program| program.value.as_str());
            if !drivers(device).contains(&program) && !device.is_shared_by(process) {
                let message = format!("{} `{}` drives no {}", process.noun(), driver.value, device.word());
                let is_uplink = guest.uplink.as_ref().is_some_and(|uplink| uplink.span == driver.span);
                let shared = format!("one with `serves = \"{}\"`", device.protocol());
                let alone = format!("a process that runs {}", drivers(device).join(" or "));
                let remedy = match (device, is_uplink) {
                    (Device::Sound, _) => format!("name {shared}, such as one that runs hda"),
                    (_, true) => format!("name {alone}"),
                    (_, false) => format!("name {alone}, or {shared}"),
                };
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
                let remedy = match device {
                    Device::Disk => {
                        "let a process with `serves = \"sata\"` have the disk, and name it as the `disk` of both".into()
                    }
                    Device::Network | Device::Sound => format!("give each a {} and a driver of its own", device.word()),
                };
                let fault = Diagnostic::new(Code::TwoOwners, message, remedy)
                    .at(&self.description.source, &driver.span, "the second owner")
                    .at(&self.description.source, &client.span, "the first owner");
                self.report.push(fault);
            }
        }
    }

    /// The monitor waits for one notification only.
    fn consoles(&mut self) {
        for GuestLink { guest, device, driver, .. } in self.links().filter(|link| link.guest.vm.is_some()) {
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

    fn sound_clients(&mut self) {
        let description = self.description;
        for guest in description.processes.iter().filter(|process| process.vm.is_some()) {
            if let Some(sound) = &guest.sound {
                let message = format!("guest `{}` has no sound controller", guest.name.value);
                self.fault(Code::Sound, message, "remove `sound`", &sound.span, "for processes only");
            }
        }
        for driver in description.processes.iter().filter(|process| Device::Sound.is_shared_by(process)) {
            let name = &driver.name.value;
            let clients: Vec<&Process> = description.clients_of_sound(driver).collect();
            if clients.is_empty() {
                let message = format!("no process has `{name}` as its sound controller");
                let remedy = format!("add `sound = \"{name}\"` to the process that plays or records");
                self.fault(Code::Sound, message, remedy, &driver.name.span, "a driver without clients");
            }
            if let Some(client) = clients.get(SOUND_CLIENTS) {
                let message = format!("`{name}` has {} clients, and serves {SOUND_CLIENTS}", clients.len());
                let span = client.sound.as_ref().map_or(&client.name.span, |sound| &sound.span);
                self.fault(
                    Code::Sound,
                    message,
                    "leave `sound` out where nothing is played or recorded",
                    span,
                    "one too many",
                );
            }
        }
    }

    fn sizes(&mut self) {
        for process in &self.description.processes {
            for (key, size) in [("size", &process.disk_size), ("beginning", &process.disk_at)] {
                let Some(size) = size else { continue };
                if process.disk.is_none() && !process.has("disk") {
                    let message =
                        format!("{} `{}` has no disk that could have a {key}", process.noun(), process.name.value);
                    let remedy = "add `disk`, the process that drives it";
                    self.fault(Code::GuestDisk, message, remedy, &size.span, "of which disk?");
                }
                if size.value % SECTOR != 0 {
                    let message = format!("{} bytes are not whole sectors of {SECTOR}", size.value);
                    let remedy = format!("write \"{}B\"", size.value / SECTOR * SECTOR);
                    self.fault(Code::GuestDisk, message, remedy, &size.span, "not whole sectors");
                }
            }
        }
    }

    fn machine_has_it(&mut self, machine: &Machine) {
        let Some(emulator) = &machine.emulator else { return };
        let disks = self.links().filter(|link| link.device == Device::Disk);
        for GuestLink { guest, driver, .. } in disks {
            let needs_none = |process: &&Process| {
                let is_memory = process.program.as_ref().is_some_and(|program| program.value == MEMORY_DISK);
                Device::Disk.is_shared_by(process) || is_memory
            };
            if self.description.process(&driver.value).filter(needs_none).is_some() {
                continue;
            }
            match (emulator.disk, &guest.disk_size) {
                (None, _) => {
                    let message =
                        format!("machine `{}` has no disk for {} `{}`", machine.name, guest.noun(), guest.name.value);
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
                        "`{}` is promised {wanted}, but the disk of `{}` has {has}",
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
