//! The command line: writes the generated files, or compares them with the tree.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use interfaces::{generate, Error, Generated};

#[derive(Parser)]
#[command(name = "interfaces", version)]
#[command(
    about = "Writes what kernel/syscalls.toml and kernel/boot_table.toml give: headers, dispatcher, stubs, records, page"
)]
struct Cli {
    /// Top folder of the tree
    #[arg(long, default_value = ".")]
    root: PathBuf,
    /// Write nothing; name the files that differ
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(code) => code,
        Err(Error::Faults(report)) => {
            eprint!("{}", report.render(diagnostics::Style::stderr()));
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("interfaces: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode, Error> {
    let mut stale = false;
    for Generated { path, text } in generate(&cli.root)? {
        let place = cli.root.join(&path);
        // Files that stay the same keep their time, so that nothing is built again.
        if std::fs::read_to_string(&place).is_ok_and(|old| old == text) {
            continue;
        }
        if cli.check {
            eprintln!(
                "{}: this file is not what kernel/*.toml give\n    remedy: make -C kernel interfaces",
                path.display()
            );
            stale = true;
        } else {
            std::fs::write(&place, text).map_err(|error| Error::Write { path: place, error })?;
        }
    }
    Ok(if stale { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
