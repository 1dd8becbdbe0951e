//! Channels: two different ends, each named once, and no process sees one name twice.

use crate::codes::Code;
use crate::description::{virtual_cpu, Description, Name};
use diagnostics::{Diagnostic, Report, Span};
use std::collections::HashMap;

pub fn check(description: &Description, report: &mut Report) {
    let mut checker = Checker { description, report, seen: HashMap::new() };
    checker.guests();
    checker.endpoints();
    checker.notifications();
    checker.buffers();
    checker.shares();
}

struct Checker<'a> {
    description: &'a Description,
    report: &'a mut Report,
    /// (process, kind, name it sees) -> where that name was given.
    seen: HashMap<(String, &'static str, String), Span>,
}

impl Checker<'_> {
    fn fault(&mut self, code: Code, message: String, remedy: &str, span: &Span, label: &str) {
        self.report.push(Diagnostic::new(code, message, remedy).at(&self.description.source, span, label));
    }

    /// `processes` each see `object` as `alias`.
    fn sees<'p>(&mut self, kind: &'static str, object: &Name, alias: &str, processes: impl Iterator<Item = &'p Name>) {
        for process in processes {
            let key = (process.value.clone(), kind, alias.to_string());
            let first = self.seen.entry(key).or_insert_with(|| object.span.clone()).clone();
            let told = || self.report.diagnostics.iter().any(|fault| fault.is_at(Code::Duplicate, &object.span));
            if first != object.span && !told() {
                let message = format!("`{}` would see two {kind}s as `{alias}`", process.value);
                let fault = Diagnostic::new(Code::Duplicate, message, "give one of them another `as`")
                    .at(&self.description.source, &object.span, "the second")
                    .at(&self.description.source, &first, "the first");
                self.report.push(fault);
            }
        }
    }

    fn once(&mut self, names: &[Name]) {
        for (index, name) in names.iter().enumerate() {
            if names[..index].iter().any(|earlier| earlier.value == name.value) {
                let message = format!("`{}` is named twice in one list", name.value);
                self.fault(Code::Duplicate, message, "name it once", &name.span, "again");
            }
        }
    }

    fn one_ended(&mut self, kind: &str, name: &Name, missing: &str) {
        let message = format!("{kind} `{}` has no {missing}", name.value);
        let remedy = format!("name a {missing}, or remove the table");
        self.fault(Code::OneEnded, message, &remedy, &name.span, "only one end");
    }

    /// A monitor has a notification of console input already, and one for each further virtual CPU.
    fn guests(&mut self) {
        for process in self.description.processes.iter().filter(|process| process.vm.is_some()) {
            let key = (process.name.value.clone(), "notification", "input".to_string());
            self.seen.insert(key, process.name.span.clone());
            for (number, thread) in (1..).zip(&process.threads) {
                let key = (process.name.value.clone(), "notification", virtual_cpu(number));
                self.seen.insert(key, thread.name.span.clone());
            }
        }
    }

    fn endpoints(&mut self) {
        let description = self.description;
        for endpoint in &description.endpoints {
            self.once(&endpoint.senders);
            let faulting: Vec<&Name> = description
                .processes
                .iter()
                .filter_map(|process| process.fault_endpoint.as_ref())
                .filter(|name| name.value == endpoint.name.value)
                .collect();
            if endpoint.senders.is_empty() && faulting.is_empty() {
                self.one_ended("endpoint", &endpoint.name, "sender");
            }
            let Some(receiver) = &endpoint.receiver else { continue };
            for sender in endpoint.senders.iter().filter(|sender| sender.value == receiver.value) {
                let message = format!("`{}` would send to itself", sender.value);
                self.fault(Code::Loop, message, "let another process send or receive", &sender.span, "is the receiver");
            }
            let both = std::iter::once(receiver).chain(&endpoint.senders);
            self.sees("endpoint", &endpoint.name, &endpoint.seen_as, both);
        }
        for process in &description.processes {
            let Some(name) = &process.fault_endpoint else { continue };
            let receiver = description.endpoint(&name.value).and_then(|endpoint| endpoint.receiver.as_ref());
            if receiver.is_some_and(|receiver| receiver.value == process.name.value) {
                let message = format!("`{}` would handle its own faults", process.name.value);
                self.fault(Code::Loop, message, "let another process receive there", &name.span, "received by itself");
            }
        }
    }

    fn notifications(&mut self) {
        let description = self.description;
        for notification in &description.notifications {
            self.once(&notification.signallers);
            let name = &notification.name.value;
            let named = |reference: &Option<Name>| reference.as_ref().is_some_and(|other| other.value == *name);
            let signalled = !notification.signallers.is_empty()
                || description.interrupts.iter().any(|interrupt| named(&interrupt.notification))
                || description.consoles.iter().any(|console| named(&console.input))
                || description.processes.iter().any(|process| named(&process.on_death));
            if !signalled {
                self.one_ended("notification", &notification.name, "signaller");
            }
            let both = notification.waiter.iter().chain(&notification.signallers);
            self.sees("notification", &notification.name, &notification.seen_as, both);
        }
    }

    fn buffers(&mut self) {
        let description = self.description;
        for buffer in &description.buffers {
            self.once(&buffer.producers);
            self.once(&buffer.consumers);
            if buffer.producers.is_empty() {
                self.one_ended("buffer", &buffer.name, "producer");
            }
            if buffer.consumers.is_empty() {
                self.one_ended("buffer", &buffer.name, "consumer");
            }
            let both = buffer.producers.iter().chain(&buffer.consumers);
            self.sees("buffer", &buffer.name, &buffer.seen_as, both);
        }
    }

    fn shares(&mut self) {
        let description = self.description;
        for share in &description.shares {
            match (&share.from, &share.to) {
                (Some(from), Some(to)) if from.value == to.value => {
                    let message = format!("`{}` would share with itself", to.value);
                    self.fault(Code::Loop, message, "name two different processes", &to.span, "both ends");
                }
                _ => {}
            }
            self.sees("share", &share.name, &share.seen_as, share.from.iter().chain(&share.to));
        }
    }
}
