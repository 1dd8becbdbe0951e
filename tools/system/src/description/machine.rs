//! A machine description as typed data.

use super::Name;
use crate::layout::{GIB, NUM_FRAME, PAGE_SIZE};
use crate::read::{Document, TableData};
use diagnostics::{Source, Span, Spanned};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct Machine {
    pub source: Arc<Source>,
    pub name: String,
    pub cpus: Option<Spanned<u64>>,
    pub memory: Option<Spanned<u64>>,
    /// The part of the memory that begins at address 0.
    pub low_memory: u64,
    pub virtualization: bool,
    /// It has an IOMMU.
    pub iommu: bool,
    /// Names of mitigations that its processors have.
    pub mitigations: Vec<Name>,
    pub emulator: Option<Emulator>,
    pub devices: Vec<Device>,
    pub interrupts: Vec<Line>,
}

#[derive(Debug, Clone)]
pub struct Emulator {
    pub command: String,
    pub arguments: Vec<String>,
    /// `NAME=VALUE`.
    pub environment: Vec<String>,
    pub terminal: bool,
    pub packages: Vec<String>,
    /// Bytes of the disk image it needs.
    pub disk: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct Device {
    pub name: Name,
    pub window: Option<Window>,
    /// The PCI function it belongs to.
    pub function: Option<Spanned<u64>>,
    pub kernel: Option<Span>,
}

#[derive(Debug, Clone)]
pub struct Window {
    pub ports: bool,
    /// First and last address or port.
    pub range: Spanned<(u64, u64)>,
}

#[derive(Debug, Clone)]
pub struct Line {
    pub name: Name,
    pub line: Option<Spanned<u64>>,
    pub level: bool,
    pub low: bool,
    pub function: Option<Spanned<u64>>,
    pub kernel: Option<Span>,
}

impl Machine {
    /// Memory that the kernel can use. Where processes do DMA, that is what lies below 4 GiB, because devices may reach no
    /// other.
    pub fn usable_memory(&self, dma: bool) -> Option<u64> {
        let all = self.memory.as_ref()?.value;
        let low = all.min(self.low_memory).min(4 * GIB);
        let high = (all - low).min(NUM_FRAME * PAGE_SIZE - 4 * GIB);
        Some(if dma { low } else { low + high })
    }
}

/// The machine in `document`, with defaults filled in.
pub fn build(document: &Document, name: &str) -> Machine {
    let table = document.tables_of("machine").next();
    let number = |key| table.and_then(|table| table.number(key)).cloned();
    let memory = number("memory");
    let low_memory = number("low_memory").or_else(|| memory.clone()).map_or(4 * GIB, |size| size.value);
    Machine {
        source: document.source.clone(),
        name: name.to_string(),
        cpus: number("cpus"),
        low_memory,
        memory,
        virtualization: table.and_then(|table| table.text("virtualization")).is_some_and(|text| text.value != "none"),
        iommu: table.and_then(|table| table.text("iommu")).is_some_and(|text| text.value != "none"),
        mitigations: table.map_or_else(Vec::new, |table| table.names("mitigations").to_vec()),
        emulator: document.tables_of("emulator").next().and_then(emulator),
        devices: document.tables_of("device").map(device).collect(),
        interrupts: document.tables_of("interrupt").map(line).collect(),
    }
}

fn emulator(table: &TableData) -> Option<Emulator> {
    let texts = |key| table.names(key).iter().map(|text| text.value.clone()).collect();
    Some(Emulator {
        command: table.text("command")?.value.clone(),
        arguments: texts("arguments"),
        environment: texts("environment"),
        terminal: table.flag("terminal"),
        packages: texts("packages"),
        disk: table.number("disk").map(|size| size.value),
    })
}

fn device(table: &TableData) -> Device {
    let window = |ports, range: &Spanned<_>| Window { ports, range: range.clone() };
    let memory = table.range("memory").map(|range| window(false, range));
    Device {
        name: table.name.clone(),
        window: memory.or_else(|| table.range("ports").map(|range| window(true, range))),
        function: table.number("function").cloned(),
        kernel: table.flag_span("kernel").cloned(),
    }
}

fn line(table: &TableData) -> Line {
    Line {
        name: table.name.clone(),
        line: table.number("line").cloned(),
        level: table.text("trigger").is_some_and(|text| text.value == "level"),
        low: table.text("polarity").is_some_and(|text| text.value == "low"),
        function: table.number("function").cloned(),
        kernel: table.flag_span("kernel").cloned(),
    }
}
