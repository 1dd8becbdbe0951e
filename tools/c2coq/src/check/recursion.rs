//! No function calls itself, directly or through others, in any of the files given together.

use std::collections::HashMap;

use super::CheckedUnit;
use crate::fault::{Fault, Faults};
use crate::rule::Rule;
use crate::source::{Sources, Span};

/// A function: a static one belongs to its file, the others are one for all files.
type Node = (Option<usize>, String);

struct Graph {
    names: Vec<String>,
    calls: Vec<Vec<(usize, Span)>>,
}

impl Graph {
    fn new(units: &[CheckedUnit]) -> Graph {
        let mut ids: HashMap<Node, usize> = HashMap::new();
        let mut graph = Graph { names: Vec::new(), calls: Vec::new() };
        for (number, unit) in units.iter().enumerate() {
            let is_static: HashMap<&str, bool> =
                unit.unit.functions.iter().map(|function| (function.name.as_str(), function.is_static)).collect();
            for edge in &unit.calls {
                let mut node = |name: &String| {
                    let owner = is_static.get(name.as_str()).copied().unwrap_or(false).then_some(number);
                    *ids.entry((owner, name.clone())).or_insert_with(|| {
                        graph.names.push(name.clone());
                        graph.calls.push(Vec::new());
                        graph.names.len() - 1
                    })
                };
                let (caller, callee) = (node(&edge.caller), node(&edge.callee));
                graph.calls[caller].push((callee, edge.span));
            }
        }
        graph
    }
}

/// Reports each call that closes a cycle.
pub fn check_recursion(sources: &Sources, units: &[CheckedUnit], faults: &mut Faults) {
    let graph = Graph::new(units);
    let mut done = vec![false; graph.names.len()];
    for start in 0..graph.names.len() {
        // Depth-first with an explicit path: (function, next call to follow).
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut on_path = vec![false; graph.names.len()];
        if !done[start] {
            path.push((start, 0));
            on_path[start] = true;
        }
        while let Some((function, next)) = path.last_mut() {
            let function = *function;
            let Some((callee, span)) = graph.calls[function].get(*next).copied() else {
                done[function] = true;
                on_path[function] = false;
                path.pop();
                continue;
            };
            *next += 1;
            if on_path[callee] {
                let from = path.iter().position(|(node, _)| *node == callee).unwrap_or(0);
                let mut names: Vec<&str> = path[from..].iter().map(|(node, _)| graph.names[*node].as_str()).collect();
                names.push(&graph.names[callee]);
                let message = format!("recursion: {}", names.join(" -> "));
                faults.push(sources, Fault { rule: Rule::Recursion, span, message, remedy: None });
            } else if !done[callee] {
                path.push((callee, 0));
                on_path[callee] = true;
            }
        }
    }
}
