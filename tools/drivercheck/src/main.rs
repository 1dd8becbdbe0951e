//! The command line of the checker; the library does the work.

use clap::{Parser, Subcommand, ValueEnum};
use drivercheck::check::{prepare, run, Options, Row};
use drivercheck::component::Protocols;
use drivercheck::driver::{read, Source};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Parser)]
#[command(name = "drivercheck", about = "Checks drivers against their protocols", version)]
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
    /// Check one driver: all its files together
    Check {
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Protocol files; without any, those whose headers the driver includes
        #[arg(long)]
        protocol: Vec<PathBuf>,
        #[arg(long, default_value = "protocols")]
        protocols: PathBuf,
        #[arg(short = 'I', long)]
        include: Vec<PathBuf>,
        /// Where headers of protocols are generated
        #[arg(long, default_value = "build/drivercheck")]
        scratch: PathBuf,
        #[command(flatten)]
        flags: Flags,
    },
}

#[derive(clap::Args)]
struct Flags {
    /// Check whole protocols instead of subprotocols
    #[arg(long)]
    no_decomposition: bool,
    /// Begin without the predicates `state == s`
    #[arg(long)]
    no_key_predicates: bool,
    /// Leave branches behind an AWAIT as they are
    #[arg(long)]
    no_transformation: bool,
    /// Seconds for each check
    #[arg(long, default_value = "60")]
    limit: u64,
    /// Only these rules
    #[arg(long)]
    rule: Vec<u8>,
}

impl Flags {
    fn options(&self) -> Options {
        Options {
            decompose: !self.no_decomposition,
            seed: !self.no_key_predicates,
            transform: !self.no_transformation,
            limit: Duration::from_secs(self.limit),
            rules: self.rule.clone(),
        }
    }
}

type Outcome = Result<u8, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Parsing and lowering recurse with the nesting of the C program.
    const STACK: usize = 256 << 20;
    let work = move || run_command(&cli).map_err(|error| error.to_string());
    let answer = std::thread::Builder::new().stack_size(STACK).spawn(work).map(|thread| thread.join());
    match answer {
        Ok(Ok(Ok(code))) => ExitCode::from(code),
        Ok(Ok(Err(error))) => {
            eprintln!("drivercheck: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::from(2),
    }
}

fn run_command(cli: &Cli) -> Outcome {
    match &cli.command {
        Command::Check { files, protocol, protocols, include, scratch, flags } => {
            let source = Source {
                files: files.clone(),
                protocols: protocol.clone(),
                protocol_dir: protocols.clone(),
                include: include.clone(),
                scratch: scratch.clone(),
            };
            let options = flags.options();
            let driver = read(&source)?;
            eprintln!("{} nodes, {} edges", driver.program.nodes, driver.program.edges.len());
            let program = prepare(&driver, &options);
            let parts = Protocols::new(driver.protocols.clone(), options.decompose);
            eprintln!("{} nodes, {} edges, {} variables", program.nodes, program.edges.len(), program.vars.len());
            let rows = run(&driver, &program, &parts, &options, &mut |row| tell(cli.format, row))?;
            if cli.format == Format::Json {
                println!("{}", serde_json::to_string_pretty(&json!({ "results": rows }))?);
            }
            Ok(u8::from(rows.iter().any(|row| row.verdict != "PROVED")))
        }
    }
}

fn tell(format: Format, row: &Row) {
    if format == Format::Json {
        return;
    }
    println!(
        "{:<9} rule {} {:<10} {:<10} {:<40} {:6.2} s {:5.0} MiB {:3} predicates {:3} refinements {:7} states",
        row.verdict,
        row.rule,
        row.driver,
        row.protocol,
        row.subprotocol,
        row.seconds,
        row.memory_mb,
        row.predicates,
        row.refinements,
        row.states
    );
    if let Some(reason) = &row.reason {
        println!("  {reason}");
    }
    if let Some(trace) = &row.trace {
        println!("{trace}");
    }
}
