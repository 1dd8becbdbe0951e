//! Driver protocols: the messages that a driver and its client may exchange, and in which order.
//!
//! [`load`] reads a file of the protocol language (`parse` says its form), resolves and checks it, and flattens it to a
//! deterministic automaton; all faults come back at once. [`decompose`] splits the automaton into small ones that
//! together say the same; [`generate`] writes what drivers, checker and readers need.
//!
//! Does not know: what a driver's code does (`drivercheck`), nor how messages travel (`user/runtime`).

pub mod automaton;
pub mod bind;
pub mod check;
pub mod codes;
pub mod crossing;
pub mod decompose;
pub mod diagnostic;
pub mod flatten;
pub mod generate;
pub mod minimise;
pub mod model;
pub mod parse;
pub mod resolve;
pub mod sizes;
pub mod source;
mod suggest;

use codes::Code;
use diagnostic::{Diagnostic, Report};
use flatten::Flat;
use model::Protocol;
use source::Source;
use std::path::Path;
use std::sync::Arc;

/// A protocol without faults.
#[derive(Debug, Clone)]
pub struct Checked {
    pub protocol: Protocol,
    pub flat: Flat,
}

/// Reads and checks a file.
pub fn load(path: &Path) -> Result<Checked, Report> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            let mut report = Report::new(&Arc::new(Source::new(path, "")));
            let message = format!("{} cannot be read: {error}", path.display());
            let remedy = "check the path; protocols stand in `protocols/NAME.proto`";
            report.push(Diagnostic::new(Code::Unreadable, message, remedy).at(&(0..0), "this file"));
            return Err(report);
        }
    };
    let checked = check_text(path, text)?;
    let mut report = Report::new(&checked.protocol.source);
    bind::check(&checked.protocol, &mut report);
    if report.is_clean() {
        Ok(checked)
    } else {
        Err(report)
    }
}

/// Checks a text as if it stood in `path`. Bindings to other protocols are not followed.
pub fn check_text(path: &Path, text: impl Into<String>) -> Result<Checked, Report> {
    let source = Arc::new(Source::new(path, text));
    let mut report = Report::new(&source);
    let syntax = parse::parse(&source, &mut report);
    let protocol = resolve::resolve(&source, &syntax, &mut report);
    // After a fault, whatever the hierarchy seems to do wrong may be its consequence.
    if report.is_clean() {
        let flat = flatten::flatten(&protocol);
        check::check(&protocol, &flat, &mut report);
        if report.is_clean() {
            return Ok(Checked { protocol, flat });
        }
    }
    report.sort();
    Err(report)
}
