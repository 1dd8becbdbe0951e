//! Parents and children: a tree in which every process is started.

use crate::codes::Code;
use crate::description::{Description, Process};
use diagnostics::{Diagnostic, Report};

pub fn check(description: &Description, report: &mut Report) {
    for process in &description.processes {
        ancestors(description, process, report);
        needs_parent(description, process, report);
        restarts_are_heard_of(description, process, report);
        needs_program(description, process, report);
        starts_after_parent(description, process, report);
        needs_kernel(description, process, report);
    }
    // In a tree the root starts at boot, unless another fault says otherwise.
    if description.processes.is_empty() && !description.has_lost_tables {
        let message = "the system has no process";
        let remedy = "add a [process.NAME] or a [vm.NAME]";
        let fault = Diagnostic::new(Code::NothingStarts, message, remedy);
        report.push(fault.at(&description.source, &description.span, "this system"));
    }
}

/// A circle of parents is one fault, reported at the process of it that stands first.
fn ancestors(description: &Description, process: &Process, report: &mut Report) {
    let mut circle = vec![process];
    loop {
        let last = circle[circle.len() - 1];
        let Some(parent) = last.parent.as_ref().and_then(|parent| description.process(&parent.value)) else { return };
        if parent.name == process.name {
            break;
        }
        // It leads to a circle that it is not in, or in which another process stands first.
        if circle.iter().any(|before| before.name == parent.name) || parent.name.span.start < process.name.span.start {
            return;
        }
        circle.push(parent);
    }
    let names: Vec<&str> = circle.iter().chain([&process]).map(|one| one.name.value.as_str()).collect();
    let message = format!("`{}` is its own ancestor: {}", process.name.value, names.join(" -> "));
    let remedy = "remove `parent` from one of them";
    let keys = circle.iter().filter_map(|one| Some((one, one.parent.as_ref()?)));
    let fault = Diagnostic::new(Code::OwnAncestor, message, remedy);
    report.push(keys.fold(fault, |fault, (one, parent)| {
        fault.at(&description.source, &parent.span, format!("parent of `{}`", one.name.value))
    }));
}

fn needs_parent(description: &Description, process: &Process, report: &mut Report) {
    if process.parent.is_some() {
        return;
    }
    let by_parent = process.start.as_ref().filter(|start| start.value == "parent");
    for key in by_parent.into_iter().chain(&process.on_death).chain(process.restart.wanted()) {
        let message = format!("`{}` has no parent", process.name.value);
        let remedy = "add `parent`, the name of the process that creates it";
        report.push(Diagnostic::new(Code::NoParent, message, remedy).at(
            &description.source,
            &key.span,
            "speaks of the parent",
        ));
    }
}

/// Who is to start a process again must hear of its end; and limits are those of a policy.
fn restarts_are_heard_of(description: &Description, process: &Process, report: &mut Report) {
    let name = &process.name.value;
    if let (Some(policy), Some(parent), false) = (process.restart.wanted(), &process.parent, process.has("on_death")) {
        let message = format!("`{}` does not hear of the end of `{name}`, which it is to start again", parent.value);
        let remedy = format!("add `on_death`, the name of a notification with waiter = \"{}\"", parent.value);
        let fault = Diagnostic::new(Code::Restart, message, remedy);
        report.push(fault.at(&description.source, &policy.span, "to be started again"));
    }
    let limits = process.has("restart_limit") || process.has("restart_within");
    if limits && process.restart.wanted().is_none() && !(process.has("restart") && process.restart.policy.is_none()) {
        let message = format!("`{name}` has a limit of restarts, but is never started again");
        let remedy = "add restart = \"on-failure\" or restart = \"always\", or leave the limit out";
        let fault = Diagnostic::new(Code::Restart, message, remedy);
        report.push(fault.at(&description.source, &process.name.span, "in this table"));
    }
}

/// The default monitor boots a kernel; only another one may bring its guest along.
fn needs_kernel(description: &Description, process: &Process, report: &mut Report) {
    let default_monitor = process.program.as_ref().is_some_and(|program| program.span == process.name.span);
    if default_monitor && process.vm.is_some() && !process.has("kernel") && !process.has("firmware") {
        let message = format!("virtual machine `{}` has no `kernel`", process.name.value);
        let remedy = "add `kernel`, a guest file such as kernel = \"debian-cloud\", or a path; or `firmware`";
        let fault = Diagnostic::new(Code::MissingKey, message, remedy);
        report.push(fault.at(&description.source, &process.name.span, "in this table"));
    }
}

/// A process without a program is loaded by its parent, so it cannot start at boot.
fn needs_program(description: &Description, process: &Process, report: &mut Report) {
    if process.loaded_by_parent && process.starts_at_boot() {
        let message = format!("process `{}` starts at boot, but has no `program`", process.name.value);
        let remedy = "add `program`, such as program = \"hello\", or a parent that loads one";
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
