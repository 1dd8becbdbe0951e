//! `bench drivers`: messages between clients and drivers in counted instructions, those of both processes and of the kernel;
//! and drivers of real devices against those of a stock Linux.

mod clients;
mod devices;
mod module;

use super::counted::{count, Operation};
use super::measured;
use crate::results::{BenchResult, Figure};
use crate::DriverPart;
use builder::KernelOptions;
use output::{Failure, Output};
use project::Project;
use std::collections::BTreeMap;

const OPERATIONS: [Operation; 8] = [
    Operation {
        name: "stream_256",
        about: "a message, 256 sent before any is awaited",
        reference: "Amani 750 cycles",
        aim: "300",
    },
    Operation { name: "stream_16", about: "a message, 16 sent before any is awaited", reference: "", aim: "" },
    Operation { name: "stream_1", about: "a message, awaited at once", reference: "", aim: "" },
    Operation { name: "round_trip", about: "a request and its answer", reference: "Amani 2,700 cycles", aim: "1500" },
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
    let counts = count(&built, &OPERATIONS, output)?;
    output.human(&counts.table.render());
    output.human(&counts.calibration());
    figures.extend(counts.figures.clone());
    counts.verdict()?;
    clients::clients(figures, &progress, project, output)
}
