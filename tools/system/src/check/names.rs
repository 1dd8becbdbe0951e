//! Names: every one that is used exists, and none means two things.

use super::KERNEL_CONSOLE;
use crate::codes::Code;
use crate::description::{Description, Machine, Name};
use crate::read::{is_name, Document, Field, TableData};
use crate::schema::{Kind, Object};
use crate::threads::FIRST_THREAD;
use crate::Assets;
use diagnostics::{suggest, Diagnostic, Report};
use std::collections::HashMap;

pub fn check(
    description: &Description,
    machine: Option<&Machine>,
    document: &Document,
    assets: &Assets,
    report: &mut Report,
) {
    let known = Known { description, machine, assets };
    for table in &document.tables {
        references(&known, table, report);
    }
    monitors(&known, report);
    machine_interrupts(&known, report);
    processes_once(description, report);
    reserved_console(description, report);
    reserved_threads(description, report);
    file_name(description, report);
}

/// What names there are.
struct Known<'a> {
    description: &'a Description,
    machine: Option<&'a Machine>,
    assets: &'a Assets,
}

impl<'a> Known<'a> {
    /// All names of a kind of object; nothing if that cannot be known.
    fn names(&self, object: Object) -> Option<Vec<&'a str>> {
        fn of<'a>(names: impl Iterator<Item = &'a Name>) -> Option<Vec<&'a str>> {
            Some(names.map(|name| name.value.as_str()).collect())
        }
        let all = self.description;
        match object {
            Object::Process => of(all.processes.iter().map(|object| &object.name)),
            Object::Endpoint => of(all.endpoints.iter().map(|object| &object.name)),
            Object::Notification => of(all.notifications.iter().map(|object| &object.name)),
            Object::Console => {
                let mut names = of(all.consoles.iter().map(|object| &object.name))?;
                names.push(KERNEL_CONSOLE);
                Some(names)
            }
            Object::Device => of(self.machine?.devices.iter().map(|object| &object.name)),
            Object::Interrupt => of(self.machine?.interrupts.iter().map(|object| &object.name)),
            Object::Program => Some(self.assets.programs.keys().map(String::as_str).collect()),
            // Files may be paths: `file` looks them up.
            Object::File => None,
        }
    }

    /// Names that the kernel keeps for itself are not suggested.
    fn is_kernels(&self, object: Object, name: &str) -> bool {
        let Some(machine) = self.machine else { return name == KERNEL_CONSOLE };
        match object {
            Object::Console => name == KERNEL_CONSOLE,
            Object::Device => machine.devices.iter().any(|it| it.kernel.is_some() && it.name.value == name),
            Object::Interrupt => machine.interrupts.iter().any(|it| it.kernel.is_some() && it.name.value == name),
            _ => false,
        }
    }

    fn require(&self, object: Object, name: &Name, report: &mut Report) {
        let Some(names) = self.names(object) else { return };
        if names.contains(&name.value.as_str()) {
            return;
        }
        let noun = object.noun();
        let names: Vec<&str> = names.into_iter().filter(|name| !self.is_kernels(object, name)).collect();
        let code = if object == Object::Program { Code::UnknownProgram } else { Code::UnknownName };
        let message = format!("there is no {noun} named `{}`", name.value);
        let remedy = remedy(object, &name.value, names);
        let source = &self.description.source;
        report.push(Diagnostic::new(code, message, remedy).at(source, &name.span, format!("no such {noun}")));
    }
}

