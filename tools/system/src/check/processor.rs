//! CPUs that exist.

use crate::codes::Code;
use crate::description::{Description, Machine};
use crate::layout::NUM_CPU;
use diagnostics::{Diagnostic, Report, Spanned};

pub fn check(description: &Description, machine: Option<&Machine>, report: &mut Report) {
    system_cpus(description, machine, report);
    // Without `cpus`, the machine and the kernel bound what processes may name.
    let of_machine = machine.and_then(|machine| machine.cpus.as_ref()).map_or(u64::MAX, |cpus| cpus.value);
    let (bound, whose) = match &description.cpus {
        Some(cpus) => (cpus.value, "the system"),
        None if of_machine <= u64::from(NUM_CPU) => (of_machine, "the machine"),
        None => (u64::from(NUM_CPU), "the kernel"),
    };
    for process in &description.processes {
        cpu_exists(description, &process.cpu, bound, whose, report);
        for thread in process.threads.iter().filter(|thread| thread.cpu.span != process.cpu.span) {
            cpu_exists(description, &thread.cpu, bound, whose, report);
        }
    }
    if description.processes.iter().any(|process| process.vm.is_some()) {
        virtualization(description, machine, report);
    }
}

/// CPUs the system needs: what it says, or one more than the highest it names.
pub fn cpus_needed(description: &Description) -> u64 {
    let named = description
        .processes
        .iter()
        .flat_map(|process| process.threads.iter().map(|thread| thread.cpu.value).chain([process.cpu.value]))
        .max()
        .unwrap_or(0);
    description.cpus.as_ref().map_or(named.saturating_add(1), |cpus| cpus.value)
}

fn system_cpus(description: &Description, machine: Option<&Machine>, report: &mut Report) {
    let Some(cpus) = &description.cpus else { return };
    let Some((machine, has)) = machine.and_then(|machine| Some((machine, machine.cpus.as_ref()?))) else { return };
    if cpus.value > has.value {
        let message = format!("{} CPUs, but the machine `{}` has {}", cpus.value, machine.name, has.value);
        let remedy = format!("use at most {}, or choose another machine", has.value);
        report.push(Diagnostic::new(Code::NoCpu, message, remedy).at(&description.source, &cpus.span, "too many").at(
            &machine.source,
            &has.span,
            "what it has",
        ));
    }
}

fn cpu_exists(description: &Description, cpu: &Spanned<u64>, bound: u64, whose: &str, report: &mut Report) {
    if cpu.value >= bound {
        let message = format!("there is no CPU {}: {whose} has {bound}, numbered from 0", cpu.value);
        let remedy = format!("choose a CPU from 0 to {}", bound.saturating_sub(1));
        report.push(Diagnostic::new(Code::NoCpu, message, remedy).at(&description.source, &cpu.span, "no such CPU"));
    }
}

fn virtualization(description: &Description, machine: Option<&Machine>, report: &mut Report) {
    let Some(machine) = machine.filter(|machine| !machine.virtualization) else { return };
    for process in description.processes.iter().filter(|process| process.vm.is_some()) {
        let message =
            format!("`{}` needs a machine that can run guests; `{}` cannot", process.name.value, machine.name);
        let remedy =
            "choose a machine whose file says virtualization = \"svm\" or \"vmx\", or remove the virtual machine";
        report.push(Diagnostic::new(Code::NoVirtualization, message, remedy).at(
            &description.source,
            &process.name.span,
            "a virtual machine",
        ));
    }
}
