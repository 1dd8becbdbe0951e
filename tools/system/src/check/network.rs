//! Switches: who may have an uplink, how many clients there are, and which hardware addresses they have.

use crate::codes::Code;
use crate::description::guest_links::Device;
use crate::description::network::{clients, Client, Mac, MOST_CLIENTS};
use crate::description::{Description, Name, Process};
use diagnostics::{Diagnostic, Report, Span};

pub fn check(description: &Description, report: &mut Report) {
    let mut checker = Checker { description, report };
    for process in &description.processes {
        checker.uplink(process);
        checker.share(process);
        if let Some(mac) = &process.mac {
            checker.address(process, mac);
        }
        if Device::Network.is_shared_by(process) {
            checker.clients(process);
        }
    }
}

struct Checker<'a> {
    description: &'a Description,
    report: &'a mut Report,
}

impl Checker<'_> {
    fn fault(&mut self, code: Code, message: String, remedy: impl Into<String>, span: &Span, label: &str) {
        let fault = Diagnostic::new(code, message, remedy);
        self.report.push(fault.at(&self.description.source, span, label));
    }

    fn uplink(&mut self, process: &Process) {
        let Some(uplink) = &process.uplink else { return };
        if !Device::Network.is_shared_by(process) && !process.has("serves") {
            let message = format!("{} `{}` has an uplink, but is no switch", process.noun(), process.name.value);
            let remedy =
                "add `serves = \"ethernet\"` if its program is a switch; a program's own card is its `network`";
            self.fault(Code::Switch, message, remedy, &uplink.span, "of which network?");
        }
        let Some(driver) = self.description.process(&uplink.value) else { return };
        if Device::Network.is_shared_by(driver) {
            let message = format!("the uplink of switch `{}` is the switch `{}`", process.name.value, uplink.value);
            let remedy = "name a process that runs rtl8139 or e1000e, or give the clients of both one switch: each client of a switch has \
                          one address, so another switch cannot be one";
            self.fault(Code::Switch, message, remedy, &uplink.span, "a switch, not a card");
        }
    }

    fn share(&mut self, process: &Process) {
        let Some(share) = &process.network_share else { return };
        if process.network.is_none() || self.drives_a_card(process) {
            let message = format!("{} `{}` has a share of a switch, but no switch", process.noun(), process.name.value);
            self.fault(
                Code::Switch,
                message,
                "name a switch as its `network`, or remove the share",
                &share.span,
                "of what?",
            );
        }
    }

    /// Its network is known, and is no switch.
    fn drives_a_card(&self, process: &Process) -> bool {
        let network = process.network.as_ref().and_then(|network| self.description.process(&network.value));
        network.is_some_and(|network| !Device::Network.is_shared_by(network))
    }

    fn address(&mut self, process: &Process, mac: &Name) {
        let Some(read) = Mac::read(&mac.value) else {
            let message = format!("`{}` is no hardware address", mac.value);
            let remedy = "write six bytes of two hexadecimal digits, such as \"02:00:00:00:00:05\"";
            return self.fault(Code::BadValue, message, remedy, &mac.span, "this text");
        };
        if read.is_group() || read == Mac([0; 6]) {
            let what = if read.is_group() { "of a group of stations" } else { "of no station" };
            let message = format!("`{read}` is the address {what}");
            let remedy = "choose one whose first byte is even; those that begin with 02 are free to choose";
            self.fault(Code::HardwareAddress, message, remedy, &mac.span, "not of one station");
        }
        if process.network.is_none() || self.drives_a_card(process) {
            let message =
                format!("{} `{}` has an address for a switch, but no switch", process.noun(), process.name.value);
            let remedy = "name a switch as its `network`, or remove `mac`: a card has its own address";
            self.fault(Code::HardwareAddress, message, remedy, &mac.span, "of which card?");
        }
    }

    fn clients(&mut self, switch: &Process) {
        let all: Vec<Client> = clients(self.description, switch).collect();
        if all.is_empty() {
            let message = format!("no guest and no process has the switch `{}` as its network", switch.name.value);
            let remedy = format!("add `network = \"{}\"` to its clients, or remove it", switch.name.value);
            self.fault(Code::Switch, message, remedy, &switch.name.span, "a switch without clients");
        }
        if let Some(first_beyond) = all.get(MOST_CLIENTS) {
            let message =
                format!("switch `{}` has {} clients, and serves {MOST_CLIENTS}", switch.name.value, all.len());
            let span = &first_beyond.process.name.span;
            self.fault(Code::Switch, message, "give the others a switch of their own", span, "the first too many");
        }
        for (index, client) in all.iter().enumerate() {
            let Some(first) = all[..index].iter().find(|other| other.mac == client.mac) else { continue };
            let place = |client: &Client| {
                let stated = client.process.mac.as_ref();
                stated.map_or(client.process.name.span.clone(), |mac| mac.span.clone())
            };
            let names = (&first.process.name.value, &client.process.name.value);
            let message = format!("`{}` and `{}` both have the address {}", names.0, names.1, client.mac);
            let remedy = "write another `mac`; a client without one has 02:41:53:48:00:NN, where NN is its number";
            let fault = Diagnostic::new(Code::HardwareAddress, message, remedy)
                .at(&self.description.source, &place(client), "the second")
                .at(&self.description.source, &place(first), "the first");
            self.report.push(fault);
        }
    }
}
