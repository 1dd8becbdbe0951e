//! Grants: which slot of which process names what.
//!
//! Slots are numbered from 0 in a fixed order of kinds, inside a kind in the order of the description.

use super::ids::{Ids, VM_GUEST, VM_INPUT};
use super::resolved::Grant;
use crate::description::{virtual_cpu, Name, Process};
use crate::layout::*;

/// Bit that signaller number `index` of a notification sets. From above, because events of slots set low bits.
pub fn signal_bit(index: usize) -> u32 {
    63 - (index as u32).min(63)
}

/// Badge with which messages of sender number `index` of an endpoint arrive.
pub fn sender_badge(index: usize) -> u64 {
    index as u64 + 1
}

/// The grants of process `index`. Names that do not exist give none.
pub fn grants(ids: &Ids, index: u32, process: &Process) -> Vec<Grant> {
    let mut list = List { ids, index, process, grants: Vec::new() };
    list.endpoints();
    list.notifications();
    list.buffers();
    list.shares();
    list.children();
    list.interrupts();
    list.devices();
    list.console_and_guest();
    list.powers();
    list.grants
}

struct List<'a> {
    ids: &'a Ids<'a>,
    index: u32,
    process: &'a Process,
    grants: Vec<Grant>,
}

impl List<'_> {
    fn add(&mut self, kind: (&'static str, u32), name: &str, object: u32, rights: u32, badge: u64) {
        let slot = self.grants.len() as u32;
        let name = format!("{}.{name}", kind.0);
        self.grants.push(Grant { slot, name, kind: kind.1, object, rights, badge });
    }

    fn is_me(&self, name: &Name) -> bool {
        name.value == self.process.name.value
    }

    fn place(&self, names: &[Name]) -> Option<usize> {
        names.iter().position(|name| self.is_me(name))
    }

    fn endpoints(&mut self) {
        let description = self.ids.description;
        for (object, endpoint) in (0..).zip(&description.endpoints) {
            if endpoint.receiver.as_ref().is_some_and(|receiver| self.is_me(receiver)) {
                self.add(("endpoint", GRANT_ENDPOINT), &endpoint.seen_as, object, RIGHT_RECV, 0);
            } else if let Some(place) = self.place(&endpoint.senders) {
                let badge = sender_badge(place);
                self.add(("endpoint", GRANT_ENDPOINT), &endpoint.seen_as, object, RIGHT_SEND, badge);
            }
        }
    }

    fn notifications(&mut self) {
        let description = self.ids.description;
        // First, because a monitor takes its first notification to be this one.
        if let Some(vm) = self.ids.vm(self.index) {
            let several = self.process.vm.as_ref().is_some_and(|vm| vm.num_cpus() > 1);
            let (rights, bits) =
                if several { (RIGHT_WAIT | RIGHT_SIGNAL, 1 << signal_bit(0)) } else { (RIGHT_WAIT, 0) };
            self.add(("notification", GRANT_NOTIFICATION), VM_INPUT, self.ids.vm_input(vm), rights, bits);
            for (number, vm) in self.ids.virtual_cpus(self.index).enumerate().skip(1) {
                let wake = self.ids.vm_input(vm);
                self.add(("notification", GRANT_NOTIFICATION), &virtual_cpu(number), wake, rights, bits);
            }
        }
        for (object, notification) in (0..).zip(&description.notifications) {
            let waits = notification.waiter.as_ref().is_some_and(|waiter| self.is_me(waiter));
            let signals = self.place(&notification.signallers);
            let rights = if waits { RIGHT_WAIT } else { 0 } | signals.map_or(0, |_| RIGHT_SIGNAL);
            if rights != 0 {
                let bits = signals.map_or(0, |place| 1 << signal_bit(place));
                self.add(("notification", GRANT_NOTIFICATION), &notification.seen_as, object, rights, bits);
            }
        }
    }

    fn buffers(&mut self) {
        let description = self.ids.description;
        for (object, buffer) in (0..).zip(&description.buffers) {
            let inserts = self.place(&buffer.producers).map_or(0, |_| RIGHT_INSERT);
            let removes = self.place(&buffer.consumers).map_or(0, |_| RIGHT_REMOVE);
            if inserts | removes != 0 {
                self.add(("buffer", GRANT_BUFFER), &buffer.seen_as, object, inserts | removes, 0);
            }
        }
    }

    fn shares(&mut self) {
        let description = self.ids.description;
        for (object, share) in (0..).zip(&description.shares) {
            let write = if share.read_only { 0 } else { RIGHT_WRITE };
            if share.from.as_ref().is_some_and(|from| self.is_me(from)) {
                self.add(("share", GRANT_SHARE), &share.seen_as, object, RIGHT_OFFER | write, 0);
            } else if share.to.as_ref().is_some_and(|to| self.is_me(to)) {
                self.add(("share", GRANT_SHARE), &share.seen_as, object, RIGHT_ACCEPT | write, 0);
            }
        }
    }

    fn children(&mut self) {
        let description = self.ids.description;
        for (object, child) in (0..).zip(&description.processes) {
            if child.parent.as_ref().is_some_and(|parent| self.is_me(parent)) {
                let death = child.on_death.as_ref().and_then(|name| self.ids.notification(name));
                self.add(("process", GRANT_PROCESS), &child.name.value, object, 0, u64::from(death.unwrap_or(NONE)));
            }
        }
    }

    fn interrupts(&mut self) {
        let description = self.ids.description;
        for interrupt in &description.interrupts {
            let Some(name) = &interrupt.notification else { continue };
            let waiter = description.notification(&name.value).and_then(|object| object.waiter.as_ref());
            let line = self.ids.line(&interrupt.name).and_then(|line| line.line.as_ref());
            if let (Some(line), true) = (line, waiter.is_some_and(|waiter| self.is_me(waiter))) {
                let badge = u64::from(self.ids.notification(name).unwrap_or(NONE));
                self.add(("interrupt", GRANT_IRQ), &interrupt.name.value, line.value as u32, 0, badge);
            }
            let parent = waiter.and_then(|waiter| description.process(&waiter.value)?.parent.as_ref());
            let sends = self.ids.line(&interrupt.name).is_some_and(|line| line.function.is_some());
            if let (Some(line), true, true) = (line, sends, parent.is_some_and(|parent| self.is_me(parent))) {
                self.add(("message", GRANT_MESSAGE), &interrupt.name.value, line.value as u32, 0, 0);
            }
        }
    }

    fn devices(&mut self) {
        for name in &self.process.devices {
            let Some(object) = self.ids.device(name, self.index) else { continue };
            let ports = self.ids.devices[object as usize].0.window.as_ref().is_some_and(|window| window.ports);
            let kind = if ports { GRANT_PORT } else { GRANT_MMIO };
            self.add(("device", kind), &name.value, object, 0, 0);
        }
    }

    fn console_and_guest(&mut self) {
        let console = self.process.console.as_ref();
        if let Some((name, object)) = console.and_then(|name| Some((name, self.ids.console(name)?))) {
            let input = self.ids.console_input(self.process, self.index).unwrap_or(NONE);
            self.add(("console", GRANT_CONSOLE), &name.value, object, 0, u64::from(input));
        }
        if let Some(vm) = self.ids.vm(self.index) {
            self.add(("vm", GRANT_VM), VM_GUEST, vm, 0, 0);
            for (number, vm) in self.ids.virtual_cpus(self.index).enumerate().skip(1) {
                self.add(("vm", GRANT_VM), &virtual_cpu(number), vm, 0, 0);
            }
        }
    }

    fn powers(&mut self) {
        if self.process.power {
            self.add(("power", GRANT_POWER), "machine", 0, 0, 0);
        }
        if self.process.dma {
            self.add(("dma", GRANT_DMA), "memory", 0, 0, 0);
        }
    }
}
