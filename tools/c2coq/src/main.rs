//! The command line of c2coq.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use c2coq::{Checked, Options};
use clap::{Parser, Subcommand, ValueEnum};

#[derive(Parser)]
#[command(name = "c2coq", about = "Checks the kernel's C subset and layer order", version)]
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
    /// Refuse, with position, rule and remedy, everything outside the C subset
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
    /// Refuse objects that are compiled from other text than was checked
    Compiled {
        #[arg(long, default_value = "kernel")]
        kernel: PathBuf,
        /// The build's choice of locks
        #[arg(long, value_parser = ["ticket", "mcs", "big"])]
        lock: String,
        /// 1: with the invariant walks
        #[arg(long, value_parser = ["0", "1"])]
        debug: String,
        /// 1: it records what happens
        #[arg(long, value_parser = ["0", "1"])]
        trace: String,
        /// Where the preprocessed text of the layers lies, as LAYER/FILE.i
        #[arg(long, value_name = "DIR")]
        text: PathBuf,
    },
    /// Refuse calls from a layer to one that is not below it
    Layers {
        #[arg(long, default_value = "kernel/layers.order")]
        order: PathBuf,
        /// Directory with the layers' object files
        #[arg(long)]
        objects: Option<PathBuf>,
        /// Directory of the layers' sources; `layers` beside the order by default
        #[arg(long)]
        layers: Option<PathBuf>,
    },
    /// Print a certified file as one self-contained C source, from its syntax tree
    Print {
        file: PathBuf,
        /// Directory searched for headers, after the including file's own
        #[arg(short = 'I', value_name = "DIR")]
        include: Vec<PathBuf>,
        /// Build constant, as for the C compiler
        #[arg(short = 'D', value_name = "NAME[=VALUE]")]
        define: Vec<String>,
    },
    /// List the functions of every layer, translated or not, as JSON
    Functions {
        #[arg(long, default_value = "kernel")]
        kernel: PathBuf,
    },
    /// Write the Coq terms: proof/layers/LAYER/Code.v of the certified layers, proof/arch/Code.v of the contracts of `arch`, and
    /// proof/lang/Constants.v
    Coq {
        #[arg(long, default_value = "kernel")]
        kernel: PathBuf,
        #[arg(long, default_value = "proof")]
        proof: PathBuf,
        /// Only these layers
        #[arg(long, value_name = "LAYER")]
        layer: Vec<String>,
        /// Write nothing; name the files and functions that differ
        #[arg(long)]
        check: bool,
    },
    /// Change one place of a certified function: what the proofs must refuse, and rewrites they should not mind
    Mutate {
        #[arg(long, default_value = "kernel")]
        kernel: PathBuf,
        /// Only mutants of these layers
        #[arg(long, value_name = "LAYER")]
        layer: Vec<String>,
        /// Only mutants of these functions
        #[arg(long, value_name = "FUNCTION")]
        function: Vec<String>,
        /// List the mutants
        #[arg(long, conflicts_with = "number")]
        list: bool,
        /// Make this mutant: its Coq terms, and on a line of their own what it is (repeatable)
        #[arg(long, value_name = "N", required_unless_present = "list")]
        number: Vec<usize>,
        /// Write the terms (Code.v) and the file of C into this directory; of several mutants, into one below it that is
        /// named by the number
        #[arg(long, value_name = "DIR", requires = "number")]
        out: Option<PathBuf>,
    },
    /// Write the book's generated pages: rules, layers
    Docs {
        #[arg(long, default_value = "kernel")]
        kernel: PathBuf,
        #[arg(long, default_value = "docs/src")]
        out: PathBuf,
        /// Write nothing; name the pages that differ
        #[arg(long)]
        check: bool,
    },
}

type Outcome = Result<bool, Box<dyn std::error::Error>>;

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
fn run(cli: &Cli) -> Outcome {
    match &cli.command {
        Command::Check { files, include, define, order } => {
            let order = order.as_deref().map(c2coq::read_order).transpose()?;
            let options = Options { defines: defines(define), include_dirs: include.clone(), order };
            faults(cli.format, &c2coq::check(files, &options)?)
        }
        Command::Compiled { kernel, lock, debug, trace, text } => {
            let options = Options { defines: c2coq::defines(lock, debug == "1", trace == "1"), ..Options::default() };
            found(cli.format, &c2coq::compiled::compare(kernel, &options, text)?)
        }
        Command::Layers { order, objects, layers } => {
            let names = c2coq::read_order(order)?;
            let beside = order.with_file_name("layers");
            let layers = layers.as_ref().unwrap_or(&beside);
            let mut findings = c2coq::layers::check_directories(&names, order, layers)?;
            if let Some(objects) = objects {
                findings.extend(c2coq::layers::check_objects(&names, order, objects, Some(layers))?);
            }
            found(cli.format, &findings)
        }
        Command::Print { file, include, define } => {
            let options = Options { defines: defines(define), include_dirs: include.clone(), order: None };
            let checked = c2coq::check(std::slice::from_ref(file), &options)?;
            if !checked.faults.is_empty() {
                return faults(cli.format, &checked);
            }
            checked.program.units.iter().for_each(|unit| print!("{}", c2coq::print::c(unit)));
            Ok(true)
        }
        Command::Functions { kernel } => {
            println!("{}", serde_json::to_string(&c2coq::certified::functions(kernel)?)?);
            Ok(true)
        }
        Command::Coq { kernel, proof, layer, check } => coq(cli.format, kernel, proof, layer, *check),
        Command::Mutate { kernel, layer, function, number, .. } if number.is_empty() => {
            let mut mutants = c2coq::certified::mutants(kernel)?;
            mutants.retain(|mutant| layer.is_empty() || layer.contains(&mutant.layer));
            mutants.retain(|mutant| function.is_empty() || function.contains(&mutant.function));
            list_mutants(cli.format, &mutants)
        }
        Command::Mutate { kernel, number, out, .. } => mutate(kernel, number, out.as_deref()),
        Command::Docs { kernel, out, check } => docs(cli.format, kernel, out, *check),
    }
}

