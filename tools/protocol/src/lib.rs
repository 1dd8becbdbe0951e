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

/// Reads and checks a file. Protocols that it needs stand beside it.
pub fn load(path: &Path) -> Result<Checked, Report> {
    load_with(path, None)
}

/// Reads and checks every file `NAME.proto` in the folder `own` of a user's project, or gives the faults of all. Those in `tree` are Ashlar's:
/// they can be needed, and none may have the name of one of them.
pub fn load_own(own: &Path, tree: &Path) -> Result<Vec<Checked>, Report> {
    let (mut all, mut report) = (Vec::new(), Report::default());
    let files = std::fs::read_dir(own).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "proto")).collect();
    files.sort();
    for path in files {
        match load_with(&path, Some(tree)) {
            Ok(checked) => match name_fault(&path, &checked.protocol, tree) {
                None => all.push(checked),
                Some(fault) => report.push(fault),
            },
            Err(faults) => faults.diagnostics.into_iter().for_each(|fault| report.push(fault)),
        }
    }
    if report.is_clean() {
        Ok(all)
    } else {
        Err(report)
    }
}

/// Protocols that the library of programs serves itself, in part or whole (`domain_route`), and knows by their numbers.
const RESERVED: [(&str, u8); 2] = [("pci", 1), ("timer", 5)];

/// What is wrong with the name or the number of a project's protocol.
fn name_fault(path: &Path, protocol: &Protocol, tree: &Path) -> Option<Diagnostic> {
    let name = &protocol.name;
    let fault = |message: String, remedy: String| {
        let source = &protocol.source;
        let line = source.text.lines().position(|line| line.starts_with("protocol")).unwrap_or(0) + 1;
        Some(Diagnostic::new(Code::Name, message, remedy).at(source, &source.line_span(line), "this line"))
    };
    if path.file_stem().is_none_or(|stem| stem != name.as_str()) {
        let message = format!("the file of the protocol `{name}` is called {}", path.display());
        return fault(message, format!("call it {name}.proto"));
    }
    if tree.join(format!("{name}.proto")).is_file() {
        return fault(format!("`{name}` is a protocol of Ashlar"), "choose another name".into());
    }
    if let Some(other) = RESERVED.iter().find(|(_, number)| *number == protocol.number) {
        let (other, number) = other;
        let message = format!("the protocol `{name}` has the number {number}, by which programs know `{other}`");
        return fault(message, "give it one that no protocol of Ashlar has: 15 for instance".into());
    }
    if protocol.number == 0 {
        let remedy = format!("give it one that no other protocol of its drivers has: `protocol {name} 15`");
        return fault(format!("the protocol `{name}` has no number"), remedy);
    }
    None
}

fn load_with(path: &Path, further: Option<&Path>) -> Result<Checked, Report> {
    let text = input_file::text(path).map_err(|error| {
        let source = Arc::new(Source::new(path, ""));
        let message = format!("{} cannot be read: {error}", path.display());
        let remedy = "name a file such as `protocols/pci.proto`";
        Diagnostic::new(Code::Unreadable, message, remedy).at(&source, &(0..0), "this file")
    })?;
    let checked = check_text(path, text)?;
    let mut report = Findings::new(&checked.protocol.source);
    bind::check(&checked.protocol, further, &mut report);
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