/// What to write instead of a name that nothing has.
fn remedy(object: Object, wanted: &str, mut known: Vec<&str>) -> String {
    // A program's name is often written as its file's.
    let stem = wanted.rsplit('/').next().unwrap_or(wanted);
    let stem = stem.split('.').next().unwrap_or(stem);
    if let Some(near) = suggest::nearest(stem, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    known.sort_unstable();
    let list = known.join(", ");
    match object {
        Object::Program => {
            "name a program of user/apps, user/drivers or user/vmm, without folder and ending, or one of ashlar.toml"
                .into()
        }
        Object::Device | Object::Interrupt => format!("the machine has: {list}"),
        _ if known.is_empty() => format!("add a table [{}.{wanted}]", object.noun()),
        _ => format!("add a table [{}.{wanted}], or choose one of: {list}", object.noun()),
    }
}

/// Every key of `table` whose kind is the name of an object.
fn references(known: &Known, table: &TableData, report: &mut Report) {
    for (key, field) in &table.fields {
        let Some(spec) = table.spec.all_keys().find(|spec| spec.name == *key) else { continue };
        match (spec.kind, field) {
            (Kind::Name(object), Field::Text(name)) => known.require(object, name, report),
            (Kind::Names(object), Field::Names(names)) => {
                for name in names {
                    known.require(object, name, report);
                }
            }
            (_, Field::Tables(tables)) => {
                for inner in tables {
                    references(known, inner, report);
                }
            }
            _ => {}
        }
        if *key == "as" {
            alias(known, field, report);
        }
    }
}

fn alias(known: &Known, field: &Field, report: &mut Report) {
    match field {
        Field::Text(text) if !is_name(&text.value) => {
            let message = format!("`{}` cannot be a name", text.value);
            let remedy = "use small letters, digits, `_` and `-`, beginning with a letter, at most 31";
            let source = &known.description.source;
            report.push(Diagnostic::new(Code::BadName, message, remedy).at(source, &text.span, "this name"));
        }
        _ => {}
    }
}

/// A virtual machine without `monitor` runs the default one, which must exist too.
fn monitors(known: &Known, report: &mut Report) {
    for process in known.description.processes.iter().filter(|process| process.vm.is_some()) {
        match &process.program {
            Some(program) if program.span == process.name.span => known.require(Object::Program, program, report),
            _ => {}
        }
    }
}

fn machine_interrupts(known: &Known, report: &mut Report) {
    for interrupt in &known.description.interrupts {
        known.require(Object::Interrupt, &interrupt.name, report);
    }
}

fn processes_once(description: &Description, report: &mut Report) {
    let mut seen: HashMap<&str, &Name> = HashMap::new();
    for process in &description.processes {
        let name = &process.name;
        if let Some(first) = seen.insert(&name.value, name) {
            let message = format!("two processes are named `{}`", name.value);
            let remedy = "rename one: a virtual machine is the process of its monitor";
            report.push(
                Diagnostic::new(Code::Duplicate, message, remedy).at(&description.source, &name.span, "the second").at(
                    &description.source,
                    &first.span,
                    "the first",
                ),
            );
        }
    }
}

fn reserved_console(description: &Description, report: &mut Report) {
    for console in description.consoles.iter().filter(|console| console.name.value == KERNEL_CONSOLE) {
        let message = "the console `kernel` is the kernel's own";
        let remedy = "choose another name; the kernel's console needs no table";
        report.push(Diagnostic::new(Code::BadName, message, remedy).at(
            &description.source,
            &console.name.span,
            "this name",
        ));
    }
}

/// A process's first thread has no table of its own, so one that is written for it makes another thread.
fn reserved_threads(description: &Description, report: &mut Report) {
    for process in &description.processes {
        for thread in process.threads.iter().filter(|thread| thread.name.value == FIRST_THREAD) {
            let message =
                format!("`{FIRST_THREAD}` is the first thread of `{}`, which is there already", process.name.value);
            let remedy = format!(
                "write its keys in [process.{}], or choose another name for a further thread",
                process.name.value
            );
            report.push(Diagnostic::new(Code::BadName, message, remedy).at(
                &description.source,
                &thread.name.span,
                "this name",
            ));
        }
    }
}

/// The file's name becomes the system's.
fn file_name(description: &Description, report: &mut Report) {
    if !is_name(&description.name) {
        let message = format!("the file's name, `{}`, cannot be the name of a system", description.name);
        let remedy = "rename the file: small letters, digits, `_` and `-`, beginning with a letter, at most 31";
        report.push(Diagnostic::new(Code::BadName, message, remedy).at(&description.source, &(0..0), "this file"));
    }
}
