use crate::cli::BenchOptions;
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
pub fn bench(_options: &BenchOptions, _project: &Project, _output: &Output) -> Result<(), Failure> {
    Err(Failure::unable("not built yet", ""))
}
