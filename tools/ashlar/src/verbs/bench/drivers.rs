//! `bench drivers`: messages between a client and a driver in counted instructions, those of both processes and of the
//! kernel, on one CPU.

use super::counted::{counted, Operation};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;

const OPERATIONS: [Operation; 4] = [
    Operation {
        name: "stream_256",
        about: "a message, 256 sent before any is awaited",
        reference: "Amani 750 cycles",
        aim: "300",
    },
    Operation { name: "stream_16", about: "a message, 16 sent before any is awaited", reference: "", aim: "" },
    Operation { name: "stream_1", about: "a message, awaited at once", reference: "", aim: "" },
    Operation { name: "round_trip", about: "a request and its answer", reference: "Amani 2,700 cycles", aim: "1500" },
];

pub fn drivers(project: &Project, output: &Output) -> Result<(), Failure> {
    counted("bench-drivers", &OPERATIONS, project, output)
}
