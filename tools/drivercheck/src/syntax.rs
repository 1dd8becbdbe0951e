//! The syntax tree of a driver's text, and of the text with which many drivers' begin.

use crate::driver::DriverError;
use crate::hash::HashMap;
use crate::lower::{declared_name, Names};
use crate::source_map::{words, Lines};
use crate::{subset, Fault};
use lang_c::ast::{DeclarationSpecifier, ExternalDeclaration, StorageClassSpecifier, TranslationUnit};
use lang_c::driver::{parse_preprocessed, Config, Flavor};
use lang_c::span::Node;

/// A text with which many drivers' begin, and its declarations.
pub struct Beginning {
    length: usize,
    items: Vec<Node<ExternalDeclaration>>,
    /// Text of the same length that declares the same names of types: what the parser must know to read on.
    typedefs: String,
}

impl Beginning {
    /// Nothing if its names of types are longer than it.
    pub fn of(text: &str, unit: TranslationUnit) -> Option<Beginning> {
        let names: Vec<&str> = unit.0.iter().flat_map(|item| typedefs(&item.node)).collect();
        let mut short = if names.is_empty() { String::new() } else { format!("typedef int {};", names.join(",")) };
        let rest = text.len().checked_sub(short.len() + 1)?;
        short.push_str(&" ".repeat(rest));
        short.push('\n');
        Some(Beginning { length: text.len(), typedefs: short, items: unit.0 })
    }
}

/// Parses a text of which the beginning is known.
pub fn parse_behind(beginning: &Beginning, text: &str, lines: &Lines) -> Result<TranslationUnit, DriverError> {
    let rest = parse(&format!("{}{}", beginning.typedefs, &text[beginning.length..]), lines)?;
    let own = rest.0.into_iter().filter(|item| item.span.start >= beginning.length);
    Ok(TranslationUnit(beginning.items.iter().cloned().chain(own).collect()))
}

/// Names of types that a declaration defines.
fn typedefs(item: &ExternalDeclaration) -> Vec<&str> {
    let ExternalDeclaration::Declaration(declaration) = item else { return Vec::new() };
    let is_typedef = |one: &Node<DeclarationSpecifier>| match &one.node {
        DeclarationSpecifier::StorageClass(class) => class.node == StorageClassSpecifier::Typedef,
        _ => false,
    };
    if !declaration.node.specifiers.iter().any(is_typedef) {
        return Vec::new();
    }
    declaration.node.declarators.iter().filter_map(|one| declared_name(&one.node.declarator.node)).collect()
}

pub fn parse(text: &str, lines: &Lines) -> Result<TranslationUnit, DriverError> {
    let config = Config { cpp_command: String::new(), cpp_options: Vec::new(), flavor: Flavor::GnuC11 };
    let parsed = parse_preprocessed(&config, subset::lexical::without_alignment(text)).map_err(|error| {
        let mut expected: Vec<&str> = error.expected.iter().copied().collect();
        expected.sort_unstable();
        let message = format!("syntax: expected one of {}", expected.join(", "));
        DriverError::Faults(vec![Fault { place: lines.place(error.offset), message }])
    })?;
    Ok(parsed.unit)
}

/// The functions of the framework that are known by name, with their text.
pub fn primitives(text: &str) -> Result<HashMap<String, String>, DriverError> {
    let unit = parse(text, &Lines::new(text, "ashlar/driver.h", "", &[]))?;
    Ok(primitives_of(&unit, text))
}

pub fn primitives_of(unit: &TranslationUnit, text: &str) -> HashMap<String, String> {
    let mut all = HashMap::default();
    for item in &unit.0 {
        if let ExternalDeclaration::FunctionDefinition(function) = &item.node {
            let name = declared_name(&function.node.declarator.node).unwrap_or_default();
            if Names::default().is_primitive(name) {
                all.insert(name.to_string(), words(&text[item.span.start..item.span.end]));
            }
        }
    }
    all
}
