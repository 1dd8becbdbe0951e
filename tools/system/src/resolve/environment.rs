//! The environment page of a process, from its grants and the description.

use super::grants::{sender_badge, signal_bit};
use super::ids::{Ids, VM_INPUT};
use super::resolved::Grant;
use crate::description::network::clients;
use crate::description::Process;
use crate::environment::Environment;
use crate::layout::{NUM_CPU, TRACE_VADDR};
use crate::memory::{trace_size, Mapped};
use crate::threads;

pub fn environment(ids: &Ids, process: &Process, grants: &[Grant], files: &[Mapped]) -> Environment {
    let description = ids.description;
    let mut page = Environment::default();
    let is_me = |name: &crate::description::Name| name.value == process.name.value;
    page.line(format_args!("name"), &process.name.value);
    for grant in grants {
        page.line(format_args!("slot.{}", grant.name), grant.slot);
    }
    for endpoint in description.endpoints.iter().filter(|endpoint| endpoint.receiver.as_ref().is_some_and(is_me)) {
        for (place, sender) in endpoint.senders.iter().enumerate() {
            page.line(format_args!("badge.{}.{}", endpoint.seen_as, sender.value), sender_badge(place));
        }
    }
    for notification in description.notifications.iter().filter(|object| object.waiter.as_ref().is_some_and(is_me)) {
        for (place, signaller) in notification.signallers.iter().enumerate() {
            page.line(format_args!("bit.{}.{}", notification.seen_as, signaller.value), signal_bit(place));
        }
    }
    let mine = |child: &&Process| child.parent.as_ref().is_some_and(is_me);
    for child in description.processes.iter().filter(mine) {
        if let Some(policy) = child.restart.wanted() {
            let (limit, within) = (child.restart.limit, child.restart.within);
            page.line(format_args!("restart.{}", child.name.value), format_args!("{} {limit} {within}", policy.value));
        }
    }
    page.line(format_args!("thread.main"), 0);
    for (index, thread) in (1..).zip(&process.threads) {
        let index: u32 = index;
        page.line(format_args!("thread.{}", thread.name.value), index);
    }
    for file in files {
        page.line(format_args!("file.{}", file.name), format_args!("{:#x} {}", file.vaddr, file.size));
    }
    if let Some(reservation) = process.time.reservation() {
        page.line(format_args!("period_ns"), reservation.period);
        page.line(format_args!("budget_ns"), reservation.budget);
    }
    if let Some(vm) = &process.vm {
        page.line(format_args!("arg.memory"), vm.memory.as_ref().map_or(0, |memory| memory.value));
        page.line(format_args!("arg.cmdline"), &vm.cmdline);
        if vm.num_cpus() > 1 {
            page.line(format_args!("bit.{VM_INPUT}.{}", process.name.value), signal_bit(0));
        }
        if let Some(features) = &vm.paravirtual {
            let names: Vec<&str> = features.iter().map(|name| name.value.as_str()).collect();
            page.line(format_args!("arg.paravirtual"), names.join(" "));
        }
    }
    if let Some(network) = &process.network {
        page.line(format_args!("arg.network"), &network.value);
    }
    if let Some(driver) = &process.uplink {
        page.line(format_args!("arg.uplink"), &driver.value);
    }
    for client in clients(description, process) {
        page.line(
            format_args!("client.{}", client.process.name.value),
            format_args!("{} {}", client.mac, client.share),
        );
    }
    if let Some(driver) = &process.disk {
        page.line(format_args!("arg.disk"), &driver.value);
    }
    if let Some(size) = &process.disk_size {
        page.line(format_args!("arg.disk_size"), size.value);
    }
    for client in description.clients_of_disk(process) {
        let part = (client.disk_at.as_ref(), client.disk_size.as_ref());
        if let (Some(at), Some(size)) = part {
            let share = client.disk_share.as_ref().map_or(1, |share| share.value);
            page.line(
                format_args!("client.{}", client.name.value),
                format_args!("{} {} {share}", at.value, size.value),
            );
        }
    }
    if let Some(driver) = &process.sound {
        page.line(format_args!("arg.sound"), &driver.value);
    }
    for client in description.clients_of_sound(process) {
        page.line(format_args!("client.{}", client.name.value), "");
    }
    if process.trace {
        page.line(format_args!("trace"), format_args!("{TRACE_VADDR:#x} {}", trace_size(description)));
        for (thread, name) in (NUM_CPU..).zip(description.processes.iter().flat_map(threads::names)) {
            page.line(format_args!("trace.thread.{thread}"), name);
        }
    }
    for (key, value) in &process.args {
        page.line(format_args!("arg.{}", key.value), &value.value);
    }
    page
}
