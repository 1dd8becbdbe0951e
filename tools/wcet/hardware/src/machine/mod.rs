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
mod fault;
mod json;
mod model;
mod read;
mod reference;
mod schema;
mod units;

use std::path::Path;

pub use class::Class;
pub use code::Code;
pub use fault::{Fault, Faults, Span};
pub use json::json_schema;
pub use model::{Branch, Cache, ClassCost, Holds, Issue, Machine, Memory, Number, Pipeline, Policy, Region};
pub use reference::reference;

/// The machine in the file at `path`, named by the file's stem.
pub fn load(path: &Path) -> Result<Machine, Faults> {
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let shown = path.display().to_string();
    match std::fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => parse(&name, &shown, text),
        Ok(Err(_)) => Err(Faults::unreadable(&shown, "it is not UTF-8 text")),
        Err(error) => Err(Faults::unreadable(&shown, &error.to_string())),
    }
}

/// The machine in `text`; `path` is for diagnostics.
pub fn parse(name: &str, path: &str, text: String) -> Result<Machine, Faults> {
    let mut faults = Faults::new(path, text);
    let document = read::read(&mut faults);
    let machine = build::build(name, &document);
    check::check(&document, &machine, &mut faults);
    faults.sort();
    if faults.is_clean() {
        Ok(machine)
    } else {
        Err(faults)
    }
}
