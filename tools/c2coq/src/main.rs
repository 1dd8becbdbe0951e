//! The command line of the subset checker; the library does the work.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

#[derive(Parser)]
#[command(name = "c2coq", about = "Checks the kernel's C subset, layer order and system-call table", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Output for people or for programs
    #[arg(long, value_enum, default_value = "human", global = true)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
}

#[derive(Subcommand)]
enum Command {
    /// Refuse, with place, rule and remedy, whatever the C subset excludes
    Check {
        /// Certified sources; their headers are checked with them
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Directory searched for headers, after the including file's own
        #[arg(short = 'I', value_name = "DIR")]
        include: Vec<PathBuf>,
        /// Build constant, as for the C compiler
        #[arg(short = 'D', value_name = "NAME[=VALUE]")]
        define: Vec<String>,
        /// Layer order; found beside the layers by default
        #[arg(long)]
        order: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("c2coq: {error}");
            ExitCode::from(2)
        }
    }
}

/// True if nothing was found.
fn run(cli: &Cli) -> Result<bool, Box<dyn std::error::Error>> {
    match &cli.command {
        Command::Check { files, include, define, order } => {
            let order = order.as_deref().map(c2coq::read_order).transpose()?;
            let defines = define.iter().map(|text| match text.split_once('=') {
                Some((name, value)) => (name.to_string(), value.to_string()),
                None => (text.clone(), "1".to_string()),
            });
            let options = c2coq::Options { defines: defines.collect(), include_dirs: include.clone(), order };
            let checked = c2coq::check(files, &options)?;
            if cli.format == Format::Json {
                println!("{}", c2coq::report::json(&checked.sources, &checked.faults, files.len())?);
            } else if !checked.faults.is_empty() {
                let colour = std::io::stderr().is_terminal();
                eprint!("{}", c2coq::report::human(&checked.sources, &checked.faults, colour));
                eprintln!("{} faults in {} files", checked.faults.len(), files.len());
            }
            Ok(checked.faults.is_empty())
        }
    }
}
