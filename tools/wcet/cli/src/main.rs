//! `ashlar timing`: bounds the time of a program on a machine.

mod bound;
mod closed;
mod flow;
mod graph;
mod kernel;
mod kernel_report;
mod observe;
mod page;
mod promises;
mod response_report;

use std::process::ExitCode;

use clap::Parser;
use wcet_report::arguments::{Arguments, Verb};

/// Graphs and values are made of many small parts, each worker its own: a fifth of the time went into the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let status = match &arguments.verb {
        Some(Verb::Loops(options)) => bound::loops(options),
        Some(Verb::Flow(options)) => flow::flow(options),
        Some(Verb::Observe(options)) => observe::observe(options),
        None if arguments.bound.system.is_some() => kernel::fail("--system is for `ashlar timing`"),
        None if arguments.bound.kernel => kernel::kernel(&arguments.bound),
        None => bound::bound(&arguments.bound),
    };
    ExitCode::from(status)
}
