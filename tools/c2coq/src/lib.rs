//! The C subset in which Ashlar's certified kernel is written.
//!
//! [`check`] parses files and refuses everything outside the subset, with all faults of a run at once; it returns what it
//! accepts as a typed, resolved syntax tree ([`ast::Program`]). [`layers`] compares object files with the layer order. The
//! meaning of the C is defined in the proofs, `proof/lang/Semantics.v`.

pub mod ast;
pub mod book;
pub mod certified;
mod check;
pub mod compiled;
pub mod coq;
pub mod fault;
pub mod finding;
pub mod layers;
mod lex;
pub mod mutate;
mod number;
pub mod order;
mod parse;
mod preprocess;
pub mod print;
pub mod report;
pub mod rule;
pub mod source;
mod syntax;
mod words;

/// Codes of everything that c2coq finds.
pub const CODES: &[diagnostics::Table] = &[
    diagnostics::Table { subject: "C subset", codes: rule::Rule::CODES, details: Some("subset.md") },
    diagnostics::Table { subject: "Layers and generated files", codes: finding::Code::TABLE, details: None },
];

use std::io;
use std::path::{Path, PathBuf};

use fault::{Fault, Faults};
use order::{LayerOrder, OrderError};
pub use preprocess::Options;
use source::Sources;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path} cannot be read: {error}", path = path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("{path}: {}", list(errors), path = path.display())]
    Order { path: PathBuf, errors: Vec<OrderError> },
    #[error("the checker could not run: {0}")]
    Thread(String),
}

fn list(errors: &[OrderError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What a run found.
#[derive(Debug)]
pub struct Checked {
    pub program: ast::Program,
    pub sources: Sources,
    pub faults: Vec<Fault>,
}

/// The switches of a build, as its Makefile gives them to the compiler.
pub fn defines(lock: &str, debug: bool, trace: bool) -> Vec<(String, String)> {
    let lock = format!("LOCK_{}", lock.to_uppercase());
    let debug = debug.then(|| "DEBUG".to_string());
    let trace = trace.then(|| "TRACE".to_string());
    std::iter::once(lock).chain(debug).chain(trace).map(|name| (name, "1".to_string())).collect()
}

/// Checks files together. Fails only if one of them cannot be read.
pub fn check(paths: &[PathBuf], options: &Options) -> Result<Checked, Error> {
    check_with(Sources::default(), paths, options)
}

/// Like [`check`], with files that stand in memory.
pub fn check_with(sources: Sources, paths: &[PathBuf], options: &Options) -> Result<Checked, Error> {
    // The parser bounds its depth, but a bound in bytes of stack is what counts: give it plenty.
    const STACK: usize = 256 << 20;
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        let thread = builder
            .spawn_scoped(scope, || check_here(sources, paths, options))
            .map_err(|error| Error::Thread(error.to_string()))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn check_here(mut sources: Sources, paths: &[PathBuf], options: &Options) -> Result<Checked, Error> {
    let mut faults = Faults::default();
    let mut units = Vec::new();
    let mut options = options.clone();
    for path in paths {
        let read = |error| Error::Read { path: path.clone(), error };
        let file = sources.load(path).map_err(read)?;
        let location = preprocess::locate_file(path);
        if let (None, Some(location)) = (&options.order, &location) {
            let file = location.root.join("layers.order");
            if sources.exists(&file) {
                options.order = Some(read_order(&file)?);
            }
        }
        let source = preprocess::preprocess(&mut sources, file, &options, &mut faults);
        let items = parse::parse(&sources, &source.tokens, &mut faults);
        let layer = location.map(|location| location.layer);
        units.push(check::check_unit(&sources, file, layer, &source, &items, &mut faults));
    }
    check::check_recursion(&sources, &units, &mut faults);
    check::check_shared_names(&sources, &units, &mut faults);
    let program = ast::Program { units: units.into_iter().map(|unit| unit.unit).collect() };
    Ok(Checked { program, sources, faults: faults.into_sorted() })
}

/// Reads the layer order from a file.
pub fn read_order(path: &Path) -> Result<LayerOrder, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::Read { path: path.to_path_buf(), error })?;
    LayerOrder::parse(&text).map_err(|errors| Error::Order { path: path.to_path_buf(), errors })
}
