//! A machine whose parts do not overlap.

use crate::codes::Code;
use crate::description::machine::{Device, Line, Machine, Window};
use crate::layout::PAGE_SIZE;
use diagnostics::{Diagnostic, Report};

const LAST_PORT: u64 = 0xffff;

pub fn check(machine: &Machine, report: &mut Report) {
    let windows: Vec<(&Device, &Window)> =
        machine.devices.iter().filter_map(|device| Some((device, device.window.as_ref()?))).collect();
    for device in machine.devices.iter().filter(|device| device.window.is_none()) {
        let message = format!("device `{}` has neither `memory` nor `ports`", device.name.value);
        let remedy = "say where its registers are: memory = \"FIRST..LAST\" or ports = \"FIRST..LAST\"";
        let fault = Diagnostic::new(Code::MissingKey, message, remedy);
        report.push(fault.at(&machine.source, &device.name.span, "this device"));
    }
    for (index, (device, window)) in windows.iter().enumerate() {
        bounds(machine, device, window, report);
        for (other, other_window) in &windows[..index] {
            let (a, b) = (window.range.value, other_window.range.value);
            if window.ports == other_window.ports && a.0 <= b.1 && b.0 <= a.1 {
                let message = format!("devices `{}` and `{}` overlap", other.name.value, device.name.value);
                report.push(
                    Diagnostic::new(Code::Overlap, message, "correct one of the ranges (both ends are included)")
                        .at(&machine.source, &window.range.span, "the second")
                        .at(&machine.source, &other_window.range.span, "the first"),
                );
            }
        }
    }
    for (index, line) in machine.interrupts.iter().enumerate() {
        line_once(machine, line, &machine.interrupts[..index], report);
    }
}

fn bounds(machine: &Machine, device: &Device, window: &Window, report: &mut Report) {
    let (first, last) = window.range.value;
    let at = |code, message: String, remedy: &str| {
        Diagnostic::new(code, message, remedy).at(&machine.source, &window.range.span, "this range")
    };
    let name = &device.name.value;
    if window.ports {
        if last > LAST_PORT {
            report.push(at(Code::OutOfRange, format!("`{name}` has a port above 0xffff"), "ports end at 0xffff"));
        }
        return;
    }
    if first % PAGE_SIZE != 0 || last.wrapping_add(1) % PAGE_SIZE != 0 {
        let message = format!("the window of `{name}` does not consist of whole pages of 4096 bytes");
        report.push(at(Code::OutOfRange, message, "begin at a multiple of 0x1000 and end just before one"));
    }
    if first < machine.low_memory {
        let message = format!("the window of `{name}` overlaps the machine's memory");
        let remedy = "correct the range, or set `low_memory` to where the memory below 4 GiB ends";
        report.push(at(Code::Overlap, message, remedy));
    }
}

fn line_once(machine: &Machine, line: &Line, earlier: &[Line], report: &mut Report) {
    let Some(number) = &line.line else { return };
    let same = earlier.iter().filter_map(|other| other.line.as_ref()).find(|other| other.value == number.value);
    if let Some(first) = same {
        let message = format!("two interrupts have the line {}", number.value);
        report.push(
            Diagnostic::new(Code::Overlap, message, "give each its own line")
                .at(&machine.source, &number.span, "the second")
                .at(&machine.source, &first.span, "the first"),
        );
    }
}
