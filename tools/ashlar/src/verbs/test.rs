use crate::cli::TestOptions;
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
pub fn test(_options: &TestOptions, _project: &Project, _output: &Output) -> Result<(), Failure> {
    Err(Failure::unable("not built yet", ""))
}