fn defines(define: &[String]) -> Vec<(String, String)> {
    let split = |text: &String| match text.split_once('=') {
        Some((name, value)) => (name.to_string(), value.to_string()),
        None => (text.clone(), "1".to_string()),
    };
    define.iter().map(split).collect()
}

/// Prints the faults of checked files.
fn faults(format: Format, checked: &Checked) -> Outcome {
    let show = if format == Format::Json { c2coq::report::for_programs } else { c2coq::report::for_people };
    Ok(shown(format, &show(&checked.sources, &checked.faults)))
}

fn found(format: Format, findings: &[c2coq::finding::Finding]) -> Outcome {
    Ok(shown(format, &c2coq::finding::report(findings)))
}

/// Prints a report; true if it is clean.
fn shown(format: Format, report: &diagnostics::Report) -> bool {
    if format == Format::Json {
        println!("{}", report.to_json());
    } else {
        print!("{}", report.render(diagnostics::Style::stdout()));
    }
    report.is_clean()
}

/// Writes the generated pages, or compares them.
fn docs(format: Format, kernel: &Path, out: &Path, check: bool) -> Outcome {
    let mut stale = Vec::new();
    for page in c2coq::book::pages(kernel)? {
        let path = out.join(&page.path);
        if std::fs::read_to_string(&path).is_ok_and(|text| text == page.text) {
            continue;
        }
        if !check {
            let failed = |error| format!("{} cannot be written: {error}", path.display());
            path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
            std::fs::write(&path, page.text).map_err(failed)?;
            continue;
        }
        stale.push(c2coq::finding::Finding {
            code: c2coq::finding::Code::StalePage,
            file: path,
            line: None,
            message: "this page is not what its sources give".to_string(),
            remedy: "run c2coq docs".to_string(),
        });
    }
    found(format, &stale)
}

/// Writes the Coq terms of certified layers, or compares them.
fn coq(format: Format, kernel: &Path, proof: &Path, layers: &[String], check: bool) -> Outcome {
    use c2coq::certified::{files, stale, CoqError};
    let files = match files(kernel, layers) {
        Ok(files) => files,
        Err(CoqError::Subset(checked)) => return faults(format, &checked),
        Err(CoqError::Refused(findings)) => return found(format, &findings),
        Err(error) => return Err(error.into()),
    };
    let mut findings = match check.then(|| c2coq::certified::dependent(kernel)) {
        None => Vec::new(),
        Some(Ok(findings)) => findings,
        Some(Err(CoqError::Subset(checked))) => return faults(format, &checked),
        Some(Err(error)) => return Err(error.into()),
    };
    for file in files {
        let path = proof.join(&file.path);
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        if check {
            findings.extend(stale(&file, &path, &old));
        } else if old != file.text {
            let failed = |error| format!("{} cannot be written: {error}", path.display());
            path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
            std::fs::write(&path, file.text).map_err(failed)?;
        }
    }
    found(format, &findings)
}

fn list_mutants(format: Format, mutants: &[c2coq::mutate::Mutant]) -> Outcome {
    if format == Format::Json {
        println!("{}", serde_json::to_string(mutants)?);
        return Ok(true);
    }
    for mutant in mutants {
        let c2coq::mutate::Mutant { number, file, line, function, before, after, .. } = mutant;
        let kind = serde_json::to_value(mutant.kind)?;
        let kind = kind.as_str().unwrap_or_default();
        println!("{number} {file}:{line} {function} {kind}: {before} -> {after}");
    }
    Ok(true)
}

/// Writes mutants, or prints their terms.
fn mutate(kernel: &Path, numbers: &[usize], out: Option<&Path>) -> Outcome {
    let mutants = c2coq::certified::mutants(kernel)?;
    for &number in numbers {
        let mutant = mutants.get(number).ok_or_else(|| format!("there are {} mutants, from 0 on", mutants.len()))?;
        let (terms, c) = c2coq::certified::mutated(kernel, mutant)?;
        let line = serde_json::to_string(mutant)?;
        let Some(out) = out else {
            print!("{}", terms.text);
            println!("{line}");
            continue;
        };
        let out = if numbers.len() > 1 { out.join(number.to_string()) } else { out.to_path_buf() };
        let failed = |error| format!("{} cannot be written: {error}", out.display());
        std::fs::create_dir_all(&out).map_err(failed)?;
        let c_file = Path::new(&mutant.file).file_name().unwrap_or_default();
        std::fs::write(out.join("Code.v"), &terms.text).map_err(failed)?;
        std::fs::write(out.join(c_file), c).map_err(failed)?;
        println!("{line}");
    }
    Ok(true)
}
