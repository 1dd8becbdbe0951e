//! `bench`: benchmarks, whose results are a table or one JSON object.

mod counted;
mod drivers;
mod guest_cpus;
mod guests;
mod ipc;
mod linux;
mod locks;
mod measured;
mod options;
mod results;
mod scaling;
mod start;
mod timing;
mod trace;

pub use options::{BenchOptions, BenchVerb, DriverPart, GuestPart};
use output::{Failure, Output};
use project::Project;
pub use results::BenchResult;

/// To three digits behind the point, as results are printed.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

pub fn bench(options: &BenchOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    match options.what {
        BenchVerb::Ipc => ipc::ipc(project, output),
        BenchVerb::Trace => trace::trace(project, output),
        BenchVerb::Locks => locks::locks(project, output),
        BenchVerb::Scaling => scaling::scaling(project, output),
        BenchVerb::Start => start::start(project, output),
        BenchVerb::Drivers { part } => drivers::drivers(part, project, output),
        BenchVerb::Guests { part, kvm } => guests::guests(part, kvm, project, output),
        BenchVerb::GuestCpus => guest_cpus::guest_cpus(project, output),
        BenchVerb::Timing => timing::timing(project, output),
    }
}
