//! `pci = BUS` of a virtual machine in terms of what it stands for: the guest's monitor is to the bus process the driver of the device.

use super::guest_links::{hear, notify};
use super::{Description, Name, Process, Share};
use diagnostics::Spanned;

/// The protocol between the bus and the driver of a device: the driver's argument that names the bus, and the ending of the share's
/// name.
const PROTOCOL: &str = "pci";
/// Arguments of the bus process for such a device, unless the description gives others. It is reset before each life of the guest, and
/// interrupts by its line, which stays raised as long as the device has something to say.
const OF_BUS: [(&str, &str); 2] = [("reset", "1"), ("messages", "0")];

/// Adds the link. Where the description says something else already, that stays, and `check` tells of it.
pub fn link(description: &mut Description) {
    let bus_of = |process: &Process| Some((process.name.clone(), process.vm.as_ref()?.pci.clone()?));
    let links: Vec<(Name, Name)> = description.processes.iter().filter_map(bus_of).collect();
    for (guest, bus) in links {
        let at = |value: &str| Spanned::new(value.to_string(), bus.span.clone());
        let Some(driver) = description.processes.iter_mut().find(|process| process.name.value == bus.value) else {
            continue;
        };
        let bar = argument(driver, "bar").cloned();
        for (key, value) in OF_BUS.into_iter().chain([("driver", guest.value.as_str())]) {
            if argument(driver, key).is_none() {
                driver.args.push((at(key), at(value)));
            }
        }
        if let Some(process) = description.processes.iter_mut().find(|process| process.name.value == guest.value) {
            process.dma = true;
            process.args.push((at(PROTOCOL), at(&bus.value)));
            process.args.extend(bar.map(|bar| (at("bar"), bar)));
        }
        let name = format!("{}-{PROTOCOL}", guest.value);
        description.shares.push(Share {
            name: at(&name),
            seen_as: name,
            from: Some(at(&bus.value)),
            to: Some(at(&guest.value)),
            read_only: false,
        });
        notify(description, &at(&guest.value), &at(&bus.value));
        notify(description, &at(&bus.value), &at(&guest.value));
        hear(description, &at(&guest.value));
    }
}

fn argument<'a>(process: &'a Process, key: &str) -> Option<&'a Name> {
    process.args.iter().find(|(name, _)| name.value == key).map(|(_, value)| value)
}
