//! `bench drivers`: messages between clients and drivers in counted instructions, those of both processes and of the kernel;
//! frames in the same; and drivers of real devices against those of a stock Linux.

mod clients;
mod devices;
mod module;
mod packets;
mod parts;

use super::counted::{count_with, Operation};
use super::measured;
use crate::results::{BenchResult, Figure};
use crate::DriverPart;
use builder::KernelOptions;
use output::table::Table;
use output::{Failure, Output};
use parts::Counter;
use project::Project;
use std::collections::BTreeMap;

const OPERATIONS: [Operation; 8] = [
    Operation {
        name: "stream_256",
        about: "a message, 256 sent before any is awaited",
        reference: "Amani 750 cycles",
        aim: "100",
    },
    Operation { name: "stream_16", about: "a message, 16 sent before any is awaited", reference: "", aim: "" },
    Operation { name: "stream_1", about: "a message, awaited at once", reference: "", aim: "" },
    Operation { name: "round_trip", about: "a request and its answer", reference: "Amani 2,700 cycles", aim: "900" },
    Operation { name: "rust_stream_256", about: "256 sent, client and driver in Rust", reference: "", aim: "" },
    Operation { name: "rust_stream_16", about: "16 sent, in Rust", reference: "", aim: "" },
    Operation { name: "rust_stream_1", about: "awaited at once, in Rust", reference: "", aim: "" },
    Operation { name: "rust_round_trip", about: "a request and its answer, in Rust", reference: "", aim: "" },
];

pub fn drivers(part: Option<DriverPart>, project: &Project, output: &Output) -> Result<(), Failure> {
    let is_asked = |one: DriverPart| part.is_none_or(|part| part == one);
    let mut figures = BTreeMap::new();
    let mut verdict = Ok(());
    if is_asked(DriverPart::Messages) {
        verdict = messages(&mut figures, project, output);
    }
    if verdict.is_ok() && is_asked(DriverPart::Devices) {
        verdict = devices::devices(&mut figures, project, output);
    }
    if verdict.is_ok() && is_asked(DriverPart::Packets) {
        verdict = packets::packets(&mut figures, project, output);
    }
    // Only where it is named.
    if part == Some(DriverPart::Module) {
        verdict = module::module(&mut figures, project, output);
    }
    output.json(&BenchResult::Figures(figures));
    verdict
}

fn messages(figures: &mut BTreeMap<String, Figure>, project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(2 + clients::STEPS);
    progress.step("building bench-drivers");
    let built = measured::build("bench-drivers", &KernelOptions::default(), project, output)?;
    progress.step("counting instructions");
    let counter = Counter::new(project)?;
    let counts = count_with(&built, &OPERATIONS, &counter.arguments(), output)?;
    output.human(&counts.table.render());
    output.human(&counts.calibration());
    figures.extend(counts.figures.clone());
    counts.verdict()?;
    let program = |name: &str| project.build().join("user").join(format!("{name}.elf"));
    let parts = counter.parts(&program("bench_drivers"), &program("bench_drivers_server"))?;
    let mut table = Table::new(["instructions of a message", "client", "driver", "monitor", "kernel"]);
    for operation in &OPERATIONS {
        let Some(part) = parts.get(operation.name) else { continue };
        let numbers = [part.client, part.driver, part.monitor, part.kernel].map(|number| format!("{number:.1}"));
        table.row([operation.about.to_string()].into_iter().chain(numbers).collect());
        figures.insert(format!("{}_parts", operation.name), Figure::Parts(*part));
    }
    output.human(&table.render());
    clients::clients(figures, &progress, project, output)
}
