//! The command line of Ashlar: each verb parses its options, calls the crate that does the work, and prints the result.

mod cli;
mod results;
mod verbs;

use clap::Parser;
use cli::{Arguments, Verb};
use output::{Failure, Output};
use project::Project;
use std::process::ExitCode;

fn main() -> ExitCode {
    if guardian::is_guardian() {
        return ExitCode::SUCCESS;
    }
    let arguments = match Arguments::try_parse_from(cli::separated(std::env::args_os())) {
        Ok(arguments) => arguments,
        Err(error) => cli::end(&error),
    };
    let output = Output::new(arguments.format, arguments.verbose, arguments.quiet);
    match dispatch(&arguments, &output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.status())
        }
    }
}

fn dispatch(arguments: &Arguments, output: &Output) -> Result<(), Failure> {
    let verb = &arguments.verb;
    match verb {
        Verb::New(options) => return verbs::new::new(options, output),
        Verb::Explain(options) => return verbs::explain::explain(options, output),
        Verb::Completions(options) => return verbs::completions::completions(options),
        Verb::Man(options) => return verbs::man::man(options, output),
        Verb::Schema(options) => return verbs::schema::schema(options, output),
        _ => {}
    }
    let project = Project::find()?;
    if project.is_distribution() {
        verbs::dist::needs_no_sources(verb, &project)?;
    }
    guardian::start().map_err(|error| {
        Failure::unable(format!("the process that ends others cannot be started: {error}"), "mount /proc")
    })?;
    // These are about Ashlar's tree, wherever the user is.
    let tree = Project::at(project.root());
    match verb {
        Verb::Doctor => verbs::doctor::doctor(&tree, output),
        Verb::Check(options) => verbs::check::check(options, &project, output),
        Verb::Build(options) => verbs::build::build(options, &project, output),
        Verb::Run(options) => verbs::run::run(options, &project, output),
        Verb::Debug(options) => verbs::debug::debug(options, &project, output),
        Verb::Trace(options) => verbs::trace::trace(options, &project, output),
        Verb::Image(options) => verbs::image::image(options, &project, output),
        Verb::Prove(options) => verbs::prove::prove(options, &tree, output),
        Verb::Drivers(options) => verbs::drivers::drivers(options, arguments.format, &project, output),
        Verb::Timing(options) => verbs::timing::timing(options, &project, output),
        Verb::Bench(options) => bench::bench(options, &tree, output),
        Verb::Book(options) => verbs::book::book(options, &tree, output),
        Verb::Campaign(options) => verbs::campaign::campaign(options, &tree, output),
        Verb::Report(options) => verbs::report::report(options, output),
        Verb::Test(options) => verbs::test::test(options, &project, output),
        Verb::Dist(options) => verbs::dist::dist(options, &tree, output),
        // These need no source tree.
        Verb::New(_) | Verb::Explain(_) | Verb::Completions(_) | Verb::Man(_) | Verb::Schema(_) => Ok(()),
    }
}
