//! PCI devices that guests drive themselves: one window of registers each, an interrupt that arrives, and an IOMMU that confines the
//! device alone.

use crate::codes::Code;
use crate::description::machine::Device;
use crate::description::{Description, Machine, Name, Process};
use diagnostics::{Diagnostic, Report, Span};

/// Bits of a function's number within its device.
const OF_DEVICE: u64 = 7;

pub fn check(description: &Description, machine: &Machine, report: &mut Report) {
    for guest in &description.processes {
        if let Some(bus) = guest.vm.as_ref().and_then(|vm| vm.pci.as_ref()) {
            Checker { description, machine, guest, bus, report }.check();
        }
    }
}

struct Checker<'a> {
    description: &'a Description,
    machine: &'a Machine,
    guest: &'a Process,
    bus: &'a Name,
    report: &'a mut Report,
}

impl<'a> Checker<'a> {
    fn check(&mut self) {
        self.iommu();
        self.bus();
        self.console();
        if let Some((name, device)) = self.device() {
            self.window(name, device);
            self.interrupt(name, device);
            self.alone(name, device);
        }
    }

    fn fault(&mut self, message: String, remedy: impl Into<String>, span: &Span, label: &str) -> &mut Report {
        let fault = Diagnostic::new(Code::PassedDevice, message, remedy);
        self.report.push(fault.at(&self.description.source, span, label));
        self.report
    }

    fn iommu(&mut self) {
        if !self.machine.iommu {
            let message = format!(
                "machine `{}` has no IOMMU that would confine the device of `{}` to the guest's memory",
                self.machine.name, self.guest.name.value
            );
            let remedy = "choose a machine whose file says `iommu`, such as \"q35-passthrough\", or let a process drive the device";
            let span = self.bus.span.clone();
            self.fault(message, remedy, &span, "a device of the guest's own");
        }
    }

    /// A bus process has one device, and one driver of it.
    fn bus(&mut self) {
        let Some(bus) = self.description.process(&self.bus.value) else { return };
        let driver = bus.args.iter().find(|(key, _)| key.value == "driver").map(|(_, value)| value);
        if let Some(driver) = driver.filter(|driver| driver.value != self.guest.name.value) {
            let message = format!(
                "`{}` gives its device to `{}`, not to `{}`",
                self.bus.value, driver.value, self.guest.name.value
            );
            let fault = Diagnostic::new(Code::PassedDevice, message, "have a bus process for each device")
                .at(&self.description.source, &self.bus.span, "the second driver")
                .at(&self.description.source, &driver.span, "the first driver");
            self.report.push(fault);
        }
    }

    /// The monitor waits for one notification only.
    fn console(&mut self) {
        let console = self.guest.console.as_ref().and_then(|name| self.description.console(&name.value));
        let input = console.and_then(|console| console.input.as_ref());
        if let Some(input) = input.filter(|input| input.value != self.guest.name.value) {
            let message = format!(
                "the monitor of `{}` waits for its PCI device and its console by notification `{0}`, not by `{}`",
                self.guest.name.value, input.value
            );
            self.fault(message, "leave `input` out", &input.span.clone(), "another notification");
        }
    }

    /// The one that the guest is given, if it is one.
    fn device(&mut self) -> Option<(&'a Name, &'a Device)> {
        let guest = self.guest;
        let [name] = guest.devices.as_slice() else {
            let message = format!(
                "`{}` has `pci`, and {} `devices`",
                guest.name.value,
                if guest.devices.is_empty() { "no" } else { "several" }
            );
            let remedy = "name the registers of the one device that the bus process gives it: devices = [\"NAME\"]";
            self.fault(message, remedy, &self.bus.span.clone(), "a device of the guest's own");
            return None;
        };
        let device = self.machine.devices.iter().find(|device| device.name.value == name.value)?;
        if device.function.is_none() {
            let message = format!("no PCI function is known of `{}`", name.value);
            let remedy =
                format!("say `function` of `[device.{}]` in the machine's file, or name another device", name.value);
            self.fault(message, remedy, &name.span, "which function?");
            return None;
        }
        Some((name, device))
    }

    fn window(&mut self, name: &Name, device: &Device) {
        let Some(window) = &device.window else { return };
        let size = window.range.value.1 - window.range.value.0 + 1;
        if window.ports || !size.is_power_of_two() {
            let message = format!(
                "the guest cannot be given `{}`: its registers are {}",
                name.value,
                if window.ports { "I/O ports".into() } else { format!("{size:#x} bytes, no power of two") }
            );
            let remedy = "name a window of memory of 4096 bytes, or of 2, 4, 8 and so on times that";
            let fault = Diagnostic::new(Code::PassedDevice, message, remedy)
                .at(&self.description.source, &name.span, "given to a guest")
                .at(&self.machine.source, &window.range.span, "its registers");
            self.report.push(fault);
        }
    }

    fn interrupt(&mut self, name: &Name, device: &Device) {
        let function = device.function.as_ref().map(|function| function.value);
        let arrives = self.description.interrupts.iter().any(|interrupt| {
            let line = self.machine.interrupts.iter().find(|line| line.name.value == interrupt.name.value);
            let is_its = line.and_then(|line| line.function.as_ref()).map(|function| function.value) == function;
            is_its && interrupt.notification.as_ref().is_some_and(|to| to.value == self.guest.name.value)
        });
        if arrives {
            return;
        }
        let is_its = |function_of: Option<u64>| function_of == function;
        let line = self.machine.interrupts.iter().find(|line| is_its(line.function.as_ref().map(|one| one.value)));
        let guest = &self.guest.name.value;
        let remedy = match line {
            Some(line) => format!("add [interrupt.{}] with notification = \"{guest}\"", line.name.value),
            None => format!("describe the interrupt of `{}` with its `function` in the machine's file", name.value),
        };
        self.fault(format!("no interrupt of `{}` reaches `{guest}`", name.value), remedy, &name.span, "interrupts");
    }

    /// Functions of one device may reach each other without passing the IOMMU.
    fn alone(&mut self, name: &Name, device: &Device) {
        let Some(function) = &device.function else { return };
        for other in &self.machine.devices {
            let Some(beside) = &other.function else { continue };
            if beside.value == function.value || beside.value | OF_DEVICE != function.value | OF_DEVICE {
                continue;
            }
            let owns = |process: &&Process| process.devices.iter().any(|one| one.value == other.name.value);
            let Some(owner) = self.description.processes.iter().find(owns) else { continue };
            let message = format!(
                "`{}` of `{}` and `{}` of `{}` are functions of one PCI device, which no IOMMU keeps apart",
                name.value, self.guest.name.value, other.name.value, owner.name.value
            );
            let remedy = "give the guest a device of which no process drives another function";
            let fault = Diagnostic::new(Code::PassedDevice, message, remedy)
                .at(&self.description.source, &name.span, "given to a guest")
                .at(&self.machine.source, &beside.span, "the other function");
            self.report.push(fault);
        }
    }
}
