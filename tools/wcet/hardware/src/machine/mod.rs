//! Machine files of the timing analysis, `machines/timing/NAME.toml`.
//!
//! Takes a file; returns a [`Machine`], or every fault of the file with its place and remedy. Each number names its
//! source, and [`Machine::numbers`] keeps them for the report that stands beside a bound.
//!
//! What the numbers mean is fixed by the contract, which the analysis and the simulator both follow and which is all
//! they share:
#![doc = include_str!("contract.md")]

mod build;
mod check;
mod class;
mod code;
mod json;
mod model;
mod read;
mod reference;
mod schema;
mod transfer;

use std::path::Path;

use diagnostics::{input_file, Diagnostic, Faults, Report};

pub use class::Class;
pub use code::Code;
pub use json::json_schema;
pub use model::{Cache, ClassCost, Holds, Issue, Machine, Memory, Number, Pipeline, Policy, Region};
pub use reference::reference;
pub use transfer::{Branch, Follow, Transfer};

/// The machine in the file at `path`, named by the file's stem.
pub fn load(path: &Path) -> Result<Machine, Report> {
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let text = input_file::text(path).map_err(|error| {
        let message = format!("{} cannot be read: {error}", path.display());
        Diagnostic::new(Code::Unreadable, message, error.remedy())
    })?;
    parse(&name, path, text)
}

/// The machine in `text`; `path` is for diagnostics.
pub fn parse(name: &str, path: &Path, text: String) -> Result<Machine, Report> {
    let mut faults = Faults::new(path, text);
    let document = read::read(&mut faults);
    let machine = build::build(name, &document);
    check::check(&document, &machine, &mut faults);
    faults.or(machine)
}
