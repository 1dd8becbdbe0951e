//! Guests that start by a firmware have no kernel, and something to start.

use crate::codes::Code;
use crate::description::Description;
use crate::read::Document;
use diagnostics::{Diagnostic, Report};

/// Keys that speak of a kernel.
const OF_KERNELS: [&str; 3] = ["kernel", "initrd", "cmdline"];

pub fn check(description: &Description, document: &Document, report: &mut Report) {
    for table in document.tables_of("vm") {
        let Some(firmware) = table.text("firmware") else { continue };
        let name = &table.name.value;
        for (key, value) in OF_KERNELS.iter().filter_map(|key| Some((key, table.text(key)?))) {
            let message = format!("`{name}` starts by a firmware, and has `{key}`");
            let remedy = "keep `firmware`, and have the kernel on the disk, or keep the other";
            let fault = Diagnostic::new(Code::GuestFirmware, message, remedy)
                .at(&description.source, &value.span, "of a guest without firmware")
                .at(&description.source, &firmware.span, "its firmware");
            report.push(fault);
        }
        if !table.has("disk") {
            let message = format!("the firmware of `{name}` has no disk to start from");
            let fault = Diagnostic::new(Code::GuestFirmware, message, "add `disk`, the process that drives it");
            report.push(fault.at(&description.source, &firmware.span, "starts what is on a disk"));
        }
    }
}
