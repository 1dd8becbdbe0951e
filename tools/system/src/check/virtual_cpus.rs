//! Virtual CPUs: each on a CPU of its own, said once.

use crate::codes::Code;
use crate::description::Description;
use crate::read::Document;
use diagnostics::{Diagnostic, Report};

pub fn check(description: &Description, document: &Document, report: &mut Report) {
    for table in document.tables_of("vm") {
        if let (Some(cpu), Some(first)) = (table.number("cpu"), table.numbers("cpus").first()) {
            let message = format!("`{}` says `cpu` and `cpus`", table.name.value);
            let fault =
                Diagnostic::new(Code::Duplicate, message, "keep `cpus`, which says where each virtual CPU runs");
            let source = &description.source;
            report.push(fault.at(source, &cpu.span, "its CPU").at(source, &first.span, "its CPUs"));
        }
    }
    for process in &description.processes {
        let Some(vm) = &process.vm else { continue };
        let mut before = vec![&process.cpu];
        for cpu in &vm.more_cpus {
            if let Some(first) = before.iter().find(|one| one.value == cpu.value) {
                let message = format!("two virtual CPUs of `{}` on CPU {}", process.name.value, cpu.value);
                let remedy =
                    "give each a CPU of its own: on one they only take turns, also when one waits for the other";
                let fault = Diagnostic::new(Code::Duplicate, message, remedy);
                let source = &description.source;
                report.push(fault.at(source, &cpu.span, "the second").at(source, &first.span, "the first"));
            }
            before.push(cpu);
        }
    }
}
