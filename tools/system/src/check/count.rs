//! No more objects than the kernel's tables hold.

use crate::codes::Code;
use crate::description::Description;
use crate::layout::*;
use diagnostics::{Diagnostic, Report, Span};

pub fn check(description: &Description, report: &mut Report) {
    let vms: Vec<&Span> = description
        .processes
        .iter()
        .filter(|p| p.vm.is_some())
        .flat_map(|p| {
            std::iter::once(&p.name.span).chain(p.vm.iter().flat_map(|vm| vm.more_cpus.iter().map(|cpu| &cpu.span)))
        })
        .collect();
    let threads: Vec<&Span> = description
        .processes
        .iter()
        .flat_map(|p| std::iter::once(&p.name.span).chain(p.threads.iter().map(|thread| &thread.name.span)))
        .collect();
    let devices: Vec<&Span> = description.processes.iter().flat_map(|p| p.devices.iter().map(|d| &d.span)).collect();
    let notifications: Vec<&Span> =
        description.notifications.iter().map(|n| &n.name.span).chain(vms.iter().copied()).collect();
    let mut limit = |noun: &str, spans: Vec<&Span>, bound: u32| {
        if let Some(first_beyond) = spans.get(bound as usize) {
            let message = format!("{} {noun}, but the kernel holds {bound}", spans.len());
            let remedy = format!("use at most {bound}, or raise the bound in kernel/config.h");
            report.push(Diagnostic::new(Code::TooMany, message, remedy).at(
                &description.source,
                first_beyond,
                "the first too many",
            ));
        }
    };
    limit("processes", description.processes.iter().map(|o| &o.name.span).collect(), NUM_PROCESS);
    limit("virtual CPUs of virtual machines", vms, NUM_VM);
    limit("threads", threads, NUM_THREAD - NUM_CPU);
    limit("endpoints", description.endpoints.iter().map(|o| &o.name.span).collect(), NUM_ENDPOINT);
    limit("notifications, one of them for each virtual CPU", notifications, NUM_NOTIFICATION);
    limit("buffers", description.buffers.iter().map(|o| &o.name.span).collect(), NUM_BUFFER);
    limit("shares", description.shares.iter().map(|o| &o.name.span).collect(), NUM_SHARE);
    limit("devices", devices, NUM_DEVICE);
    limit("consoles beside the kernel's", description.consoles.iter().map(|o| &o.name.span).collect(), NUM_CONSOLE - 1);
    limit("interrupts", description.interrupts.iter().map(|o| &o.name.span).collect(), NUM_IRQ);
}
