//! `completions`: what a shell needs to complete the command line.

use crate::cli::{Arguments, CompletionsOptions};
use clap::CommandFactory;
use output::Failure;

pub fn completions(options: &CompletionsOptions) -> Result<(), Failure> {
    clap_complete::generate(options.shell, &mut Arguments::command(), "ashlar", &mut std::io::stdout());
    Ok(())
}
