//! Driver protocols: the messages that a driver and its client may exchange, and in which order.
//!
//! [`load`] reads a file of the protocol language (`parse` says its form), resolves and checks it, and flattens it to a
//! deterministic automaton; all faults come back at once. [`decompose`] splits the automaton into small ones that
//! together say the same; [`generate`] writes what drivers, checker and readers need.

pub mod automaton;
pub mod bind;
pub mod check;
pub mod codes;
pub mod crossing;
pub mod decompose;
pub mod findings;
pub mod flatten;
pub mod generate;
pub mod minimise;
pub mod mirror;
pub mod model;
pub mod parse;
pub mod resolve;
pub mod rules;
pub mod sizes;

use codes::Code;
use diagnostics::{input_file, Diagnostic, Report, Source, Table};
use findings::Findings;
use flatten::Flat;
use model::Protocol;
use std::path::Path;
use std::sync::Arc;

/// Codes of faults in protocols, and of drivers that break them.
pub const CODES: &[Table] = &[
    Table { subject: "Protocols", codes: Code::TABLE, details: None },
    Table { subject: "Drivers", codes: rules::CODES, details: None },
];

/// A protocol without faults.
#[derive(Debug, Clone)]
pub struct Checked {
    pub protocol: Protocol,
    pub flat: Flat,
}

/// Reads and checks a file.
pub fn load(path: &Path) -> Result<Checked, Report> {
    let text = input_file::text(path).map_err(|error| {
        let source = Arc::new(Source::new(path, ""));
        let message = format!("{} cannot be read: {error}", path.display());
        let remedy = "name a file such as `protocols/pci.proto`";
        Diagnostic::new(Code::Unreadable, message, remedy).at(&source, &(0..0), "this file")
    })?;
    let checked = check_text(path, text)?;
    let mut report = Findings::new(&checked.protocol.source);
    bind::check(&checked.protocol, &mut report);
    if report.is_clean() {
        Ok(checked)
    } else {
        Err(report.into_report())
    }
}

/// Checks a text as if it stood in `path`. Bindings to other protocols are not followed.
pub fn check_text(path: &Path, text: impl Into<String>) -> Result<Checked, Report> {
    let source = Arc::new(Source::new(path, text));
    let mut report = Findings::new(&source);
    let syntax = parse::parse(&source, &mut report);
    let protocol = resolve::resolve(&source, &syntax, &mut report);
    // Further faults of the hierarchy may be consequences of the first.
    if report.is_clean() {
        let flat = flatten::flatten(&protocol);
        check::check(&protocol, &flat, &mut report);
        if report.is_clean() {
            return Ok(Checked { protocol, flat });
        }
    }
    Err(report.into_report())
}
