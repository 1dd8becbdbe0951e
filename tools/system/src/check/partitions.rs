//! Parts of a disk that a service gives to its clients: each stated, inside the disk, and none in two clients' hands.

use crate::codes::Code;
use crate::description::guest_links::Device;
use crate::description::{Description, Machine, Process};
use diagnostics::units::show_size;
use diagnostics::{Diagnostic, Report, Span, Spanned};

/// The program `block` serves so many, `user/services/block/block.h`.
const CLIENTS_MOST: usize = 8;

pub fn check(description: &Description, machine: Option<&Machine>, report: &mut Report) {
    let disk = machine.and_then(|machine| machine.emulator.as_ref()).and_then(|emulator| emulator.disk);
    let mut checker = Checker { description, report };
    for process in &description.processes {
        checker.beginning_without_service(process);
        checker.share_without_service(process);
        if Device::Disk.is_shared_by(process) {
            checker.service(process);
            let parts = checker.parts(process);
            checker.overlaps(&parts);
            if let Some(disk) = disk {
                checker.inside(&parts, disk);
            }
        }
    }
}

/// What one client gets.
struct Part<'a> {
    client: &'a Process,
    at: &'a Spanned<u64>,
    size: &'a Spanned<u64>,
}

impl Part<'_> {
    fn end(&self) -> u64 {
        self.at.value.saturating_add(self.size.value)
    }
}

struct Checker<'a> {
    description: &'a Description,
    report: &'a mut Report,
}

impl<'a> Checker<'a> {
    fn fault(&mut self, message: String, remedy: impl Into<String>, span: &Span, label: &str) {
        let fault = Diagnostic::new(Code::GuestDisk, message, remedy);
        self.report.push(fault.at(&self.description.source, span, label));
    }

    /// A driver gives the whole disk, or to a guest its beginning.
    fn beginning_without_service(&mut self, process: &Process) {
        let (Some(driver), Some(at)) = (&process.disk, &process.disk_at) else { return };
        if self.description.process(&driver.value).is_some_and(|driver| !Device::Disk.is_shared_by(driver)) {
            let message = format!("`{}` gives no parts of a disk", driver.value);
            let remedy = "leave `disk_at` out, or name a process with `serves = \"sata\"` as the disk";
            self.fault(message, remedy, &at.span, "begins somewhere in it");
        }
    }

    /// A driver has one client.
    fn share_without_service(&mut self, process: &Process) {
        let Some(share) = &process.disk_share else { return };
        let driver = process.disk.as_ref().and_then(|driver| self.description.process(&driver.value));
        let is_alone = driver.is_some_and(|driver| !Device::Disk.is_shared_by(driver));
        if is_alone || (process.disk.is_none() && !process.has("disk")) {
            let message =
                format!("{} `{}` has a share of a disk that is not shared", process.noun(), process.name.value);
            let remedy = "leave `disk_share` out, or name a process with `serves = \"sata\"` as the disk";
            self.fault(message, remedy, &share.span, "of what?");
        }
    }

    fn service(&mut self, service: &Process) {
        if service.disk.is_none() && !service.has("disk") {
            let message = format!("`{}` serves parts of a disk, but has none", service.name.value);
            let span = service.serves.as_ref().map_or(&service.name.span, |serves| &serves.span);
            self.fault(message, "add `disk`, the process that drives it", span, "of which disk?");
        }
        if let Some(client) = self.description.clients_of_disk(service).nth(CLIENTS_MOST) {
            let message = format!("`{}` has more clients than the {CLIENTS_MOST} that it serves", service.name.value);
            let span = client.disk.as_ref().map_or(&client.name.span, |disk| &disk.span);
            self.fault(message, "use a second disk with a service of its own", span, "one too many");
        }
    }

    /// The parts that are stated in full; of others it is said what is missing.
    fn parts(&mut self, service: &'a Process) -> Vec<Part<'a>> {
        let description = self.description;
        let clients: Vec<&Process> = description.clients_of_disk(service).collect();
        let mut parts = Vec::new();
        for client in clients {
            let name = &client.name.value;
            let span = client.disk.as_ref().map_or(&client.name.span, |disk| &disk.span);
            if client.disk_at.is_none() && !client.has("disk_at") {
                let message = format!("where the part of `{name}` begins is not said");
                self.fault(
                    message,
                    "add `disk_at`, such as disk_at = \"0B\" for the first one",
                    span,
                    "a part of this disk",
                );
            }
            if client.disk_size.is_none() && !client.has("disk_size") {
                let message = format!("how large the part of `{name}` is is not said");
                self.fault(message, "add `disk_size`, such as disk_size = \"64MiB\"", span, "a part of this disk");
            }
            if let (Some(at), Some(size)) = (&client.disk_at, &client.disk_size) {
                parts.push(Part { client, at, size });
            }
        }
        parts
    }

    /// Each part against those before it: one fault for each client.
    fn overlaps(&mut self, parts: &[Part]) {
        for (index, part) in parts.iter().enumerate() {
            let both = |other: &&Part| other.at.value < part.end() && part.at.value < other.end();
            let Some(other) = parts[..index].iter().find(both) else { continue };
            let (name, first) = (&part.client.name.value, &other.client.name.value);
            let message = format!("the parts of `{first}` and `{name}` overlap");
            let remedy = format!("let it begin at \"{}B\" or behind, or make one smaller", other.end());
            let fault = Diagnostic::new(Code::GuestDisk, message, remedy)
                .at(&self.description.source, &part.at.span, "begins here")
                .at(&self.description.source, &other.at.span, format!("the part of `{first}`"));
            self.report.push(fault);
        }
    }

    fn inside(&mut self, parts: &[Part], disk: u64) {
        for part in parts.iter().filter(|part| part.end() > disk) {
            let message = format!(
                "the part of `{}` ends {} behind the disk, which has {}",
                part.client.name.value,
                show_size(part.end() - disk),
                show_size(disk)
            );
            let remedy = "make it smaller, or enlarge `disk` of the machine";
            self.fault(message, remedy, &part.size.span, "too large");
        }
    }
}
