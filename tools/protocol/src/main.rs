//! The command line of driver protocols; the library does the work.

use clap::{Parser, Subcommand, ValueEnum};
use protocol::decompose::{choose, given, verify, Decomposition};
use protocol::sizes::{sizes, Sizes};
use protocol::{generate, Checked};
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "protocol", about = "Checks, measures and writes driver protocols", version)]
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
    /// Tell every fault of protocols, with file, line and the shortest run that leads there
    Check {
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// States, transitions and subprotocols, beside the paper's
    Sizes {
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// The subprotocols, or whether those of given alphabets are enough
    Decompose {
        file: PathBuf,
        /// Messages of one subprotocol, separated by commas; once for each
        #[arg(long, value_name = "MESSAGES")]
        alphabet: Vec<String>,
    },
    /// Inputs that an output of the driver forbids, though they may be on their way: to judge, not faults
    Crossings { file: PathBuf },
    /// Write the C header, the monitor's tables, JSON, the picture and the page of the manual
    Generate {
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Directory to write to
        #[arg(long, default_value = "build/protocols")]
        out: PathBuf,
        /// Write nothing; name the files that differ
        #[arg(long)]
        check: bool,
    },
    /// What a diagnostic means
    Explain { code: String },
}

type Outcome = Result<bool, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("protocol: {error}");
            ExitCode::from(2)
        }
    }
}

/// True if nothing was found.
fn run(cli: &Cli) -> Outcome {
    match &cli.command {
        Command::Check { files } => {
            let is_good = load(files, cli.format)?.is_some();
            if is_good && cli.format == Format::Json {
                println!("{}", json!({"diagnostics": []}));
            }
            Ok(is_good)
        }
        Command::Sizes { files } => {
            let Some(all) = load(files, cli.format)? else { return Ok(false) };
            let measured: Vec<Sizes> =
                all.iter().map(|checked| sizes(checked, &choose(&checked.flat.automaton))).collect();
            match cli.format {
                Format::Json => println!("{}", serde_json::to_string_pretty(&json!({"protocols": measured}))?),
                Format::Human => print!("{}", protocol::sizes::table(&measured)),
            }
            Ok(true)
        }
        Command::Decompose { file, alphabet } => {
            let Some(all) = load(std::slice::from_ref(file), cli.format)? else { return Ok(false) };
            all.iter().try_fold(true, |good, checked| Ok(good & decompose(cli.format, checked, alphabet)?))
        }
        Command::Crossings { file } => {
            let Some(all) = load(std::slice::from_ref(file), cli.format)? else { return Ok(false) };
            for crossing in all.iter().flat_map(|checked| protocol::crossing::crossings(&checked.flat.automaton)) {
                match cli.format {
                    Format::Json => println!("{}", serde_json::to_string(&crossing)?),
                    Format::Human => println!("{crossing}"),
                }
            }
            Ok(true)
        }
        Command::Generate { files, out, check } => {
            let Some(all) = load(files, cli.format)? else { return Ok(false) };
            generate_all(files, &all, out, *check)
        }
        Command::Explain { code } => {
            let wanted = code.to_ascii_uppercase();
            let known = protocol::codes::Code::ALL.iter().find(|code| code.name().ends_with(&wanted));
            let known = known.filter(|_| !wanted.is_empty()).ok_or_else(|| format!("there is no code `{code}`"))?;
            println!("{}: {}\n\n{}", known.name(), known.title(), known.explanation());
            Ok(true)
        }
    }
}

/// Loads every file and tells all faults of all; nothing if there was one.
fn load(files: &[PathBuf], format: Format) -> Result<Option<Vec<Checked>>, Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    let mut faults = Vec::new();
    for file in files {
        match protocol::load(file) {
            Ok(checked) => all.push(checked),
            Err(report) if format == Format::Human => {
                eprint!("{}", report.render(std::io::stderr().is_terminal()));
                faults.push(json!(null));
            }
            Err(report) => {
                let json = report.to_json();
                faults.extend(json["diagnostics"].as_array().cloned().unwrap_or_default());
            }
        }
    }
    if faults.is_empty() {
        return Ok(Some(all));
    }
    if format == Format::Json {
        println!("{}", serde_json::to_string_pretty(&json!({ "diagnostics": faults }))?);
    }
    Ok(None)
}

fn decompose(format: Format, checked: &Checked, alphabets: &[String]) -> Outcome {
    let automaton = &checked.flat.automaton;
    let decomposition: Decomposition = if alphabets.is_empty() {
        choose(automaton)
    } else {
        let named = alphabets.iter().map(|text| given::alphabet(automaton, text)).collect::<Result<Vec<_>, _>>()?;
        given::given(automaton, &named)
    };
    let failures = verify::verify(automaton, &decomposition);
    if format == Format::Json {
        let failures: Vec<_> =
            failures.iter().map(|one| json!({"message": one.message, "witness": one.witness})).collect();
        let value = generate::json::value(checked, &decomposition);
        let value = json!({"subprotocols": value["subprotocols"], "free": value["free"], "failures": failures});
        println!("{}", serde_json::to_string_pretty(&value)?);
        return Ok(failures.is_empty());
    }
    for part in &decomposition.subprotocols {
        let letters: Vec<String> = part.automaton.letters.iter().map(|letter| letter.label()).collect();
        let (states, transitions) = (part.automaton.states.len(), part.automaton.transitions());
        println!("{states} states {transitions} transitions  {}\n    {}", part.title(automaton), letters.join(" "));
    }
    for failure in &failures {
        eprintln!("{} [{}]", failure.message, protocol::codes::Code::Decomposition.name());
        eprintln!("    witness: {}", failure.witness.join(" "));
    }
    Ok(failures.is_empty())
}

/// Writes the files, or compares them.
fn generate_all(files: &[PathBuf], all: &[Checked], out: &Path, check: bool) -> Outcome {
    let mut is_good = true;
    for (path, checked) in std::iter::zip(files, all) {
        let decomposition = choose(&checked.flat.automaton);
        let failures = verify::verify(&checked.flat.automaton, &decomposition);
        if let Some(failure) = failures.first() {
            return Err(format!("the decomposition is wrong, a fault of this tool: {}", failure.message).into());
        }
        for file in generate::files(checked, &decomposition, &path.display().to_string()) {
            let path = out.join(&file.name);
            if std::fs::read_to_string(&path).is_ok_and(|text| text == file.text) {
                continue;
            }
            if check {
                eprintln!("{}: not what the protocol gives\n    remedy: run protocol generate", path.display());
                is_good = false;
                continue;
            }
            let failed = |error| format!("{} cannot be written: {error}", path.display());
            std::fs::create_dir_all(out).map_err(failed)?;
            std::fs::write(&path, file.text).map_err(failed)?;
        }
    }
    Ok(is_good)
}
