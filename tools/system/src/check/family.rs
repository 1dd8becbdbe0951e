//! Parents and children: a tree, with somebody to start it.

use crate::codes::Code;
use crate::description::{Description, Process};
use diagnostics::{Diagnostic, Report};

pub fn check(description: &Description, report: &mut Report) {
    for process in &description.processes {
        ancestors(description, process, report);
        needs_parent(description, process, report);
        needs_program(description, process, report);
        starts_after_parent(description, process, report);
        needs_kernel(description, process, report);
    }
    // In a tree the root starts at boot, unless another fault says otherwise.
    if description.processes.is_empty() {
        let message = "the system has no process";
        let remedy = "add a [process.NAME] or a [vm.NAME]";
        let fault = Diagnostic::new(Code::NothingStarts, message, remedy);
        report.push(fault.at(&description.source, &description.span, "this system"));
    }
}

fn ancestors(description: &Description, process: &Process, report: &mut Report) {
    let Some(parent) = &process.parent else { return };
    let mut here = Some(parent.value.as_str());
    for _ in 0..=description.processes.len() {
        match here {
            Some(name) if name == process.name.value => {
                let message = format!("`{}` is its own ancestor", process.name.value);
                let remedy = "take `parent` out of one process of the circle";
                report.push(Diagnostic::new(Code::OwnAncestor, message, remedy).at(
                    &description.source,
                    &parent.span,
                    "leads back to it",
                ));
                return;
            }
            Some(name) => here = description.process(name).and_then(|up| Some(up.parent.as_ref()?.value.as_str())),
            None => return,
        }
    }
}

fn needs_parent(description: &Description, process: &Process, report: &mut Report) {
    if process.parent.is_some() {
        return;
    }
    let by_parent = process.start.as_ref().filter(|start| start.value == "parent");
    for key in by_parent.into_iter().chain(&process.on_death) {
        let message = format!("`{}` has no parent", process.name.value);
        let remedy = "name its parent: parent = \"...\"";
        report.push(Diagnostic::new(Code::NoParent, message, remedy).at(
            &description.source,
            &key.span,
            "speaks of the parent",
        ));
    }
}

/// The default monitor boots a kernel; only another one may bring its guest along.
fn needs_kernel(description: &Description, process: &Process, report: &mut Report) {
    let default_monitor = process.program.as_ref().is_some_and(|program| program.span == process.name.span);
    if default_monitor && process.vm.as_ref().is_some_and(|vm| vm.kernel.is_none()) {
        let message = format!("virtual machine `{}` has no `kernel`", process.name.value);
        let remedy = "add kernel = \"...\"";
        let fault = Diagnostic::new(Code::MissingKey, message, remedy);
        report.push(fault.at(&description.source, &process.name.span, "in this table"));
    }
}

/// A process without a program is loaded by its parent, so somebody must start it.
fn needs_program(description: &Description, process: &Process, report: &mut Report) {
    if process.loaded_by_parent && process.starts_at_boot() {
        let message = format!("process `{}` starts at boot, but has no `program`", process.name.value);
        let remedy = "add program = \"...\", or a parent that loads one";
        let fault = Diagnostic::new(Code::MissingKey, message, remedy);
        report.push(fault.at(&description.source, &process.name.span, "in this table"));
    }
}

fn starts_after_parent(description: &Description, process: &Process, report: &mut Report) {
    let Some(name) = process.parent.as_ref().filter(|_| process.starts_at_boot()) else { return };
    if description.process(&name.value).is_some_and(|parent| !parent.starts_at_boot()) {
        let message = format!("`{}` starts at boot, but its parent `{}` does not", process.name.value, name.value);
        let remedy = "start the parent at boot too, or give this one `start = \"parent\"`";
        let fault = Diagnostic::new(Code::BeforeParent, message, remedy);
        report.push(fault.at(&description.source, &name.span, "is not there yet at boot"));
    }
}
