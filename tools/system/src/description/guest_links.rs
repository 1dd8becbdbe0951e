//! `disk = DRIVER` and `network = DRIVER` of a process or virtual machine, `sound = DRIVER` of a process and `uplink = DRIVER` of a switch
//! in terms of what they stand for: links between the program, or the guest's monitor, and who drives the device.
//!
//! A monitor waits for everything by one notification of its own name, so that its console's input comes there too.

use super::{Description, Name, Notification, Process, Share};
use diagnostics::Spanned;

/// A device of a guest that another process drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
    Disk,
    Network,
    Sound,
}

impl Device {
    /// The protocol between monitor and driver: the driver's argument that names its client, and the ending of the share's name.
    pub fn protocol(self) -> &'static str {
        match self {
            Device::Disk => "sata",
            Device::Network => "ethernet",
            Device::Sound => "audio",
        }
    }

    /// The word for it in messages.
    pub fn word(self) -> &'static str {
        match self {
            Device::Disk => "disk",
            Device::Network => "network",
            Device::Sound => "sound controller",
        }
    }
}

/// A device of a guest or of a program, and who drives it.
#[derive(Debug, Clone, Copy)]
pub struct GuestLink<'a> {
    pub guest: &'a Process,
    pub device: Device,
    pub driver: &'a Name,
}

impl Device {
    /// Whether `process` serves such devices to several clients, each by a link of its own.
    pub fn is_shared_by(self, process: &Process) -> bool {
        process.serves.as_ref().is_some_and(|name| name.value == self.protocol())
    }
}

impl Description {
    /// The devices of guests and programs that processes drive.
    pub fn guest_links(&self) -> impl Iterator<Item = GuestLink<'_>> {
        self.processes.iter().flat_map(|guest| {
            let devices = [
                (Device::Disk, guest.disk.as_ref()),
                (Device::Network, guest.network.as_ref()),
                (Device::Network, guest.uplink.as_ref()),
                (Device::Sound, guest.sound.as_ref()),
            ];
            devices.into_iter().filter_map(move |(device, driver)| Some(GuestLink { guest, device, driver: driver? }))
        })
    }
}

impl Description {
    /// The processes and guests that `service` gives parts of its disk to.
    pub fn clients_of_disk<'a>(&'a self, service: &'a Process) -> impl Iterator<Item = &'a Process> {
        let names_it =
            move |client: &&Process| client.disk.as_ref().is_some_and(|name| name.value == service.name.value);
        self.processes.iter().filter(|_| Device::Disk.is_shared_by(service)).filter(names_it)
    }

    /// The processes that play or record by `driver`.
    pub fn clients_of_sound<'a>(&'a self, driver: &'a Process) -> impl Iterator<Item = &'a Process> {
        let names_it =
            move |client: &&Process| client.sound.as_ref().is_some_and(|name| name.value == driver.name.value);
        self.processes.iter().filter(|_| Device::Sound.is_shared_by(driver)).filter(names_it)
    }
}

/// Adds the links. Where the description says something else already, that stays, and `check` tells of it.
pub fn link(description: &mut Description) {
    let links: Vec<(Name, Device, Name)> =
        description.guest_links().map(|link| (link.guest.name.clone(), link.device, link.driver.clone())).collect();
    for (guest, device, driver) in links {
        let protocol = device.protocol();
        let is_process = |process: &&mut Process| process.name.value == driver.value;
        let Some(process) = description.processes.iter_mut().find(is_process) else { continue };
        let at = |value: &str| Spanned::new(value.to_string(), driver.span.clone());
        let mut name = format!("{}-{protocol}", driver.value);
        if process.vm.is_some() || driver.value == guest.value {
            continue;
        } else if device.is_shared_by(process) {
            name += &format!("-{}", guest.value);
        } else if process.args.iter().any(|(key, _)| key.value == protocol) {
            continue;
        } else {
            process.args.push((at(protocol), at(&guest.value)));
        }
        notify(description, &at(&guest.value), &at(&driver.value));
        notify(description, &at(&driver.value), &at(&guest.value));
        description.shares.push(Share {
            name: at(&name),
            seen_as: name,
            from: Some(at(&guest.value)),
            to: Some(at(&driver.value)),
            read_only: false,
        });
        hear(description, &at(&guest.value));
    }
}

/// The monitor of `guest` waits for everything by the notification of its name: its other virtual CPUs wake the first one by it, and
/// its console's input comes there.
pub(super) fn hear(description: &mut Description, guest: &Name) {
    hear_input(description, guest);
    let vm = description.process(&guest.value).and_then(|process| process.vm.as_ref());
    if vm.is_some_and(|vm| vm.num_cpus() > 1) {
        notify(description, guest, guest);
    }
}

/// Lets `signaller` signal the notification of the waiter's name.
pub(super) fn notify(description: &mut Description, waiter: &Name, signaller: &Name) {
    match description.notifications.iter_mut().find(|object| object.name.value == waiter.value) {
        Some(object) if object.signallers.iter().any(|name| name.value == signaller.value) => {}
        Some(object) => object.signallers.push(signaller.clone()),
        None => description.notifications.push(Notification {
            name: waiter.clone(),
            seen_as: waiter.value.clone(),
            waiter: Some(waiter.clone()),
            signallers: vec![signaller.clone()],
        }),
    }
}

/// Input of a guest's console comes by the notification of its name.
fn hear_input(description: &mut Description, guest: &Name) {
    let process = description.process(&guest.value).filter(|process| process.vm.is_some());
    let console = process.and_then(|process| process.console.clone());
    let Some(name) = console else { return };
    if let Some(console) = description.consoles.iter_mut().find(|console| console.name.value == name.value) {
        console.input.get_or_insert_with(|| guest.clone());
    }
}
