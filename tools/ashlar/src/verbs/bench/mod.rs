//! `bench`: benchmarks, whose results are a table or one JSON object.

mod counted;
mod drivers;
mod guests;
mod ipc;
mod locks;
mod measured;
mod scaling;
mod start;
pub mod table;
mod timing;

use crate::cli::{BenchOptions, BenchVerb};
use crate::failure::Failure;
use crate::output::Output;
use project::Project;

pub fn bench(options: &BenchOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    match options.what {
        BenchVerb::Ipc => ipc::ipc(project, output),
        BenchVerb::Locks => locks::locks(project, output),
        BenchVerb::Scaling => scaling::scaling(project, output),
        BenchVerb::Start => start::start(project, output),
        BenchVerb::Drivers { part } => drivers::drivers(part, project, output),
        BenchVerb::Guests => guests::guests(project, output),
        BenchVerb::Timing => timing::timing(project, output),
    }
}
