//! The machine file of a request, with parameters changed for a what-if.

use std::path::{Path, PathBuf};

use diagnostics::{input_file, Diagnostic, Report};
use sha2::{Digest, Sha256};
use wcet_report::Error;

use crate::analysis::code::Code;
use crate::analysis::faults::{fault, Found};

/// A machine, and how it came about.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub machine: wcet_hardware::machine::Machine,
    /// Of the file.
    pub sha256: String,
    /// Parameters that a person changed: place, and what the file says.
    pub changed: Vec<(String, String)>,
}

/// The machine called `name`: a path, or the stem of a file in `folder`; with `changes` of the form `PLACE=VALUE`.
pub fn load(folder: Option<&Path>, name: &str, changes: &[String]) -> Found<Loaded> {
    let path = find(folder, name)?;
    let text = input_file::text(&path).map_err(|cause| {
        let message = format!("the machine file {} cannot be read: {cause}", path.display());
        vec![fault(Code::Unreadable, message, cause.remedy())]
    })?;
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let original = wcet_hardware::machine::parse(&stem, &path, text.clone()).map_err(|report| errors(&report))?;
    let sha256 = hash(text.as_bytes());
    if changes.is_empty() {
        return Ok(Loaded { machine: original, sha256, changed: Vec::new() });
    }
    let (text, changed) = change(&text, changes, &original)?;
    let shown = format!("{} with --set", path.display());
    let machine = wcet_hardware::machine::parse(&stem, Path::new(&shown), text).map_err(|report| errors(&report))?;
    Ok(Loaded { machine, sha256, changed })
}

/// SHA-256 in hexadecimal digits.
pub fn hash(data: &[u8]) -> String {
    Sha256::digest(data).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn find(folder: Option<&Path>, name: &str) -> Found<PathBuf> {
    if name.contains('/') || name.ends_with(".toml") {
        return Ok(PathBuf::from(name));
    }
    let named = folder.map(|folder| folder.join(format!("{name}.toml"))).filter(|path| path.is_file());
    named.ok_or_else(|| {
        let known = folder.map(known).unwrap_or_default();
        let remedy = match known.is_empty() {
            true => "give the path of a machine file".to_string(),
            false => format!("give the path of a machine file, or one of {}", known.join(", ")),
        };
        vec![fault(Code::Unreadable, format!("there is no machine called `{name}`"), remedy)]
    })
}

/// Stems of the machine files in a folder.
fn known(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let stem = |path: PathBuf| Some(path.file_stem()?.to_string_lossy().into_owned());
    let files = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut names: Vec<String> = files.filter_map(stem).collect();
    names.sort();
    names
}

fn errors(report: &Report) -> Vec<Error> {
    let one = |found: &Diagnostic| Error {
        code: found.code.name().into(),
        source: found
            .labels
            .first()
            .map(|label| format!("{}:{}", label.source.path.display(), label.source.place(&label.span).line)),
        message: found.message.clone(),
        remedy: found.remedy.clone(),
        ..Error::default()
    };
    report.diagnostics.iter().map(one).collect()
}

/// A changed text, and the places with what stood there.
type Changed = (String, Vec<(String, String)>);

/// The text with parameters changed, and the places with what stood there.
fn change(text: &str, changes: &[String], original: &wcet_hardware::machine::Machine) -> Found<Changed> {
    let mut document: toml::Table = toml::from_str(text).map_err(|cause| {
        vec![fault(Code::Tool, format!("the machine file cannot be changed: {cause}"), "change a copy of the file")]
    })?;
    let (mut errors, mut changed) = (Vec::new(), Vec::new());
    for change in changes {
        let Some((place, value)) = change.split_once('=') else {
            let message = format!("`--set {change}` is not of the form PARAMETER=VALUE");
            errors.push(fault(Code::Statement, message, "write it as in --set memory.latency=80"));
            continue;
        };
        let known = original.numbers.iter().find(|number| number.place == place);
        match (known, slot(&mut document, place)) {
            (Some(number), Some(slot)) => {
                *slot = scalar(value);
                changed.push((place.to_string(), number.value.clone()));
            }
            _ => {
                let places: Vec<&str> = original.numbers.iter().map(|number| number.place.as_str()).collect();
                let message = format!("the machine {} has no parameter `{place}`", original.name);
                errors.push(fault(Code::Statement, message, format!("known: {}", places.join(", "))));
            }
        }
    }
    if errors.is_empty() {
        Ok((document.to_string(), changed))
    } else {
        Err(errors)
    }
}

/// Where the value of a sourced number stands.
fn slot<'d>(document: &'d mut toml::Table, place: &str) -> Option<&'d mut toml::Value> {
    let mut parts = place.split('.');
    let mut value = document.get_mut(parts.next()?)?;
    for part in parts {
        value = value.as_table_mut()?.get_mut(part)?;
    }
    value.as_table_mut()?.get_mut("value")
}

fn scalar(text: &str) -> toml::Value {
    match (text.parse::<i64>(), text.parse::<bool>()) {
        (Ok(number), _) => toml::Value::Integer(number),
        (_, Ok(flag)) => toml::Value::Boolean(flag),
        _ => toml::Value::String(text.to_string()),
    }
}
