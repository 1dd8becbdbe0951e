//! Which functions the machine may call next, read off its code. Only used to see that a call of the term is executed in place
//! without running the machine up to it: that is right for every call of the term, and where the machine does call, it is only
//! a validation that fails.

use std::collections::{BTreeSet, HashSet};

use wcet_binary::lift::il::{Flow, Kind, Target};

use crate::image::{is_clone, Image};
use crate::machine::WITHOUT_EFFECT;

/// Names of the functions that may be called from an address on before any other function is; none if that is not known.
pub fn next_calls(image: &Image<'_>, address: u64) -> Option<BTreeSet<String>> {
    let (mut seen, mut todo, mut found) = (HashSet::new(), vec![address], BTreeSet::new());
    while let Some(at) = todo.pop() {
        if !seen.insert(at) {
            continue;
        }
        let range = image.function_at(at)?;
        let instruction = image.instruction(at).ok()?;
        if instruction.kind != Kind::Ordinary && !WITHOUT_EFFECT.contains(&instruction.mnemonic.as_str()) {
            continue;
        }
        let mut follow = |to: u64| match image.entry(to) {
            // A jump to the start of the function itself is one of its loops.
            Some(name) if !is_clone(name) && to != range.start => {
                found.insert(name.to_string());
            }
            _ => todo.push(to),
        };
        match instruction.flow {
            Flow::Call { to: Target::Direct(to), .. } => {
                match image.entry(to) {
                    Some(name) if !is_clone(name) => {
                        found.insert(name.to_string());
                        continue;
                    }
                    Some(_) => todo.extend([to, instruction.next()]),
                    None => return None,
                };
            }
            Flow::Jump { to: Target::Direct(to), when } => {
                follow(to);
                if when.is_some() {
                    todo.push(instruction.next());
                }
            }
            // Where a part that was called in place goes on is not known here.
            Flow::Return { .. } if is_clone(&range.name) => return None,
            Flow::Return { .. } | Flow::Trap => {}
            Flow::Jump { .. } | Flow::Call { .. } | Flow::Leave => return None,
            Flow::Next | Flow::Repeat { .. } => todo.push(instruction.next()),
        }
    }
    Some(found)
}
