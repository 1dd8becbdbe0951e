//! Names that two files give to different things. C keeps static names and macros of two files apart; the proofs do not.

use std::collections::HashMap;

use super::CheckedUnit;
use crate::fault::{Fault, Faults};
use crate::rule::Rule;
use crate::source::{Sources, Span};

/// Compares the objects and the functions with a body of all files of a run.
pub fn check_shared_names(sources: &Sources, units: &[CheckedUnit], faults: &mut Faults) {
    let mut known: HashMap<&str, Span> = HashMap::new();
    for CheckedUnit { unit, .. } in units {
        let objects = unit.objects.iter().map(|object| (object.name.as_str(), object.span));
        let functions = unit.functions.iter().filter(|function| function.body.is_some());
        for (name, span) in objects.chain(functions.map(|function| (function.name.as_str(), function.span))) {
            let first = *known.entry(name).or_insert(span);
            if first == span {
                continue;
            }
            let (line, _) = sources.position(first.file, first.start);
            let place = format!("{}:{line}", sources.get(first.file).path.display());
            let message = format!("`{name}` is also the name of another object or function, in {place}");
            faults.push(sources, Fault { rule: Rule::SharedName, span, message, remedy: None });
        }
    }
    constants(sources, units, faults);
}

/// The constants of a layer: its files may repeat one, with the same value.
fn constants(sources: &Sources, units: &[CheckedUnit], faults: &mut Faults) {
    let mut known: HashMap<(&Option<String>, &str), (u64, Span)> = HashMap::new();
    for CheckedUnit { unit, .. } in units {
        for constant in &unit.constants {
            let (value, first) = *known.entry((&unit.layer, &constant.name)).or_insert((constant.value, constant.span));
            if value == constant.value {
                continue;
            }
            let (line, _) = sources.position(first.file, first.start);
            let place = format!("{}:{line}", sources.get(first.file).path.display());
            let message = format!("`{}` has the value {value} in {place}", constant.name);
            faults.push(sources, Fault { rule: Rule::SharedName, span: constant.span, message, remedy: None });
        }
    }
}
