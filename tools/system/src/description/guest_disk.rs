//! `[vm.NAME] disk = DRIVER` in terms of what it stands for: a link between the guest's monitor and the driver of its disk.
//!
//! The monitor waits for everything by one notification of its own name, so that its console's input comes there too.

use super::{Description, Name, Notification, Process, Share};
use diagnostics::Spanned;

/// The driver's argument that names its client, and the ending of the share's name.
pub const PROTOCOL: &str = "sata";

/// Adds the links. Where the description says something else already, that stays, and `check` tells of it.
pub fn link(description: &mut Description) {
    let pairs: Vec<(Name, Name)> =
        description.disk_users().map(|(guest, _, driver)| (guest.name.clone(), driver.clone())).collect();
    for (guest, driver) in pairs {
        let is_process = |process: &&mut Process| process.name.value == driver.value;
        let Some(process) = description.processes.iter_mut().find(is_process) else { continue };
        if process.vm.is_some() || process.args.iter().any(|(key, _)| key.value == PROTOCOL) {
            continue;
        }
        let at = |value: &str| Spanned::new(value.to_string(), driver.span.clone());
        process.args.push((at(PROTOCOL), at(&guest.value)));
        notify(description, &at(&guest.value), &at(&driver.value));
        notify(description, &at(&driver.value), &at(&guest.value));
        let name = format!("{}-{PROTOCOL}", driver.value);
        description.shares.push(Share {
            name: at(&name),
            seen_as: name,
            from: Some(at(&guest.value)),
            to: Some(at(&driver.value)),
            read_only: false,
        });
        hear_input(description, &at(&guest.value));
    }
}

/// Lets `signaller` signal the notification of the waiter's name.
fn notify(description: &mut Description, waiter: &Name, signaller: &Name) {
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

/// Input of the guest's console comes by the notification of its name.
fn hear_input(description: &mut Description, guest: &Name) {
    let console = description.process(&guest.value).and_then(|process| process.console.clone());
    let Some(name) = console else { return };
    if let Some(console) = description.consoles.iter_mut().find(|console| console.name.value == name.value) {
        console.input.get_or_insert_with(|| guest.clone());
    }
}
